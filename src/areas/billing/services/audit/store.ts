import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, json, oneOf, optional, type RowOf, shape, table, text } from '../../../../storage/table.ts'
import { readTimePage, type TimePage } from '../../../../storage/time-page.ts'
import { bookkeeperKey } from '../rules.ts'
import { type AuditDoc, type AuditEntry, auditStatuses, type QuantityDay } from './rules.ts'

interface SyncAnswer {
  reason?: string
  message?: string
  results?: readonly object[]
}

const auditEntries = table('service_audit', {
  accountId: text(),
  id: text(),
  created: integer(),
  status: oneOf(auditStatuses),
  bookkeeper: text(),
  doc: json<AuditDoc>(),
  place: text(),
  madeAt: integer(),
  outcome: optional(json<SyncAnswer>()),
})

const synced = auditEntries.pick('id', 'created', 'place', 'madeAt', 'status', 'outcome', 'doc')

const insertEntry = auditEntries
  .pick('accountId', 'id', 'created', 'status', 'bookkeeper', 'doc', 'place', 'madeAt')
  .insert()

const dayColumns = {
  category: text(),
  item: text(),
  day: integer(),
  addition: integer(),
  removal: integer(),
  own: integer(),
  below: integer(),
  manual: optional(integer()),
  lastAt: integer(),
}
const dayRows = shape(dayColumns)

const toEntry = ({ status, outcome = {}, doc, ...entry }: RowOf<typeof synced>): AuditEntry => {
  const { results = [], ...answer } = outcome
  return { ...entry, doc: { ...doc, status, ...answer, bookkeeper: { ...doc.bookkeeper, results } } }
}

const quantityDays = table('quantity_days', { accountId: text(), ...dayColumns })
const putDay = quantityDays.upsert('accountId', 'category', 'item', 'day')

const addToDay = quantityDays.insert(`ON CONFLICT (account_id, category, item, day) DO UPDATE SET
  addition = quantity_days.addition + excluded.addition, removal = quantity_days.removal + excluded.removal,
  manual = excluded.manual, last_at = excluded.last_at`)

export const createAuditStore = ({ all, scan }: Store) => ({
  add(set: ChangeSet, accountId: string, entry: AuditEntry) {
    const { status, bookkeeper } = entry.doc
    set
      .add(insertEntry({ ...entry, accountId, status, bookkeeper: bookkeeperKey(bookkeeper) }))
      .record({ accountId, kind: 'service_audit', id: entry.id, action: 'created' })
  },

  /** Stores an imported entry and replaces an earlier import. */
  import(set: ChangeSet, accountId: string, entry: AuditEntry) {
    this.remove(set, accountId, entry.id)
    this.add(set, accountId, entry)
  },

  remove: (set: ChangeSet, accountId: string, id: string) =>
    set
      .run('DELETE FROM service_audit WHERE account_id = $1 AND id = $2', [accountId, id])
      .record({ accountId, kind: 'service_audit', id, action: 'deleted' }),

  async find(accountId: string, id: string): Promise<AuditEntry | undefined> {
    const sql = `SELECT ${synced.columns} FROM service_audit WHERE account_id = $1 AND id = $2`
    const entry = synced.first(await all(sql, [accountId, id]))
    return entry && toEntry(entry)
  },

  async page(page: TimePage): Promise<AuditEntry[]> {
    const select = `SELECT ${synced.columns} FROM service_audit`
    return synced.list(await readTimePage({ all, scan }, { select, mark: 'place' }, page)).map(toEntry)
  },

  putDay(set: ChangeSet, accountId: string, day: QuantityDay) {
    const id = `${day.day}/${day.category}/${day.item}`
    set.add(putDay({ accountId, ...day })).record({ accountId, kind: 'service_audit', id, action: 'created' })
  },

  /** Adds a manual count to a day. */
  addToDay: (set: ChangeSet, accountId: string, day: QuantityDay) => set.add(addToDay({ accountId, ...day })),

  removeDay(set: ChangeSet, accountId: string, { category, item, day }: QuantityDay) {
    const id = `${day}/${category}/${item}`
    set
      .run('DELETE FROM quantity_days WHERE account_id = $1 AND category = $2 AND item = $3 AND day = $4', [
        accountId,
        category,
        item,
        day,
      ])
      .record({ accountId, kind: 'service_audit', id, action: 'deleted' })
  },

  async day(accountId: string, { category, item, day }: Pick<QuantityDay, 'category' | 'item' | 'day'>) {
    const rows = await all(
      `SELECT ${dayRows.columns} FROM quantity_days
        WHERE account_id = $1 AND category = $2 AND item = $3 AND day = $4`,
      [accountId, category, item, day],
    )
    return dayRows.first(rows)
  },

  /** The days (like 20261121) of a time on which counts changed, oldest first. */
  async days(accountId: string, from: number, to: number): Promise<QuantityDay[]> {
    const rows = await all(
      `SELECT ${dayRows.columns} FROM quantity_days
        WHERE account_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day, category, item`,
      [accountId, from, to],
    )
    return dayRows.list(rows)
  },
})

export interface SyncedInvoice {
  accountId: string
  bookkeeper: string
}

export interface SyncNote {
  status: 'completed' | 'failed'
  outcome: object
}

export const createSyncStore = ({ writeUnrecorded }: Store) => ({
  /** Marks the entries that a synchronization covers, before it reads the invoice. */
  claimEntries: ({ accountId, bookkeeper }: SyncedInvoice, syncId: string) =>
    writeUnrecorded([
      {
        sql: `UPDATE service_audit SET sync_id = $3
          WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending'`,
        params: [accountId, bookkeeper, syncId],
      },
    ]),

  noteEntries: (
    { accountId, bookkeeper }: SyncedInvoice,
    syncId: string,
    { status, outcome }: SyncNote,
  ): Statement => ({
    sql: `UPDATE service_audit SET status = $4, outcome = $5
      WHERE account_id = $1 AND bookkeeper = $2 AND status = 'pending' AND sync_id = $3`,
    params: [accountId, bookkeeper, syncId, status, JSON.stringify(outcome)],
  }),
})
