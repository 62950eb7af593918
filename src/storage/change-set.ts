import { contentDigest } from '../lib/chain.ts'
import type { Clock } from '../lib/clock.ts'
import { differencesBetween } from '../lib/differences.ts'
import { datastoreConflict, type Failure, failure, lostLease } from '../lib/failure.ts'
import { newId, randomHex } from '../lib/ids.ts'
import type { Json } from '../lib/json.ts'
import { currentTraceparent } from '../lib/trace.ts'
import { type AuthorIds, actorOf } from './actor.ts'
import { auditLog, emitEvent } from './audit-log.ts'
import { type Append, cacheKey, type Statement, type Value, type Write } from './db.ts'
import { type Base, entryDocs } from './entry-docs.ts'
import { errandStatement, type JobDraft, workKey } from './errand.ts'
import { type KeyClaim, markCommitted } from './idempotency.ts'
import { integer, table, text } from './table.ts'

/** The prices that a request or a task agrees to. */
export interface ChargeConsent {
  /** Absent: of the last quote that the same caller got for the same purchase. */
  quoteId?: string
  /** The session that was shown the quote; without a session, the user or API key. */
  caller?: string
  /** The price lists of the asking account that a task agrees to. */
  terms?: unknown
  toJSON(): undefined
}

/** Who stands behind a write, as the audit entry tells it. */
export interface Author extends AuthorIds {
  requestId: string
  clientAddress?: string
  authMethod?: string
  request?: { method: string; path: string }
  /** The `traceparent` of the request, where its trace is recorded: what its events cause is a part of it. */
  trace?: string
  /** Whoever asks for the change agrees to what it costs. */
  acceptsCharges?: boolean
  /** Which quote that is about. Absent where no request asks. */
  consent?: ChargeConsent
  /** The key under which a request is carried out once. */
  idempotency?: KeyClaim
}

const acts = new WeakMap<Author, string>()

/** Names what an author does here and now: clients choose the ids of their requests, and may use one for many. */
export const actOf = (author: Author): string => {
  const act = acts.get(author) ?? randomHex(16)
  acts.set(author, act)
  return act
}

/** `user.edited`, `task.finished`: areas declare them. */
export type EventType = `${string}.${string}`

/** One thing that a write did, in the words that auditors and subscribers read. */
export interface Change {
  accountId: string
  kind: string
  id: string
  action: 'created' | 'edited' | 'deleted'
  /** What subscribers know it by, where that is not `<kind>.<action>`: `number.state_changed`. */
  event?: EventType
  /** Who stood above the account, top first, where it is gone and cannot be asked. */
  tree?: readonly string[]
  /** What people call the record, where that is not its id. */
  name?: string | undefined
  /**
   * JSON texts of the public record. Of both the audit entry keeps what differs, of one the text; secrets are masked
   * before they are kept.
   */
  before?: string
  after?: string
}

/** Something that subscribers hear of, and that is no change of a record. */
export interface EventDraft {
  accountId: string
  /** `balance.low` */
  type: EventType
  /** What it is about. */
  kind: string
  id: string
  /** JSON text of what there is to tell. */
  after?: string
  /** Of many events of one kind that are told as one, and read one by one: the ids of their records. */
  ids?: readonly string[]
}

/** A name that only one record may hold within its scope (an account id, or `system`). */
export interface Claim {
  scope: string
  name: string
  value: string
}

export interface ClaimHolder {
  accountId: string
  kind: string
  id: string
}

export const systemScope = 'system'

const insertClaim = table('claims', {
  scope: text('account_id'),
  name: text(),
  value: text(),
  accountId: text('holder_account_id'),
  kind: text(),
  id: text('record_id'),
}).joining('ON CONFLICT DO NOTHING')
const deleteClaim = `DELETE FROM claims
  WHERE account_id = $1 AND name = $2 AND value = $3 AND holder_account_id = $4 AND kind = $5 AND record_id = $6`
const deleteForeignClaim = `DELETE FROM claims WHERE account_id = $1 AND name = $2 AND value = $3
  AND (holder_account_id <> $4 OR kind <> $5 OR record_id <> $6)`
const quantityMoves = table('quantity_moves', {
  accountId: text(),
  id: text(),
  at: integer(),
  category: text(),
  item: text(),
  own: integer(),
  below: integer(),
})

