import { contentDigest } from '../lib/chain.ts'
import type { Clock } from '../lib/clock.ts'
import { differencesBetween } from '../lib/differences.ts'
import { datastoreConflict, failure, lostLease } from '../lib/failure.ts'
import { newId, randomHex } from '../lib/ids.ts'
import type { Json } from '../lib/json.ts'
import { currentTraceparent } from '../lib/trace.ts'
import { type AuthorIds, actorOf, auditLog, eventAction } from './audit-log.ts'
import { type Append, cacheKey, type Statement, type Value, type Write } from './db.ts'
import { type Base, entryDocs } from './entry-docs.ts'
import { type KeyClaim, markCommitted } from './idempotency.ts'
import { type JobDraft, jobStatement, workKey } from './job-draft.ts'
import { integer, table, text } from './table.ts'

export interface ChargeConsent {
  /** Absent: the last quote that the same caller got for the same purchase. */
  quoteId?: string
  /** The session that got the quote; without a session, the user or API key. */
  caller?: string
  /** The price lists that a task accepts. */
  terms?: unknown
  toJSON(): undefined
}

/** Who makes a write, for the audit entry. */
export interface Author extends AuthorIds {
  requestId: string
  clientAddress?: string
  authMethod?: string
  request?: { method: string; path: string }
  /** The `traceparent` of a recorded request. */
  trace?: string
  acceptsCharges?: boolean
  /** Absent for writes without a request. */
  consent?: ChargeConsent
  idempotency?: KeyClaim
}

const acts = new WeakMap<Author, string>()

/** Identifies a request. Clients choose request ids and may repeat them. */
export const actOf = (author: Author): string => {
  const act = acts.get(author) ?? randomHex(16)
  acts.set(author, act)
  return act
}

/** `user.edited`, `task.finished`: areas declare them. */
type EventType = `${string}.${string}`

export interface Change {
  accountId: string
  kind: string
  id: string
  action: 'created' | 'edited' | 'deleted'
  /** The event type, if it is not `<kind>.<action>`. */
  event?: EventType
  /** The parents of a deleted account, top first. */
  tree?: readonly string[]
  /** The name of the record, if it is not its id. */
  name?: string | undefined
  /** JSON texts of the public record. With both, the audit entry stores the differences. Secrets are masked. */
  before?: string
  after?: string
}

export interface EventDraft {
  accountId: string
  type: EventType
  /** Kind and id of its subject. */
  kind: string
  id: string
  /** JSON text. */
  after?: string
  /** Ids of the records, if one row stands for many events. */
  ids?: readonly string[]
}

/** A name that is unique within its scope (an account id, or `system`). */
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
const claimParams = ({ scope, name, value }: Claim, { accountId, kind, id }: ClaimHolder) => [
  scope,
  name,
  value,
  accountId,
  kind,
  id,
]

const quantityMoves = table('quantity_moves', {
  accountId: text(),
  id: text(),
  at: integer(),
  category: text(),
  item: text(),
  own: integer(),
  below: integer(),
})

interface Count {
  accountId: string
  category: string
  item: string
  delta: number
}

interface Sized {
  readonly kind: string
  readonly docText: string
  readonly hiddenText: string
}

/** An account that moves or is removed, with its sub-accounts. */
export interface Transfer {
  accountId: string
  /** The parents before, top first. */
  from: readonly string[]
  /** The parents after; undefined when the account is removed. */
  to: readonly string[] | undefined
}

interface Newcomer {
  name: string
  tree: readonly string[]
}

export interface AccountPath {
  /** For what belongs to no account, the master account. */
  accountId: string
  tree: readonly string[]
}

/** Wakes the readers of events and the process that orders them. */
export const feedKey = cacheKey(systemScope, 'feed', 'committed')

/** Something that is about to happen in a change set. */
export interface Signal<Told> {
  readonly name: string
  /** Only a type; never set. */
  readonly told?: Told
}

const restoring = (list: unknown[]) => {
  const copy = [...list]
  return () => {
    list.length = 0
    for (const one of copy) list.push(one)
  }
}

/** The writes of one transaction. Each change becomes an audit entry and an event. */
export class ChangeSet {
  readonly author: Author
  readonly changes: Change[] = []
  readonly happenings: EventDraft[] = []
  readonly statements: Statement[] = []
  readonly stale: string[] = []
  readonly counts: Count[] = []
  readonly jobs: JobDraft[] = []
  /** Accounts that are created here: their parents cannot be looked up yet. */
  readonly newcomers = new Map<string, Newcomer>()
  readonly transfers: Transfer[] = []
  /** For size limits. */
  readonly kept: Sized[] = []
  /** New records. */
  readonly born: Pick<ClaimHolder, 'accountId' | 'kind'>[] = []
  /** Changes in bytes of files. */
  readonly filed: { accountId: string; bytes: number }[] = []
  /** Counts are repaired: no charges. */
  isCorrection = false
  /** One audit entry instead of those of many changes. */
  summary: Change | undefined
  /** Signals that are not delivered yet. */
  readonly told: { signal: Signal<unknown>; told: unknown }[] = []

