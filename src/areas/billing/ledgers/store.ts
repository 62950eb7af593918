import { type Failure, failure } from '../../../lib/failure.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { gregorianOfUnix, monthBefore } from '../../../lib/gregorian.ts'
import { maxUnits } from '../../../lib/money.ts'
import { timedPlace } from '../../../lib/time-key.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Row } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { bookedAlready } from './failures.ts'
import {
  counterBook,
  type Entry,
  type EntryDetails,
  type Excess,
  type LedgerBooking,
  monthNumber,
  rolloverId,
  rolloverService,
  type SourceSum,
  sumOf,
} from './rules.ts'
import { ledgerResponse } from './told.ts'

/** The lowest balance that a booking may leave, in units, and how it fails otherwise. */
interface Floor {
  units: number
  orElse: () => Failure
}

/** What a booking has to respect that somebody asks for. Whatever was used without being asked for is booked anyway. */
interface Restraint {
  floor?: Floor
  /** How it fails when it could not be shown what it leaves. */
  tooLarge(excess: Excess): Failure
}

export interface EntryPage {
  accountId: string
  service: string
  /** Gregorian seconds, both inclusive. */
  from: number
  to: number
  after?: readonly [string, string]
  limit: number
  descending: boolean
  long: boolean
}

/** A time whose entries are added up. Gregorian seconds, both inclusive. */
interface SumWindow {
  from: number
  to: number
  /** The month that begins with the time, like 202611; undefined when the time begins within a month. */
  opening: number | undefined
}

const openBalance =
  'INSERT INTO ledger_balances (account_id, units, month) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING'

const entryShape = {
  id: 'text',
  source_service: 'text',
  source_id: 'text',
  amount: 'integer',
  usage_type: 'text',
  usage_quantity: 'integer',
  usage_unit: 'text',
  for_account_id: 'text',
  doc: 'text',
  // What the balance has moved by since before the entry.
  moved: 'integer',
  // How many entries come after it.
  behind: 'integer',
} as const

const insertEntries = (given: string) => `INSERT INTO ledger_entries
    (account_id, id, created, month, source_service, source_id, amount, usage_type, usage_quantity, usage_unit,
      for_account_id, available_before, doc, ordinal, made_at)
  SELECT account_id, given.id, CAST($2 AS BIGINT), CAST($3 AS INTEGER), given.source_service, given.source_id,
      given.amount, given.usage_type, given.usage_quantity, given.usage_unit, given.for_account_id,
      units - given.moved, given.doc, entries - given.behind, CAST($4 AS BIGINT)
    FROM ledger_balances, ${given} WHERE account_id = $1
  ON CONFLICT DO NOTHING`

// Only of balances of earlier months: whoever comes second in a month finds nothing to carry over.
const insertRollover = `INSERT INTO ledger_entries
    (account_id, id, created, month, source_service, source_id, amount, usage_type, usage_quantity, usage_unit,
      for_account_id, available_before, doc, ordinal, made_at)
  SELECT account_id, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS INTEGER), '${rolloverService}', CAST($5 AS TEXT),
      units, 'month', 1, 'month', account_id, units, CAST($6 AS TEXT), entries + 1, CAST($7 AS BIGINT)
    FROM ledger_balances WHERE account_id = $1 AND month < $4 AND units <> 0
  ON CONFLICT DO NOTHING`

const insertRolloverLeg = (
  book: string,
  sign: '' | '-',
) => `INSERT INTO ledger_postings (account_id, entry_id, book, amount)
  SELECT account_id, CAST($2 AS TEXT), '${book}', ${sign}units
    FROM ledger_balances WHERE account_id = $1 AND month < $3 AND units <> 0
  ON CONFLICT DO NOTHING`

const sumRollover = `INSERT INTO ledger_months
    (account_id, month, source_service, for_account_id, amount, usage_type, usage_quantity, usage_unit)
  SELECT account_id, CAST($2 AS INTEGER), '${rolloverService}', account_id, units, 'month', 1, 'month'
    FROM ledger_balances WHERE account_id = $1 AND month < $2 AND units <> 0
  ON CONFLICT DO NOTHING`

const sumEntry = `INSERT INTO ledger_months
    (account_id, month, source_service, for_account_id, amount, usage_type, usage_quantity, usage_unit)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (account_id, month, source_service, for_account_id) DO UPDATE SET
    amount = ledger_months.amount + excluded.amount,
    usage_quantity = ledger_months.usage_quantity + excluded.usage_quantity`

const legShape = { entry_id: 'text', book: 'text', amount: 'integer' } as const

