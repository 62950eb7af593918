import { badIdentifier, failure } from '../../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { newId } from '../../../../lib/ids.ts'
import type { Json } from '../../../../lib/json.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import { timedPlace } from '../../../../lib/time-key.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, json, keyset, oneOf, shape, table, text } from '../../../../storage/table.ts'
import { bookedAlready } from '../../ledgers/failures.ts'
import { rolloverService } from '../../ledgers/rules.ts'
import {
  type CreditNote,
  type CreditNoteDoc,
  type InvoiceDoc,
  type InvoiceDocument,
  type InvoiceEvent,
  type IssuedStatus,
  invoiceRow,
  itemisedSources,
  type UsageSum,
  usageSource,
} from './rules.ts'

const documentColumns = {
  accountId: text(),
  id: text(),
  numberPrefix: text(),
  numberValue: integer(),
  issued: integer(),
}

const invoiceRows = shape({
  ...documentColumns,
  month: integer(),
  issuerId: text(),
  doc: json<InvoiceDoc>(),
})

const stateRows = shape({
  status: oneOf(['open', 'paid', 'void', 'uncollectible'] as const satisfies readonly IssuedStatus[]),
  credited: integer(),
  attempt: text(),
})

const selectInvoices = `SELECT ${invoiceRows.columnsOf('i')}, ${stateRows.columnsOf('s')}
  FROM invoices i JOIN invoice_states s ON s.account_id = i.account_id AND s.id = i.id`

type Rows = Parameters<typeof invoiceRows.list>[0]

const toInvoices = (rows: Rows): InvoiceDocument[] => {
  const states = stateRows.list(rows)
  return invoiceRows.list(rows).map(({ numberPrefix: prefix, numberValue: value, ...invoice }, index) => {
    const { status, credited, attempt } = states[index] as (typeof states)[number]
    return { ...invoice, number: { prefix, value }, status, credited, attempt }
  })
}

const noteRows = shape({ ...documentColumns, invoiceId: text(), doc: json<CreditNoteDoc>() })

const invoiceEvents = table('invoice_events', {
  accountId: text(),
  invoiceId: text(),
  id: text(),
  at: integer(),
  event: text(),
  doc: json<Json>(),
})
const addEvent = invoiceEvents.insert()

const usageRows = shape({
  month: integer(),
  forAccountId: text(),
  amount: integer(),
  quantity: integer(),
  unit: text(),
})

const itemised = itemisedSources.map((source) => `'${source}'`).join(', ')

// The sums of months, less what is on documents.
const selectUsage = `SELECT month, for_account_id AS "forAccountId", amount, quantity, unit FROM (
  SELECT m.month, m.for_account_id,
      m.amount - CAST(coalesce((SELECT sum(u.amount) FROM invoice_usage u WHERE u.account_id = m.account_id
        AND u.month = m.month AND u.source_service = m.source_service
        AND u.for_account_id = m.for_account_id), 0) AS BIGINT) AS amount,
      m.usage_quantity - CAST(coalesce((SELECT sum(u.quantity) FROM invoice_usage u WHERE u.account_id = m.account_id
        AND u.month = m.month AND u.source_service = m.source_service
        AND u.for_account_id = m.for_account_id), 0) AS BIGINT) AS quantity,
      m.usage_unit AS unit
    FROM ledger_months m WHERE m.account_id = $1 AND m.source_service = '${usageSource}' AND m.month < $2) AS months
  WHERE amount <> 0 ORDER BY month, for_account_id`

const monthSums = shape({ month: integer(), amount: integer() })

const selectUninvoiced = `SELECT month, CAST(sum(amount) AS BIGINT) AS amount FROM ledger_months
  WHERE account_id = $1
    AND source_service NOT IN (${itemised}, '${usageSource}', 'payments', '${rolloverService}')
  GROUP BY month`

const takeNumber = `INSERT INTO invoice_numbers (issuer_id, series, last) VALUES ($1, $2, 1)
  ON CONFLICT (issuer_id, series) DO UPDATE SET last = invoice_numbers.last + 1`

/** `place`: the column between the ids and the number. */
const insertDocument = (table: string, place: string, type: string) => `INSERT INTO ${table}
    (account_id, id, ${place}, number_prefix, issued, total, doc, issuer_id, series, number_value)
  SELECT $1, $2, CAST($3 AS ${type}), $4, CAST($5 AS BIGINT), CAST($6 AS BIGINT), $7, issuer_id, series, last
    FROM invoice_numbers WHERE issuer_id = $8 AND series = $9
  ON CONFLICT DO NOTHING`

