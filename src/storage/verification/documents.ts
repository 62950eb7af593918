import type { Check, Fault } from '../../lib/check.ts'
import { messageOfReading } from '../../lib/error-facts.ts'
import type { Row } from '../db.ts'
import type { Store } from '../store.ts'

/** A table with columns of JSON text, and the key that it is walked through by. */
interface Documents {
  table: string
  key: readonly string[]
  columns: readonly string[]
}

const ofAccounts = ['account_id', 'id'] as const

const tables: readonly Documents[] = [
  { table: 'records', key: ['account_id', 'kind', 'id'], columns: ['doc', 'hidden', 'row_json'] },
  { table: 'numbers', key: ['number'], columns: ['doc', 'hidden', 'row_json'] },
  { table: 'ledger_entries', key: ofAccounts, columns: ['doc'] },
  { table: 'transactions', key: ofAccounts, columns: ['doc'] },
  { table: 'invoices', key: ofAccounts, columns: ['doc'] },
  { table: 'credit_notes', key: ['account_id', 'invoice_id', 'id'], columns: ['doc'] },
  { table: 'service_audit', key: ofAccounts, columns: ['doc'] },
  { table: 'webhook_attempts', key: ofAccounts, columns: ['doc'] },
  { table: 'kazoo_kept', key: ['account_id', 'source', 'id', 'name'], columns: ['doc'] },
  { table: 'work', key: ['kind', 'id'], columns: ['payload'] },
]

// A document may be large: so many of them are held at once.
const atOnce = 200

const pageOf = ({ table, key, columns }: Documents) => {
  const places = key.map((_, index) => `$${index + 1}`).join(', ')
  return `SELECT ${[...key, ...columns].join(', ')} FROM ${table} WHERE (${key.join(', ')}) > (${places})
    ORDER BY ${key.join(', ')} LIMIT ${atOnce}`
}

const whyUnreadable = (text: unknown) => {
  try {
    JSON.parse(String(text))
    return undefined
  } catch (error) {
    return messageOfReading(error)
  }
}

const placeOf = ({ table, key }: Documents, row: Row) => `${table} ${key.map((name) => row[name]).join(' ')}`

const faultsIn = (documents: Documents, row: Row): Fault[] =>
  documents.columns.flatMap((column) => {
    const text = row[column]
    const reason = text === null ? undefined : whyUnreadable(text)
    return reason === undefined
      ? []
      : [{ place: placeOf(documents, row), reason: `its ${column} cannot be read (${reason})` }]
  })

async function* rowsOf({ scan }: Pick<Store, 'scan'>, documents: Documents): AsyncGenerator<Row> {
  const sql = pageOf(documents)
  let after = documents.key.map(() => '')
  for (;;) {
    const rows = await scan(sql, after)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < atOnce) return
    after = documents.key.map((name) => String(last[name]))
  }
}

type Parts = Pick<Store, 'scan' | 'sealing'>

/** A secret that another server's key sealed, or that was altered, does not open. */
const sealFault = ({ sealing }: Parts, documents: Documents, row: Row): Fault[] => {
  const place = { accountId: String(row.account_id), kind: String(row.kind), id: String(row.id) }
  return sealing.isShut(place, String(row.doc))
    ? []
    : [{ place: placeOf(documents, row), reason: 'a secret in it cannot be opened with keys/server.key' }]
}

/**
 * Every document can be read. With `opensSecrets`, for which the server's key must be there, all secrets can be opened, too.
 */
export const checkDocuments = (parts: Parts, opensSecrets: boolean): Check => ({
  name: 'records',
  async run(tell) {
    let seen = 0
    for (const documents of tables)
      for await (const row of rowsOf(parts, documents)) {
        seen += 1
        const unreadable = faultsIn(documents, row)
        const sealed =
          opensSecrets && documents.table === 'records' && unreadable.length === 0
            ? sealFault(parts, documents, row)
            : []
        for (const fault of [...unreadable, ...sealed]) tell(fault)
      }
    return seen
  },
})