const insertLegs = (given: string) => `INSERT INTO ledger_postings (account_id, entry_id, book, amount)
  SELECT CAST($1 AS TEXT), given.entry_id, given.book, given.amount FROM ${given} WHERE true ON CONFLICT DO NOTHING`

/** Larger numbers cannot be read: they are shown as the largest one. */
const shown = (number: string) =>
  `CASE WHEN ${number} > ${Number.MAX_SAFE_INTEGER} THEN ${Number.MAX_SAFE_INTEGER}
    WHEN ${number} < -${Number.MAX_SAFE_INTEGER} THEN -${Number.MAX_SAFE_INTEGER} ELSE ${number} END`

const entryColumns = `id, created, made_at, ordinal, source_service, source_id, amount, usage_type, usage_quantity,
  usage_unit, ${shown('available_before')} AS available_before, doc`

// By name, for an index that has these alone.
const selectsOfRequest = ['prorations', 'services', 'taxes'].map(
  (service) => `SELECT ${entryColumns} FROM ledger_entries
    WHERE account_id = $1 AND source_service = '${service}' AND source_id >= $2 AND source_id < $3 ORDER BY ordinal`,
)

// To stand behind what moved the balance: by then nobody else can move anything of the account.
const holdBalance = (condition: string) =>
  `UPDATE ledger_balances SET units = units WHERE account_id = $1 AND ${condition}`

// Sales that are not booked yet will be: the money has moved.
const balanceWithOpenSales = `units + COALESCE((SELECT sum(amount) FROM transactions
    WHERE account_id = $1 AND type = 'sale' AND status IN ('pending', 'unknown')), 0)`

const sumOfMonth = (
  column: 'amount' | 'usage_quantity',
) => `COALESCE((SELECT sum(${column}) FROM ledger_months
    WHERE account_id = $1 AND month = $2 AND source_service = $3), 0)`

const usageOf = (row: Row) => ({
  type: row.usage_type as string,
  quantity: row.usage_quantity as number,
  unit: row.usage_unit as string,
})

const toEntry = (row: Row): Entry => ({
  id: row.id as string,
  created: row.created as number,
  madeAt: row.made_at as number,
  ordinal: row.ordinal as number,
  source: { service: row.source_service as string, id: row.source_id as string },
  usage: usageOf(row),
  amount: row.amount as number,
  availableBefore: row.available_before as number,
  details: JSON.parse(row.doc as string) as EntryDetails,
})

const toSum = (row: Row): SourceSum => ({
  service: row.source_service as string,
  forAccountId: row.for_account_id as string,
  amount: row.amount as number,
  usage: usageOf(row),
})

const totalOf = (bookings: readonly LedgerBooking[]) => bookings.reduce((sum, { amount }) => sum + amount, 0)

const alreadyBooked = () => failure(bookedAlready, {})

const maxBooksKnown = 20_000

