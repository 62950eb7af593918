import type { Clock } from '../lib/clock.ts'
import { type Failure, failure } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { maskSecrets } from '../lib/secrets.ts'
import { cacheKey, type Statement, type Value, type Write } from './db.ts'

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
const insertAudit = `INSERT INTO audit_log
  (account_id, id, at, action, kind, record_id, author, before_doc, after_doc)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
const insertEvent = `INSERT INTO outbox (account_id, id, at, event, kind, record_id)
  VALUES ($1, $2, $3, $4, $5, $6)`

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

/** The write that a change set amounts to, its audit entries and events included. */
export const writeOf = (set: ChangeSet, clock: Clock): Write => {
  if (set.changes.length === 0)
    throw new Error('a change set without a change: nothing may be written unrecorded')
  const at = clock.now()
  const author = JSON.stringify(set.author)
  const statements = [...set.statements]
  for (const change of set.changes) {
    const id = newId(at)
    const { accountId, kind, id: recordId } = change
    statements.push({
      sql: insertAudit,
      params: [
        accountId,
        id,
        at,
        change.action,
        kind,
        recordId,
        author,
        maskSecrets(change.before) ?? null,
        maskSecrets(change.after) ?? null,
      ],
    })
    statements.push({
      sql: insertEvent,
      params: [accountId, id, at, eventNames[change.action], kind, recordId],
    })
  }
  return { statements, stale: set.stale }
}