const insertInvoice = insertDocument('invoices', 'month', 'INTEGER')
const insertNote = insertDocument('credit_notes', 'invoice_id', 'TEXT')

interface InvoicePage {
  accountId: string
  status: string | undefined
  after?: readonly [string, string]
  limit: number
  descending: boolean
}

/** A document to be issued: the write assigns its number. */
export interface Issue<Doc> {
  accountId: string
  id: string
  issuerId: string
  series: string
  prefix: string
  /** Gregorian seconds. */
  issued: number
  doc: Doc
}

/** Ledger entries and sums of usage that a document covers. */
interface Covered {
  accountId: string
  documentId: string
  entryIds: readonly string[]
  usage: readonly UsageSum[]
}

/** The event of a new invoice. Its number is not known yet. */
const rowText = (
  { id, doc: { period, total, currency, due }, issued }: Issue<InvoiceDoc>,
  status: IssuedStatus,
) => JSON.stringify({ id, status, period, total: dollarsOfUnits(total), currency, issued, due })

const documentValues = (issue: Issue<InvoiceDoc | CreditNoteDoc>, place: number | string) => {
  const { accountId, id, prefix, issued, doc, issuerId, series } = issue
  return [accountId, id, place, prefix, issued, doc.total, JSON.stringify(doc), issuerId, series]
}

const readingInvoices = ({ all }: Store) => {
  const find = async (accountId: string, id: string): Promise<InvoiceDocument | undefined> =>
    toInvoices(await all(`${selectInvoices} WHERE i.account_id = $1 AND i.id = $2`, [accountId, id]))[0]

  return {
    find,

    async get(accountId: string, id: string): Promise<InvoiceDocument> {
      const found = await find(accountId, id)
      if (!found) throw failure(badIdentifier, { cause: id })
      return found
    },

    async page({ accountId, status, after, limit, descending }: InvoicePage): Promise<InvoiceDocument[]> {
      const { behind, order } = keyset(['i.issued', 'i.id'], descending)
      const params: (string | number)[] = [accountId, limit]
      const terms = ['i.account_id = $1']
      if (status !== undefined) terms.push(`s.status = $${params.push(status)}`)
      const start = timedPlace(after)
      if (start) terms.push(behind(params.push(start.time, start.mark) - 1))
      const sql = `${selectInvoices} WHERE ${terms.join(' AND ')} ORDER BY ${order} LIMIT $2`
      return toInvoices(await all(sql, params))
    },

    /** Unpaid invoices in the order in which money pays them; uncollectible ones come last. */
    async unpaid(accountId: string): Promise<InvoiceDocument[]> {
      const sql = `${selectInvoices} WHERE i.account_id = $1 AND s.status IN ('open', 'uncollectible')
        ORDER BY s.status, i.issued, i.id`
      return toInvoices(await all(sql, [accountId]))
    },

    /** The monthly sums, in units, of ledgers whose entries are not invoiced. */
    async uninvoiced(accountId: string) {
      return monthSums.list(await all(selectUninvoiced, [accountId]))
    },

    async usageBefore(accountId: string, month: number): Promise<UsageSum[]> {
      return usageRows.list(await all(selectUsage, [accountId, month]))
    },

    async eventsOf(accountId: string, invoiceId: string): Promise<InvoiceEvent[]> {
      const sql = `SELECT ${invoiceEvents.columns} FROM invoice_events WHERE account_id = $1 AND invoice_id = $2 ORDER BY at, id`
      return invoiceEvents.list(await all(sql, [accountId, invoiceId]))
    },

    async notesOf(accountId: string, invoiceId: string): Promise<CreditNote[]> {
      const sql = `SELECT ${noteRows.columns} FROM credit_notes WHERE account_id = $1 AND invoice_id = $2
        ORDER BY issued, number_value`
      return noteRows
        .list(await all(sql, [accountId, invoiceId]))
        .map(({ numberPrefix: prefix, numberValue: value, ...note }) => ({
          ...note,
          number: { prefix, value },
        }))
    },
  }
}