/** A count of what an account has, that a change moves: see areas/billing/services/quantities. */
interface Count {
  accountId: string
  category: string
  item: string
  delta: number
}

/** What is stored of something. */
interface Sized {
  readonly kind: string
  readonly docText: string
  readonly hiddenText: string
}

/** An account that leaves its place in the tree with all that it, and those below it, have. */
export interface Transfer {
  accountId: string
  /** Those who stood above it, top first. */
  from: readonly string[]
  /** Those who will; undefined when the account is removed. */
  to: readonly string[] | undefined
}

/** An account that begins. */
interface Newcomer {
  name: string
  /** Those who stand above it, top first. */
  tree: readonly string[]
}

/** Where an account stands at the moment of a write. */
export interface AccountPath {
  /** Itself; for what belongs to nobody, the master account. */
  accountId: string
  /** Those above it, top first. */
  tree: readonly string[]
}

/** Wakes whoever puts what was committed in order, or reads it where it has its order. */
export const feedKey = cacheKey(systemScope, 'feed', 'committed')

/** What an area tells those who want to hear of it: something that is about to happen in a change set. */
export interface Signal<Told> {
  readonly name: string
  /** Carries the type alone: it is never there. */
  readonly told?: Told
}

/**
 * Everything that one operation wants to happen at once: statements, and the changes they amount to.
 * Each change becomes an entry of the audit and an event of the feed in the same transaction.
 */
export class ChangeSet {
  readonly author: Author
  readonly changes: Change[] = []
  readonly happenings: EventDraft[] = []
  readonly statements: Statement[] = []
  readonly stale: string[] = []
  readonly counts: Count[] = []
  readonly errands: JobDraft[] = []
  /** Accounts that begin here, by id: nobody can look up yet who stands above them. */
  readonly newcomers = new Map<string, Newcomer>()
  readonly transfers: Transfer[] = []
  /** What is stored, by which its size is judged. */
  readonly kept: Sized[] = []
  /** The records that their accounts have not had before. */
  readonly born: Pick<ClaimHolder, 'accountId' | 'kind'>[] = []
  /** What accounts have of bytes of files more than before; less is negative. */
  readonly filed: { accountId: string; bytes: number }[] = []
  /** Counts are put right: nobody asked for more than there was, and nobody pays for it at once. */
  isCorrection = false
  /** What stands in the audit in place of the changes: of records that come by the thousand, one entry for many. */
  summary: Change | undefined
  /** What is still to be heard before the change set is committed. */
  readonly told: { signal: Signal<unknown>; told: unknown }[] = []

  constructor(author: Author) {
    this.author = author
  }

  /** Adds a statement. `expect` decides races: see Statement. */
  run(sql: string, params: readonly Value[], expect?: Statement['expect']) {
    this.statements.push(expect ? { sql, params, expect } : { sql, params })
    return this
  }

  add(...statements: readonly Statement[]) {
    this.statements.push(...statements)
    return this
  }

  /** Names a record that is stored by the statements: its size is judged, and if it is new its number. */
  keep(record: Sized & Pick<ClaimHolder, 'accountId' | 'kind'>, { isNew }: { isNew: boolean }) {
    this.kept.push(record)
    if (isNew) this.born.push(record)
    return this
  }

  /** Names the JSON text of a row that is no record of its own: its size is judged. */
  keepText(kind: string, docText: string) {
    this.kept.push({ kind, docText, hiddenText: '' })
    return this
  }

  /** Declares what is being done. A change set without a change cannot be committed. */
  record(change: Change) {
    this.changes.push(change)
    this.outdate(change.accountId, change.kind, change.id)
    return this
  }

  /** Tells subscribers of something that is no change of a record. */
  happened(happening: EventDraft) {
    this.happenings.push(happening)
    return this
  }

  /** Names a record whose cached copies the statements make stale although it is not itself the subject. */
  outdate(accountId: string, kind: string, id: string) {
    this.stale.push(cacheKey(accountId, kind, id))
    return this
  }

  /** Moves how many items of a category the account has, of which its services are priced. */
  count(accountId: string, category: string, item: string, delta: number) {
    if (delta !== 0) this.counts.push({ accountId, category, item, delta })
    return this
  }