  constructor(author: Author) {
    this.author = author
  }

  run(sql: string, params: readonly Value[], expect?: Statement['expect']) {
    this.statements.push(expect ? { sql, params, expect } : { sql, params })
    return this
  }

  add(...statements: readonly Statement[]) {
    this.statements.push(...statements)
    return this
  }

  /** Names a stored record, for limits of size and number. */
  keep(record: Sized & Pick<ClaimHolder, 'accountId' | 'kind'>, { isNew }: { isNew: boolean }) {
    this.kept.push(record)
    if (isNew) this.born.push(record)
    return this
  }

  /** The same for a row that is not a record. */
  keepText(kind: string, docText: string) {
    this.kept.push({ kind, docText, hiddenText: '' })
    return this
  }

  /** A change set without a change cannot be committed. */
  record(change: Change) {
    this.changes.push(change)
    this.outdate(change.accountId, change.kind, change.id)
    return this
  }

  happened(happening: EventDraft) {
    this.happenings.push(happening)
    return this
  }

  /** Evicts a record from caches that is not the subject of a change. */
  outdate(accountId: string, kind: string, id: string) {
    this.stale.push(cacheKey(accountId, kind, id))
    return this
  }

  /** Changes a count that the account is charged by. */
  count(accountId: string, category: string, item: string, delta: number) {
    if (delta !== 0) this.counts.push({ accountId, category, item, delta })
    return this
  }

  /** A job that starts after the commit. */
  job<Payload>(job: JobDraft<Payload>) {
    // Change sets of several requests may be committed together.
    this.jobs.push({ trace: currentTraceparent(), ...job })
    if (job.dueAt === undefined) this.stale.push(workKey(job.kind))
    return this
  }

  /** Notifies other areas before gates and commit. */
  tell<Told>(signal: Signal<Told>, told: Told) {
    this.told.push({ signal, told })
    return this
  }

  /** Returns a function that undoes everything that was added since. */
  checkpoint(): () => void {
    const { changes, happenings, statements, stale, counts, jobs, told, kept, born, filed } = this
    const lists = [changes, happenings, statements, stale, counts, jobs, told, kept, born, filed]
    const restore = lists.map(restoring)
    return () => {
      for (const one of restore) one()
    }
  }

  claim({ scope, name, value }: Claim, { accountId, kind, id }: ClaimHolder, orElse = conflict) {
    return this.add(insertClaim({ scope, name, value, accountId, kind, id }, { rows: 1, orElse }))
  }

  /** Takes a claim from any other holder. */
  free(claim: Claim, holder: ClaimHolder) {
    return this.run(deleteForeignClaim, claimParams(claim, holder))
  }

  release(claim: Claim, holder: ClaimHolder) {
    return this.run(deleteClaim, claimParams(claim, holder))
  }
}

/** A lost race: `retrying` reads again and repeats the operation. */
export const conflict = () => failure(datastoreConflict, {})

export const nameOf = ({ name, username }: { name?: unknown; username?: unknown }) => {
  const called = name ?? username
  return typeof called === 'string' ? called.slice(0, 256) : undefined
}

interface Secrets {
  masked(subject: Pick<Change, 'kind' | 'id'>, text: string | undefined): string | undefined
  schemaOf(change: Change): object | undefined
}

/**
 * The audit log stores differences of an edit, because copies would grow without end; both records are stored as long as events.
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

interface EntryFacts {
  at: number
  author: string
  actorId: string | undefined
  standingOf(accountId: string): AccountPath
  baseOf(change: Change): Base | undefined
}

const placeOf = (accountId: string, { at, author, actorId, standingOf }: EntryFacts) => {
  const standing = standingOf(accountId)
  return { accountId: standing.accountId, tree: standing.tree.join(' '), id: newId(at), at, author, actorId }
}

const eventOf = ({ kind, action, event = `${kind}.${action}` }: Change): EventType => event

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
    action: eventAction,
    event: type,
    ...noChange,
    span: ids?.length,
    afterDoc: ids ? JSON.stringify(ids) : secrets.masked(happening, after),
  })
}

/** One row for all additions to a count, and one for all removals. */
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

/** Most sets of one write have the same author. */
const createAuthorTexts = () => {
  const texts = new Map<Author, string>()
  return (author: Author) => {
    const text = texts.get(author) ?? JSON.stringify(author)
    texts.set(author, text)
    return text
  }
}

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

/** In one order, so that writes with the same jobs do not wait for each other. */
const jobStatements = (sets: readonly ChangeSet[], at: number): Statement[] => {
  const jobs = sets.flatMap((set) => set.jobs)
  const placeOf = ({ kind, id }: JobDraft) => `${kind}\n${id}`
  return jobs.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)).map((job) => jobStatement(job, at))
}

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
      ...jobStatements(sets, at),
      ...keyMarks(sets),
    ],
    appends: moves.length === 0 ? feed : [...feed, ...moves],
    stale: [feedKey, ...sets.flatMap(({ stale }) => stale)],
  }
}
