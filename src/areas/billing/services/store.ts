import type { Failure } from '../../../lib/failure.ts'
import { type ChangeSet, conflict } from '../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../storage/collection.ts'
import { requireRecord, type StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, json, optional, type RowOf, table, text } from '../../../storage/table.ts'
import { importingInto } from '../../adoption.ts'
import { assignmentClaim } from './plans/store.ts'
import type { ChargedItem, PriceSpan } from './pricing/proration.ts'
import type { ServicesDoc } from './rules.ts'

export type ServicesRecord = StoredRecord<ServicesDoc, object>

const servicesKind = 'services'

/** One record, with the account's id, for each account with plans or other services. */
export const createServicesStore = (store: Store) => {
  const collection = createCollection<ServicesDoc, object>(store, {
    kind: servicesKind,
    sortKey: () => '',
    row: () => ({}),
    claims: ({ accountId, doc }) =>
      Object.entries(doc.plans ?? {}).map(([planId, { vendor_id: vendorId }]) => ({
        ...assignmentClaim(vendorId, planId, accountId),
        orElse: conflict,
      })),
  })

  return {
    /** Imports services. Payment methods and customer ids stay. */
    adopting: importingInto(collection, ({ doc }, before) => {
      const { payment_tokens, customers } = before?.doc ?? {}
      return {
        doc: { ...doc, ...(payment_tokens ? { payment_tokens } : {}), ...(customers ? { customers } : {}) },
        hidden: {},
      }
    }),

    find: (accountId: string): Promise<ServicesRecord | undefined> => collection.find(accountId, accountId),

    put(set: ChangeSet, accountId: string, before: ServicesRecord | undefined, doc: ServicesDoc) {
      if (!before) requireRecord(set, { accountId, kind: 'account', id: accountId })
      return putDocument(set, collection, { accountId, id: accountId }, { before, doc, hidden: {} })
    },
  }
}

/** The turn of an account when it was priced. */
interface SeenTurn {
  accountId: string
  turn: number
}

const takeTurn = `INSERT INTO payer_turns (account_id, turn) VALUES ($1, 1)
  ON CONFLICT (account_id) DO UPDATE SET turn = payer_turns.turn + 1 WHERE payer_turns.turn = $2`

const passTurn = `INSERT INTO payer_turns (account_id, turn) VALUES ($1, 1)
  ON CONFLICT (account_id) DO UPDATE SET turn = payer_turns.turn + 1`

/** A write that depends on the priced counts of an account fails if they have changed. */
export const createTurnStore = ({ all }: Store) => ({
  async of(accountId: string): Promise<number> {
    const [row] = await all<{ turn: number }>('SELECT turn FROM payer_turns WHERE account_id = $1', [
      accountId,
    ])
    return row?.turn ?? 0
  },

  /** Makes all who have priced the account price it again. */
  pass: (set: ChangeSet, accountId: string) => set.run(passTurn, [accountId]),

  /** The statements that take turns, always in the same order, and whether an error is a lost turn. */
  take(seen: readonly SeenTurn[]) {
    let lost: Failure | undefined
    const orElse = () => {
      lost = conflict()
      return lost
    }
    const ordered = [...seen].sort((a, b) => (a.accountId < b.accountId ? -1 : 1))
    return {
      statements: ordered.map(({ accountId, turn }) => ({
        sql: takeTurn,
        params: [accountId, turn],
        expect: { rows: 1, orElse },
      })),
      isLost: (error: unknown) => error !== undefined && error === lost,
    }
  },
})

const quotes = table('charge_quotes', {
  accountId: text(),
  caller: text(),
  request: text(),
  quoteId: text(),
  today: integer(),
  monthly: integer(),
  at: integer(),
})
const putQuote = quotes.upsert('accountId', 'caller', 'request')

type QuoteRow = RowOf<typeof quotes>

/** The quotes of a day: the last one of each caller and purchase, and each by its id. */
export const createQuoteStore = ({ all, writeUnrecorded }: Store) => ({
  async find({ accountId, caller, request }: Pick<QuoteRow, 'accountId' | 'caller' | 'request'>) {
    const sql = `SELECT ${quotes.columns} FROM charge_quotes WHERE account_id = $1 AND caller = $2 AND request = $3`
    return quotes.first(await all(sql, [accountId, caller, request]))
  },

  put: (...rows: readonly QuoteRow[]) => writeUnrecorded(rows.map((row) => putQuote(row))),
})

const chargedItems = table('charged_items', {
  accountId: text(),
  month: integer(),
  item: text(),
  /** Units. */
  amount: integer(),
  prices: optional(json<readonly PriceSpan[]>()),
})
const itemCharges = chargedItems.pick('item', 'amount', 'prices')
/** Adds the amount. Without prices those from before stay. */
const addCharge = chargedItems.insert(`ON CONFLICT (account_id, month, item) DO UPDATE SET
  amount = charged_items.amount + excluded.amount, prices = COALESCE(excluded.prices, charged_items.prices)`)

type ChargedRow = Omit<RowOf<typeof chargedItems>, 'prices'> & Pick<ChargedItem, 'prices'>

/** The charges of accounts in a month, with prices, by item. */
export const createChargedStore = ({ all }: Store) => ({
  async of(accountId: string, month: number): Promise<Map<string, ChargedItem>> {
    const sql = `SELECT ${itemCharges.columns} FROM charged_items WHERE account_id = $1 AND month = $2`
    const rows = itemCharges.list(await all(sql, [accountId, month]))
    return new Map(rows.map(({ item, ...charge }) => [item, charge]))
  },

  add: (set: ChangeSet, charge: ChargedRow) => set.add(addCharge({ prices: undefined, ...charge })),
})