  /** Has something done after the commit, and only if there is one. */
  errand<Payload>(errand: JobDraft<Payload>) {
    // Change sets of several requests may be written together.
    this.errands.push({ trace: currentTraceparent(), ...errand })
    if (errand.dueAt === undefined) this.stale.push(workKey(errand.kind))
    return this
  }

  /** Tells other areas what happens here. They are heard before the change set is judged and written. */
  tell<Told>(signal: Signal<Told>, told: Told) {
    this.told.push({ signal, told })
    return this
  }

  /** Lets a gate try again: what it answers with takes back everything that was added since. */
  checkpoint(): () => void {
    const lists: unknown[][] = [
      this.changes,
      this.happenings,
      this.statements,
      this.stale,
      this.counts,
      this.errands,
      this.told,
      this.kept,
      this.born,
      this.filed,
    ]
    const copies = lists.map((list) => [...list])
    return () => {
      for (const [index, list] of lists.entries()) {
        list.length = 0
        for (const one of copies[index] ?? []) list.push(one)
      }
    }
  }

  claim(claim: Claim, holder: ClaimHolder, orElse: () => Failure = conflict) {
    const { scope, name, value } = claim
    const { accountId, kind, id } = holder
    return this.add(insertClaim({ scope, name, value, accountId, kind, id }, { rows: 1, orElse }))
  }

  /** Takes a claim from whoever holds it but `holder`, who is to claim it next. */
  free(claim: Claim, holder: ClaimHolder) {
    return this.run(deleteForeignClaim, [
      claim.scope,
      claim.name,
      claim.value,
      holder.accountId,
      holder.kind,
      holder.id,
    ])
  }

  release(claim: Claim, holder: ClaimHolder) {
    return this.run(deleteClaim, [
      claim.scope,
      claim.name,
      claim.value,
      holder.accountId,
      holder.kind,
      holder.id,
    ])
  }
}

/** The failure of a lost race: `commitRetrying` reads again and repeats the operation. */
export const conflict = () => failure(datastoreConflict, {})

/** What people call a record. */
export const nameOf = ({ name, username }: { name?: unknown; username?: unknown }) => {
  const called = name ?? username
  return typeof called === 'string' ? called.slice(0, 256) : undefined
}

/** What is secret in the records that change. */
interface Secrets {
  masked(subject: Pick<Change, 'kind' | 'id'>, text: string | undefined): string | undefined
  schemaOf(change: Change): object | undefined
}

/**
 * What an entry tells of a record. Of an edit the audit keeps what differs, for whole copies each time would have no
 * end; the record before and after it is kept as long as events are.
 */
const contentOf = (id: string, change: Change, base: Base | undefined, secrets: Secrets) => {
  const { before, after, name } = change
  const texts = { before: secrets.masked(change, before), after: secrets.masked(change, after) }
  const docs = entryDocs(id, texts, base)
  if (before === undefined || after === undefined) return { ...docs, changes: undefined, recordName: name }
  const record: Json = JSON.parse(after)
  const changes = differencesBetween(JSON.parse(before), record, secrets.schemaOf(change))
  return { ...docs, changes: JSON.stringify(changes), recordName: name ?? nameOf(record) }
}

type EntryRow = Parameters<typeof auditLog.append>[0]

const appended = (row: Omit<EntryRow, 'digest'>) => auditLog.append({ ...row, digest: contentDigest(row) })

/** What entries of one write have in common. */
interface EntryFacts {
  at: number
  author: string
  actorId: string | undefined
  standingOf(accountId: string): AccountPath
  /** The entry that an edit of a large record refers to. */
  baseOf(change: Change): Base | undefined
}

const placeOf = (accountId: string, { at, author, actorId, standingOf }: EntryFacts) => {
  const standing = standingOf(accountId)
  return { accountId: standing.accountId, tree: standing.tree.join(' '), id: newId(at), at, author, actorId }
}

const eventOf = ({ kind, action, event = `${kind}.${action}` }: Change): EventType => event

/** The types of the events that a set of changes emits. */
export const eventTypesIn = ({ summary, changes, happenings }: ChangeSet): EventType[] =>
  summary ? [eventOf(summary)] : [...changes.map(eventOf), ...happenings.map(({ type }) => type)]

