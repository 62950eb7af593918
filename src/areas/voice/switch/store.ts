import type { Difference } from '../../../lib/differences.ts'
import { eventAction } from '../../../storage/audit-log.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, json, optional, shape, text } from '../../../storage/table.ts'
import { type FollowedChange, followedKinds } from './rules.ts'

const columns = shape({
  sequence: integer(),
  accountId: text(),
  kind: text(),
  recordId: text(),
  action: text(),
  realm: optional(text()),
  changes: optional(json<Difference[]>()),
})

const kinds = followedKinds.map((kind) => `'${kind}'`).join(', ')

/** Committed changes on which answers to edges may depend. Only realms are read from the records. */
export const createChangeStore = ({ all, words }: Store) => {
  const realmIn = (doc: string) => `CASE kind WHEN 'account' THEN ${words.textAt(doc, 'realm')}
    WHEN 'device' THEN ${words.textAt(doc, 'sip', 'realm')} END`
  // A patch has a realm only if it differs from its base, see storage/entry-docs.ts.
  const realm = `coalesce(${realmIn('after_doc')}, (SELECT ${realmIn('base.after_doc')} FROM audit_log base
    WHERE base.account_id = audit_log.account_id AND base.id = audit_log.base_id))`

  return {
    async behind(after: number, end: number, limit: number): Promise<FollowedChange[]> {
      const rows = await all(
        `SELECT sequence, account_id AS "accountId", kind, record_id AS "recordId", action, ${realm} AS "realm", changes
          FROM audit_log WHERE sequence > $1 AND sequence <= $2 AND event IS NOT NULL AND action <> '${eventAction}' AND kind IN (${kinds})
          ORDER BY sequence LIMIT ${limit}`,
        [after, end],
      )
      return columns.list(rows)
    },

    /** Realms that devices have instead of their account's. */
    async ownRealms(): Promise<(readonly [accountId: string, realm: string])[]> {
      const rows = await all(
        `SELECT holder_account_id AS "accountId", value FROM claims
          WHERE account_id = $1 AND name = 'sip_identity' AND kind = 'device'`,
        [systemScope],
      )
      return rows.map(({ accountId, value }) => [String(accountId), String(JSON.parse(String(value))[0])])
    },
  }
}