export const createLedgerStore = ({ all, scan, words }: Store) => {
  /** The month that books are known to be open for. Balances are never removed, and their months never go back. */
  const known = new Map<string, number>()

  const isOpen = (accountId: string, month: number) => (known.get(accountId) ?? 0) >= month

  /** Opens the account's book for a month: what it had before is carried over, once. */
  const openMonth = (set: ChangeSet, accountId: string, month: number, at: number) => {
    if (isOpen(accountId, month)) return
    const id = rolloverId(month)
    const details: EntryDetails = { description: `Balance of ${monthBefore(month)}` }
    set
      .run(openBalance, [accountId, month])
      .run(insertRollover, [
        accountId,
        id,
        gregorianOfUnix(at / 1000),
        month,
        String(monthBefore(month)),
        JSON.stringify(details),
        at,
      ])
      .run(insertRolloverLeg('account', ''), [accountId, id, month])
      .run(insertRolloverLeg(counterBook(rolloverService), '-'), [accountId, id, month])
      .run(sumRollover, [accountId, month])
      .run(
        'UPDATE ledger_balances SET month = $2, entries = entries + 1 WHERE account_id = $1 AND month < $2',
        [accountId, month],
      )
  }

  const moveBalance = (
    set: ChangeSet,
    accountId: string,
    bookings: readonly LedgerBooking[],
    floor?: Floor,
  ) => {
    const move = 'UPDATE ledger_balances SET units = units + $2, entries = entries + $3 WHERE account_id = $1'
    const params = [accountId, totalOf(bookings), bookings.length]
    return floor
      ? set.run(`${move} AND units + $2 >= $4`, [...params, floor.units], { rows: 1, orElse: floor.orElse })
      : set.run(move, params, { rows: 1, orElse: alreadyBooked })
  }

  /** Adds entries and their legs, in the order in which they move the balance. Answers with the ids of the entries. */
  const addEntries = (set: ChangeSet, accountId: string, bookings: readonly LedgerBooking[], at: number) => {
    const month = monthNumber(at)
    let moved = totalOf(bookings)
    let behind = bookings.length
    const entries = bookings.map(({ source, usage, amount, identity, about, details }) => {
      behind -= 1
      const entry = {
        id: `${month}-${identity}`,
        source_service: source.service,
        source_id: source.id,
        amount,
        usage_type: usage.type,
        usage_quantity: usage.quantity,
        usage_unit: usage.unit,
        for_account_id: about.id,
        doc: JSON.stringify(details),
        moved,
        behind,
      }
      moved -= amount
      return entry
    })
    for (const { doc } of entries) set.keepText('ledger', doc)
    const legs = entries.flatMap(({ id, source_service, amount }) => [
      { entry_id: id, book: 'account', amount },
      { entry_id: id, book: counterBook(source_service), amount: -amount },
    ])
    const params = [accountId, gregorianOfUnix(at / 1000), month, at]
    set.statements.push(
      ...words.forEachRow({
        shape: entryShape,
        rows: entries,
        params,
        sql: insertEntries,
        orElse: alreadyBooked,
      }),
      ...words.forEachRow({
        shape: legShape,
        rows: legs,
        params: [accountId],
        sql: insertLegs,
        orElse: alreadyBooked,
      }),
    )
    return entries.map(({ id }) => id)
  }

  const addSum = (set: ChangeSet, accountId: string, month: number, sum: SourceSum) => {
    const { service, forAccountId, amount, usage } = sum
    const values = [service, forAccountId, amount, usage.type, usage.quantity, usage.unit]
    set.run(sumEntry, [accountId, month, ...values])
  }

  /** Fails the change set unless what it leaves can be shown. Whatever brings a sum nearer to nothing is let through. */
  const requireShowable = (
    set: ChangeSet,
    accountId: string,
    month: number,
    { source, amount }: LedgerBooking,
    excess: Restraint['tooLarge'],
  ) => {
    const [balance, sum] =
      amount < 0
        ? [`units >= -${maxUnits}`, `${sumOfMonth('amount')} >= -${maxUnits}`]
        : [`${balanceWithOpenSales} <= ${maxUnits}`, `${sumOfMonth('amount')} <= ${maxUnits}`]
    const quantity = `${sumOfMonth('usage_quantity')} <= ${maxUnits}`
    const params = [accountId, month, source.service]
    set
      .run(holdBalance(`${balance} AND ${sum}`), params, { rows: 1, orElse: () => excess('amount') })
      .run(holdBalance(quantity), params, { rows: 1, orElse: () => excess('quantity') })
  }

  /** Adds everything that bookings are, which move the balance once. Answers with the ids of the entries. */
  const bookAll = (
    set: ChangeSet,
    accountId: string,
    bookings: readonly LedgerBooking[],
    at: number,
    restraint?: Restraint,
  ): readonly string[] => {
    // Added up they would not be exact any more.
    if (bookings.length > 1 && !Number.isSafeInteger(totalOf(bookings)))
      return bookings.flatMap((booking) => bookAll(set, accountId, [booking], at, restraint))
    const month = monthNumber(at)
    openMonth(set, accountId, month, at)
    moveBalance(set, accountId, bookings, restraint?.floor)
    const ids = addEntries(set, accountId, bookings, at)
    const keyOf = ({ source, about }: LedgerBooking) => JSON.stringify([source.service, about.id])
    for (const same of Map.groupBy(bookings, keyOf).values())
      addSum(set, accountId, month, sumOf(same as [LedgerBooking, ...LedgerBooking[]]))
    if (restraint) {
      const alike = ({ source, amount }: LedgerBooking) => JSON.stringify([source.service, amount < 0])
      for (const [booking] of Map.groupBy(bookings, alike).values())
        requireShowable(set, accountId, month, booking as LedgerBooking, restraint.tooLarge)
    }
    return ids
  }

  return {
    openMonth,

    /** Looks whether the account's book is open at a time in Unix milliseconds: bookings then leave six statements out. */
    async learnMonth(accountId: string, at: number) {
      if (isOpen(accountId, monthNumber(at))) return
      const [row] = await all('SELECT month FROM ledger_balances WHERE account_id = $1', [accountId])
      if (!row) return
      known.set(accountId, row.month as number)
      evictOldest(known, maxBooksKnown)
    },

    /** Adds everything that a booking is to a change set. `at` is in Unix milliseconds. Answers with the entry's id. */
    book(
      set: ChangeSet,
      accountId: string,
      booking: LedgerBooking,
      at: number,
      restraint?: Restraint,
    ): string {
      const [id] = bookAll(set, accountId, [booking], at, restraint) as [string]
      set.record(ledgerResponse(accountId, id, booking))
      return id
    },

    /** Fails the change set unless an open sale in it can be booked and shown in the end, beside all other open ones. */
    requireRoomForSale(set: ChangeSet, accountId: string, at: number, orElse: () => Failure) {
      set
        .run(openBalance, [accountId, monthNumber(at)])
        .run(holdBalance('true'), [accountId])
        .run(holdBalance(`${balanceWithOpenSales} <= ${maxUnits}`), [accountId], { rows: 1, orElse })
    },

    /** The same for many bookings of one account. Answers with their ids; the change set has to say what they are. */
    bookMany: bookAll,

    async balance(accountId: string): Promise<number> {
      const [row] = await all(
        `SELECT ${shown('units')} AS units FROM ledger_balances WHERE account_id = $1`,
        [accountId],
      )
      return (row?.units as number | undefined) ?? 0
    },

    async find(accountId: string, id: string): Promise<Entry | undefined> {
      const [row] = await all(
        `SELECT ${entryColumns} FROM ledger_entries WHERE account_id = $1 AND id = $2`,
        [accountId, id],
      )
      return row && toEntry(row)
    },

    /** What a request was charged at once, and what of that went back, in its order. */
    async ofRequest(accountId: string, requestId: string): Promise<Entry[]> {
      const found = selectsOfRequest.map((sql) => all(sql, [accountId, `${requestId}/`, `${requestId}0`]))
      return (await Promise.all(found)).flatMap((rows) => rows.map(toEntry))
    },

    async page({
      accountId,
      service,
      from,
      to,
      after,
      limit,
      descending,
      long,
    }: EntryPage): Promise<Entry[]> {
      const side = descending ? '<' : '>'
      const order = descending ? 'DESC' : 'ASC'
      const place = timedPlace(after)
      const keyset = place ? `AND (created, ordinal) ${side} ($6, $7)` : ''
      const params = [
        accountId,
        service,
        from,
        to,
        limit,
        ...(place ? [place.time, /^\d{1,15}$/.test(place.mark) ? Number(place.mark) : 0] : []),
      ]
      const sql = `SELECT ${entryColumns} FROM ledger_entries
        WHERE account_id = $1 AND source_service = $2 AND created BETWEEN $3 AND $4 ${keyset}
        ORDER BY created ${order}, ordinal ${order} LIMIT $5`
      return (await (long ? scan(sql, params) : all(sql, params))).map(toEntry)
    },

    /**
     * What each source comes to in some time. A balance that was carried over counts only where the time begins: in
     * the `opening` month. Later ones carry what is in that time anyway.
     */
    async sums(accountId: string, { from, to, opening }: SumWindow): Promise<SourceSum[]> {
      const rows = await scan(
        `SELECT source_service, min(for_account_id) AS for_account_id, CAST(${shown('sum(amount)')} AS BIGINT) AS amount,
            min(usage_type) AS usage_type, CAST(${shown('sum(usage_quantity)')} AS BIGINT) AS usage_quantity,
            min(usage_unit) AS usage_unit
          FROM ledger_entries WHERE account_id = $1 AND created BETWEEN $2 AND $3
            AND (source_service <> '${rolloverService}' OR month = $4)
          GROUP BY source_service ORDER BY source_service`,
        [accountId, from, to, opening ?? 0],
      )
      return rows.map(toSum)
    },

    /** What each source comes to in a month, for each account that it is about. */
    async month(accountId: string, month: number): Promise<SourceSum[]> {
      const rows = await all(
        `SELECT source_service, for_account_id, ${shown('amount')} AS amount, usage_type,
            ${shown('usage_quantity')} AS usage_quantity, usage_unit
          FROM ledger_months WHERE account_id = $1 AND month = $2 ORDER BY for_account_id, source_service`,
        [accountId, month],
      )
      return rows.map(toSum)
    },

    /** Accounts whose book is not open for a month yet. */
    async behind(month: number, limit: number): Promise<string[]> {
      const rows = await all(
        'SELECT account_id FROM ledger_balances WHERE month < $1 ORDER BY month LIMIT $2',
        [month, limit],
      )
      return rows.map((row) => row.account_id as string)
    },
  }
}
