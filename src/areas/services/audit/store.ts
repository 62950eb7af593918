import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { bookkeeperKey } from '../synchronization/rules.ts'
import type { AuditDoc, AuditEntry, QuantityDay } from './rules.ts'

/** Gregorian seconds, both inclusive. */
export interface AuditPage {
  accountId: string
  from: number
  to: number
  after?: readonly [string, string]
  limit: number
  descending: boolean
}

/** What the bookkeeper answered, if it had to be told. */
interface Told {
  reason?: string
  message?: string
  results?: readonly object[]
}

const columns = 'id, created, place, made_at, status, outcome, doc'

const toEntry = (row: Record<string, string | number | null>): AuditEntry => {
  const doc = JSON.parse(row.doc as string) as AuditDoc
  const { results = [], ...told } = JSON.parse((row.outcome as string | null) ?? '{}') as Told
  const status = row.status as AuditDoc['status']
  return {
    id: row.id as string,
    created: row.created as number,
    place: row.place as string,
    madeAt: row.made_at as number,
    doc: { ...doc, status, ...told, bookkeeper: { ...doc.bookkeeper, results } },
  }
}

export const createAuditStore = ({ all }: Store) => ({
  /** Adds an entry to a change set. */
  add(set: ChangeSet, accountId: string, { id, created, place, madeAt, doc }: AuditEntry) {
    set
      .run(
        `INSERT INTO service_audit (account_id, id, created, status, bookkeeper, doc, place, made_at)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          ...[accountId, id, created, doc.status, bookkeeperKey(doc.bookkeeper), JSON.stringify(doc)],
          ...[place, madeAt],
        ],
      )
      .record({ accountId, kind: 'service_audit', id, action: 'created' })
  },

  async find(accountId: string, id: string): Promise<AuditEntry | undefined> {
    const [row] = await all(`SELECT ${columns} FROM service_audit WHERE account_id = $1 AND id = $2`, [
      accountId,
      id,
    ])
    return row && toEntry(row)
  },

  async page({ accountId, from, to, after, limit, descending }: AuditPage): Promise<AuditEntry[]> {
    const side = descending ? '<' : '>'
    const order = descending ? 'DESC' : 'ASC'
    const keyset = after ? `AND (created, place) ${side} ($5, $6)` : ''
    const rows = await all(
      `SELECT ${columns} FROM service_audit
        WHERE account_id = $1 AND created BETWEEN $2 AND $3 ${keyset}
        ORDER BY created ${order}, place ${order} LIMIT $4`,
      [accountId, from, to, limit, ...(after ? [Number(after[0]), after[1]] : [])],
    )
    return rows.map(toEntry)
  },

  /** The days from one to another (numbers like 20261121) on which counts of an account moved, oldest first. */
  async days(accountId: string, from: number, to: number): Promise<QuantityDay[]> {
    const rows = await all(
      `SELECT category, item, day, addition, removal, own, below, last_at FROM quantity_days
        WHERE account_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day`,
      [accountId, from, to],
    )
    return rows.map((row) => ({
      category: row.category as string,
      item: row.item as string,
      day: row.day as number,
      addition: row.addition as number,
      removal: row.removal as number,
      own: row.own as number,
      below: row.below as number,
      lastAt: row.last_at as number,
    }))
  },
})
