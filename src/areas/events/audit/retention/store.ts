import { emitEvent } from '../../../../storage/audit-log.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import { isNoBase } from '../../../../storage/entry-docs.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, shape, text } from '../../../../storage/table.ts'
import { dropFromIndex } from '../indexing/store.ts'
import type { OldEntry } from './rules.ts'

/** Entries that one write lets go of. */
export const maxRowsPerBatch = 5000

const entries = shape({
  sequence: integer(),
  at: integer(),
  kind: text(),
  action: text(),
  digest: text(),
})

const inChain = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${emitEvent}'`

export const createAuditRetentionStore = ({ scan }: Store) => ({
  /** The account behind another one in the order of their ids, of those that have entries. */
  async nextAccount(after: string): Promise<string | undefined> {
    const [row] = await scan('SELECT min(account_id) AS account_id FROM audit_log WHERE account_id > $1', [
      after,
    ])
    return typeof row?.account_id === 'string' ? row.account_id : undefined
  },

  /** The entries with which the chain of an account begins. */
  async first(accountId: string, limit: number): Promise<OldEntry[]> {
    return entries.list(
      await scan(
        `SELECT ${entries.columns} FROM audit_log WHERE account_id = $1 AND ${inChain}
          ORDER BY sequence LIMIT ${limit}`,
        [accountId],
      ),
    )
  },

  /** Takes entries out of the chain, up to a place. Those that events still need go when events do. */
  letGo(set: ChangeSet, accountId: string, until: number) {
    const range = `account_id = $1 AND sequence <= $2 AND ${inChain}`
    set
      .add(dropFromIndex('account_id = $1 AND sequence <= $2', [accountId, until]))
      .run(
        `DELETE FROM audit_log WHERE ${range} AND ${isNoBase}
          AND sequence <= (SELECT sequence FROM feed_marks WHERE name = 'forgotten')`,
        [accountId, until],
      )
      .run(`UPDATE audit_log SET digest = NULL, previous_digest = NULL WHERE ${range}`, [accountId, until])
  },
})
