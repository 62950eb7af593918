import type { Clock } from '../lib/clock.ts'
import { type Failure, failure } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { maskSecrets } from '../lib/secrets.ts'
import { type Append, type AppendTable, cacheKey, type Statement, type Value, type Write } from './db.ts'
import { type KeyClaim, markCommitted } from './idempotency.ts'

/** Who stands behind a write, as the audit entry tells it. */
export interface Author {
  requestId: string
  clientAddress?: string
  authAccountId?: string
  authUserId?: string
  authMethod?: string
  /** Set while somebody acts as another user. */
  originalAuthAccountId?: string
  originalAuthUserId?: string
  request?: { method: string; path: string }
  /** Whoever asks for the change agrees to what it costs. */
  acceptsCharges?: boolean
  /** The key under which a request is carried out once. */
  idempotency?: KeyClaim
}

/** One thing that a write did, in the words that auditors and subscribers read. */
export interface Change {
  accountId: string
  kind: string
  id: string
  action: 'created' | 'edited' | 'deleted'
  /** JSON texts of the public record. Secrets are masked before they are kept. */
  before?: string
  after?: string
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

const insertClaim = `INSERT INTO claims (account_id, name, value, holder_account_id, kind, record_id)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
const deleteClaim = `DELETE FROM claims
  WHERE account_id = $1 AND name = $2 AND value = $3 AND holder_account_id = $4 AND kind = $5 AND record_id = $6`
const auditLog: AppendTable = {
  name: 'audit_log',
  columns: {
    account_id: 'text',
    id: 'text',
    at: 'integer',
    action: 'text',
    kind: 'text',
    record_id: 'text',
    author: 'text',
    before_doc: 'text',
    after_doc: 'text',
  },
}
const outbox: AppendTable = {
  name: 'outbox',
  columns: { account_id: 'text', id: 'text', at: 'integer', event: 'text', kind: 'text', record_id: 'text' },
}
const quantityMoves: AppendTable = {
  name: 'quantity_moves',
  columns: {
    account_id: 'text',
    id: 'text',
    at: 'integer',
    category: 'text',
    item: 'text',
    own: 'integer',
    below: 'integer',
    author: 'text',
  },
}

/** A count of what an account has, that a change moves: see areas/services/quantities. */
export interface Count {
  accountId: string
  category: string
  item: string
  delta: number
}

const eventNames = { created: 'doc_created', edited: 'doc_edited', deleted: 'doc_deleted' } as const

/**
 * Everything that one operation wants to happen at once: statements, and the changes they amount to.
 * Each change becomes an audit entry and an outbox event in the same transaction.
 */
export class ChangeSet {
  readonly author: Author
  readonly changes: Change[] = []
  readonly statements: Statement[] = []
  readonly stale: string[] = []
  readonly counts: Count[] = []

  constructor(author: Author) {
    this.author = author
  }

  /** Adds a statement. `expect` decides races: see Statement. */
  run(sql: string, params: readonly Value[], expect?: Statement['expect']) {
    this.statements.push(expect ? { sql, params, expect } : { sql, params })
    return this
  }

  /** Declares what is being done. A change set without a change cannot be committed. */
  record(change: Change) {
    this.changes.push(change)
    this.outdate(change.accountId, change.kind, change.id)
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

  claim(claim: Claim, holder: ClaimHolder, orElse: () => Failure = conflict) {
    return this.run(
      insertClaim,
      [claim.scope, claim.name, claim.value, holder.accountId, holder.kind, holder.id],
      { rows: 1, orElse },
    )
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
export const conflict = () => failure('datastore_conflict', {})

const feedOf = (change: Change, id: string, at: number, author: string): Append[] => {
  const { accountId, kind, id: recordId, action } = change
  const before = maskSecrets(change.before) ?? null
  const after = maskSecrets(change.after) ?? null
  return [
    { table: auditLog, values: [accountId, id, at, action, kind, recordId, author, before, after] },
    { table: outbox, values: [accountId, id, at, eventNames[action], kind, recordId] },
  ]
}

/** What many changes of one author in one write add to a count is one move, and what they take away another. */
const movesOf = (sets: readonly ChangeSet[], textOf: (author: Author) => string, at: number): Append[] => {
  const byAuthor = new Map<string, Map<string, Count>>()
  for (const { author, counts } of sets) {
    if (counts.length === 0) continue
    const text = textOf(author)
    const moves = byAuthor.get(text) ?? new Map<string, Count>()
    byAuthor.set(text, moves)
    for (const count of counts) {
      const { accountId, category, item, delta } = count
      const key = `${accountId}\n${category}\n${item}\n${delta > 0}`
      const move = moves.get(key)
      if (move) move.delta += delta
      else moves.set(key, { ...count })
    }
  }
  return [...byAuthor].flatMap(([author, moves]) =>
    Array.from(moves.values(), ({ accountId, category, item, delta }) => ({
      table: quantityMoves,
      values: [accountId, newId(at), at, category, item, delta, 0, author],
    })),
  )
}

/** An author as it is kept: without the hold on a key, which ends with the request. */
export const authorText = (author: Author) => JSON.stringify(author)

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
const keyMarks = (sets: readonly ChangeSet[]): Statement[] =>
  [...Map.groupBy(sets, ({ author }) => author.idempotency)].flatMap(([claim, ofClaim]) => {
    if (!claim) return []
    const changes = ofClaim.flatMap(({ changes: all }) =>
      all.map(({ accountId, kind, id, action }) => ({ account_id: accountId, kind, id, action })),
    )
    return [markCommitted(claim, changes, () => failure('lease_lost', {}))]
  })

/** The write that change sets amount to together, their audit entries, events and counts included. */
export const writeOf = (sets: readonly ChangeSet[], clock: Clock): Write => {
  if (sets.some(({ changes }) => changes.length === 0))
    throw new Error('a change set without a change: nothing may be written unrecorded')
  const at = clock.now()
  const textOf = createAuthorTexts()
  const feed = sets.flatMap(({ author, changes }) =>
    changes.flatMap((change) => feedOf(change, newId(at), at, textOf(author))),
  )
  const moves = movesOf(sets, textOf, at)
  return {
    statements: [...sets.flatMap(({ statements }) => statements), ...keyMarks(sets)],
    appends: moves.length === 0 ? feed : [...feed, ...moves],
    stale: sets.flatMap(({ stale }) => stale),
  }
}