const issuingDocuments = ({ words }: Store) => ({
  /** There is one invoice for each account, month and bookkeeper. */
  issue(
    set: ChangeSet,
    issue: Issue<InvoiceDoc>,
    { month, status, attempt }: Pick<InvoiceDocument, 'month' | 'attempt'> & { status: IssuedStatus },
  ) {
    const { accountId, id, issuerId, series } = issue
    const after = rowText(issue, status)
    const alreadyBooked = () => failure(bookedAlready, {})
    set
      .run(takeNumber, [issuerId, series])
      .run(insertInvoice, documentValues(issue, month), { rows: 1, orElse: alreadyBooked })
      .run(
        'INSERT INTO invoice_states (account_id, id, status, credited, attempt) VALUES ($1, $2, $3, 0, $4) ON CONFLICT DO NOTHING',
        [accountId, id, status, attempt],
      )
      .record({ accountId, kind: 'invoice', id, action: 'created', event: 'invoice.issued', after })
    if (status === 'paid') set.happened({ accountId, type: 'invoice.paid', kind: 'invoice', id, after })
  },

  issueNote(set: ChangeSet, invoiceId: string, issue: Issue<CreditNoteDoc>) {
    const { accountId, id, issuerId, series } = issue
    set
      .run(takeNumber, [issuerId, series])
      .run(insertNote, documentValues(issue, invoiceId), { rows: 1, orElse: conflict })
      .record({ accountId, kind: 'credit_note', id, action: 'created' })
  },

  /** Two documents cannot cover the same entry: the second one fails. */
  cover(set: ChangeSet, { accountId, documentId, entryIds, usage }: Covered) {
    set.statements.push(
      ...words.forEachRow({
        shape: { entry_id: 'text' },
        rows: entryIds.map((entry_id) => ({ entry_id })),
        params: [accountId, documentId],
        sql: (given) => `INSERT INTO invoice_entries (account_id, entry_id, document_id)
          SELECT CAST($1 AS TEXT), given.entry_id, CAST($2 AS TEXT) FROM ${given} WHERE true ON CONFLICT DO NOTHING`,
        orElse: conflict,
      }),
    )
    for (const { month, forAccountId, amount, quantity } of usage)
      set.run(
        `INSERT INTO invoice_usage (account_id, month, source_service, for_account_id, document_id, amount, quantity)
          VALUES ($1, $2, '${usageSource}', $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
        [accountId, month, forAccountId, documentId, amount, quantity],
      )
  },
})

export type InvoiceStore = ReturnType<typeof createInvoiceStore>

export const createInvoiceStore = (store: Store) => ({
  ...readingInvoices(store),
  ...issuingDocuments(store),

  /** Changes the state of an invoice. Fails as a conflict if it has changed since it was read. */
  move(
    set: ChangeSet,
    before: InvoiceDocument,
    after: Partial<Pick<InvoiceDocument, 'credited' | 'attempt'>> & { status: IssuedStatus },
  ) {
    const { accountId, id, status, credited, attempt } = before
    const next = { credited, attempt, ...after }
    const isPaidNow = next.status === 'paid' && status !== 'paid'
    set
      .run(
        `UPDATE invoice_states SET status = $3, credited = $4, attempt = $5
          WHERE account_id = $1 AND id = $2 AND status = $6 AND credited = $7 AND attempt = $8`,
        [accountId, id, next.status, next.credited, next.attempt, status, credited, attempt],
        { rows: 1, orElse: conflict },
      )
      .record({
        accountId,
        kind: 'invoice',
        id,
        action: 'edited',
        ...(isPaidNow ? { event: 'invoice.paid' } : {}),
        before: JSON.stringify(invoiceRow(before)),
        after: JSON.stringify(invoiceRow({ ...before, ...next })),
      })
  },

  /** Adds to the events of an invoice. */
  tell(
    set: ChangeSet,
    { accountId, id }: Pick<InvoiceDocument, 'accountId' | 'id'>,
    event: string,
    doc: Json = {},
  ) {
    const now = store.clock.now()
    const at = gregorianOfUnix(now / 1000)
    set.add(addEvent({ accountId, invoiceId: id, id: newId(now), at, event, doc }))
  },

  /** Runs the waiting jobs of a kind now, and once more if one is running. */
  hurry: (set: ChangeSet, accountId: string, kind: string) =>
    set.run(
      `UPDATE work SET due_at = $3, marks = marks + 1
        WHERE kind = $1 AND account_id = $2 AND state = 'waiting'`,
      [kind, accountId, store.clock.now()],
    ),
})
