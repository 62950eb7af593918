import { auditColumns, emitEvent } from '../../../../storage/audit-log.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, optional, shape, text } from '../../../../storage/table.ts'
import { removalIn, removalKind } from '../removal.ts'
import type { ChainEnd, Link, Removal } from './rules.ts'

const chain = shape({
  ...auditColumns,
  sequence: integer(),
  digest: text(),
  previousDigest: optional(text()),
})
const ends = shape({ sequence: integer(), digest: text() })
const letGo = shape({ id: text(), sequence: integer() })
const lines = shape({ id: text(), beforeDoc: text() })

// Entries at once: so many, and of not much more than so many characters together.
const maxAtOnce = 500
const maxCharacters = 4_000_000

const inChain = `sequence IS NOT NULL AND digest IS NOT NULL AND action <> '${emitEvent}'`

const length = ['author', 'changes', 'before_doc', 'after_doc']
  .map((column) => `coalesce(length(${column}), 0)`)
  .join(' + ')

const isRemoval = `account_id = $1 AND record_id = $1 AND kind = '${removalKind}' AND action = 'deleted'
  AND before_doc IS NOT NULL`

export interface KnownRemoval extends Removal {
  /** Of the line that tells of it. */
  id: string
}

export const createVerificationStore = ({ scan }: Store) => ({
  /** The account behind another one in the order of their ids that has a chain, or had one. */
  async nextAccount(after: string): Promise<string | undefined> {
    const [row] = await scan(
      `SELECT min(account_id) AS account_id FROM (
        SELECT min(account_id) AS account_id FROM audit_log WHERE account_id > $1
        UNION ALL SELECT min(account_id) FROM audit_heads WHERE account_id > $1) AS nearest`,
      [after],
    )
    return typeof row?.account_id === 'string' ? row.account_id : undefined
  },

  async endOf(accountId: string): Promise<ChainEnd | undefined> {
    return ends.first(
      await scan(`SELECT ${ends.columns} FROM audit_heads WHERE account_id = $1`, [accountId]),
    )
  },

  /** What retention removed last, whether or not the line that tells of it has its place. */
  async removalOf(accountId: string): Promise<KnownRemoval | undefined> {
    const newest = async (condition: string, order: string) =>
      lines.first(
        await scan(
          `SELECT ${lines.columns} FROM audit_log WHERE ${isRemoval} AND ${condition} ORDER BY ${order} DESC LIMIT 1`,
          [accountId],
        ),
      )
    const found = (await newest('sequence IS NULL', 'id')) ?? (await newest(inChain, 'sequence'))
    const removal = found && (await removalIn(found.beforeDoc))
    return removal && { id: found.id, ...removal }
  },

  /** The next entries of a chain: none when that was all. */
  async links(accountId: string, after: number): Promise<Link[]> {
    const [row] = await scan(
      `SELECT max(sequence) AS sequence FROM (
        SELECT sequence, ${length} AS own, sum(${length}) OVER (ORDER BY sequence) AS total FROM (
          SELECT * FROM audit_log WHERE account_id = $1 AND sequence > $2 AND ${inChain}
            ORDER BY sequence LIMIT ${maxAtOnce}) AS next) AS sized
        WHERE total - own <= ${maxCharacters}`,
      [accountId, after],
    )
    if (row?.sequence === null || row?.sequence === undefined) return []
    const rows = await scan(
      `SELECT ${chain.columns} FROM audit_log
        WHERE account_id = $1 AND sequence > $2 AND sequence <= $3 AND ${inChain} ORDER BY sequence`,
      [accountId, after, Number(row.sequence)],
    )
    return chain.list(rows)
  },

  /** The newest entry that is no part of the chain any more. */
  async newestLetGo(accountId: string): Promise<{ id: string; sequence: number } | undefined> {
    return letGo.first(
      await scan(
        `SELECT ${letGo.columns} FROM audit_log WHERE account_id = $1 AND sequence IS NOT NULL
          AND digest IS NULL AND action <> '${emitEvent}' ORDER BY sequence DESC LIMIT 1`,
        [accountId],
      ),
    )
  },
})