const entryOf = (change: Change, facts: EntryFacts, secrets: Secrets): Append => {
  const { accountId, kind, id: recordId, action } = change
  const place = placeOf(accountId, facts)
  return appended({
    ...place,
    ...(change.tree ? { accountId, tree: change.tree.join(' ') } : {}),
    kind,
    recordId,
    action,
    event: eventOf(change),
    span: undefined,
    ...contentOf(place.id, change, facts.baseOf(change), secrets),
  })
}

const noChange = { beforeDoc: undefined, baseId: undefined, changes: undefined, recordName: undefined }

const happeningOf = (happening: EventDraft, facts: EntryFacts, secrets: Secrets): Append => {
  const { accountId, kind, id, type, after, ids } = happening
  return appended({
    ...placeOf(accountId, facts),
    kind,
    recordId: id,
    action: emitEvent,
    event: type,
    ...noChange,
    span: ids?.length,
    afterDoc: ids ? JSON.stringify(ids) : secrets.masked(happening, after),
  })
}

/** What the changes of one write add to a count is one move, and what they take away another. */
const movesOf = (sets: readonly ChangeSet[], at: number): Append[] => {
  const moves = new Map<string, Count>()
  for (const count of sets.flatMap(({ counts }) => counts)) {
    const { accountId, category, item, delta } = count
    const key = `${accountId}\n${category}\n${item}\n${delta > 0}`
    const move = moves.get(key)
    if (move) move.delta += delta
    else moves.set(key, { ...count })
  }
  return Array.from(moves.values(), ({ delta, ...counted }) =>
    quantityMoves.append({ ...counted, id: newId(at), at, own: delta, below: 0 }),
  )
}

/** An author as it is kept: without the hold on a key, which ends with the request. */
const authorText = (author: Author) => JSON.stringify(author)

/** The JSON texts of authors, of whom the sets of one write mostly share one. */
const createAuthorTexts = () => {
  const texts = new Map<Author, string>()
  return (author: Author) => {
    const known = texts.get(author)
    if (known !== undefined) return known
    const text = authorText(author)
    texts.set(author, text)
    return text
  }
}

/** Each request with a key says under it what is committed. */
const keyMarks = (sets: readonly ChangeSet[]): Statement[] => {
  if (!sets.some(({ author }) => author.idempotency)) return []
  return [...Map.groupBy(sets, ({ author }) => author.idempotency)].flatMap(([claim, ofClaim]) => {
    if (!claim) return []
    const changes = ofClaim.flatMap(({ changes: all }) =>
      all.map(({ accountId, kind, id, action }) => ({ account_id: accountId, kind, id, action })),
    )
    return [markCommitted(claim, changes, () => failure(lostLease, {}))]
  })
}

/** In one order for everybody: writes that ask for the same errands do not wait for each other. */
const errandStatements = (sets: readonly ChangeSet[], at: number): Statement[] => {
  const errands = sets.flatMap((set) => set.errands)
  const placeOf = ({ kind, id }: JobDraft) => `${kind}\n${id}`
  return errands
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .map((errand) => errandStatement(errand, at))
}

/** The write that change sets amount to together, their entries of audit and feed and their counts included. */
export const writeOf = (
  sets: readonly ChangeSet[],
  clock: Clock,
  secrets: Secrets,
  known: Pick<EntryFacts, 'standingOf' | 'baseOf'>,
): Write => {
  if (sets.some(({ changes, happenings }) => changes.length + happenings.length === 0))
    throw new Error('a change set without a change: nothing may be written unrecorded')
  const at = clock.now()
  const authorText = createAuthorTexts()
  const feed = sets.flatMap(({ author, summary, changes, happenings }) => {
    const facts = { at, author: authorText(author), actorId: actorOf(author).id, ...known }
    if (summary) return [entryOf(summary, facts, secrets)]
    return [
      ...changes.map((change) => entryOf(change, facts, secrets)),
      ...happenings.map((happening) => happeningOf(happening, facts, secrets)),
    ]
  })
  const moves = movesOf(sets, at)
  return {
    statements: [
      ...sets.flatMap(({ statements }) => statements),
      ...errandStatements(sets, at),
      ...keyMarks(sets),
    ],
    appends: moves.length === 0 ? feed : [...feed, ...moves],
    stale: [feedKey, ...sets.flatMap(({ stale }) => stale)],
  }
}
