import { type Failure, failure } from '../../../lib/failure.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { gregorianOfUnix, monthBefore } from '../../../lib/gregorian.ts'
import { elementAt, zip } from '../../../lib/list.ts'
import { dollarsOfUnits, maxUnits } from '../../../lib/money.ts'
import { monthNumber } from '../../../lib/time-key.ts'
import type { Change, ChangeSet } from '../../../storage/change-set.ts'
import type { Row } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, json, placeholders, type RowOf, shape, text } from '../../../storage/table.ts'
import { readTimePage, type TimePage } from '../../../storage/time-page.ts'
import { bookedAlready } from './failures.ts'
import {
  counterBook,
  type EntryDetails,
  type Excess,
  type LedgerBooking,
  type LedgerEntryRow,
  rolloverId,
  rolloverService,
  type SourceSum,
  shownDetails,
  sourceSums,
} from './rules.ts'

/** The lowest balance, in units, that a booking may leave. */
interface Floor {
  units: number
  orElse: () => Failure
}

/** The limits of a booking that a client requests. Usage is booked without limits. */
interface BookingLimits {
  floor?: Floor
  /** The failure if the resulting sums are too large to be shown. */
  tooLarge(excess: Excess): Failure
}

interface EntryPage extends TimePage {
  service: string
}

const openBalance =
  'INSERT INTO ledger_balances (account_id, units, month) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING'

/** What is inserted of every entry. */
export const contentShape = {
  id: 'text',
  source_service: 'text',
  source_id: 'text',
  amount: 'integer',
  usage_type: 'text',
  usage_quantity: 'integer',
  usage_unit: 'text',
  for_account_id: 'text',
  doc: 'text',
} as const

/** `about`: the account that it is about. */
export const contentOf = (
  id: string,
  { about, ...entry }: Omit<LedgerBooking, 'identity' | 'about'> & { about: { id: string } },
) => ({
  id,
  source_service: entry.source.service,
  source_id: entry.source.id,
  amount: entry.amount,
  usage_type: entry.usage.type,
  usage_quantity: entry.usage.quantity,
  usage_unit: entry.usage.unit,
  for_account_id: about.id,
  doc: JSON.stringify(entry.details),
})

// `moved`: the change of the balance by this entry and those after it in the statement; `behind`: the number of those.
const entryShape = { ...contentShape, moved: 'integer', behind: 'integer' } as const

const insertEntries = (given: string) => `INSERT INTO ledger_entries
    (account_id, id, created, month, source_service, source_id, amount, usage_type, usage_quantity, usage_unit,
      for_account_id, available_before, doc, ordinal, made_at)
  SELECT account_id, given.id, CAST($2 AS BIGINT), CAST($3 AS INTEGER), given.source_service, given.source_id,
      given.amount, given.usage_type, given.usage_quantity, given.usage_unit, given.for_account_id,
      units - given.moved, given.doc, entries - given.behind, CAST($4 AS BIGINT)
    FROM ledger_balances, ${given} WHERE account_id = $1
  ON CONFLICT DO NOTHING`

// Only balances of earlier months: a second attempt in the same month finds nothing to carry over.
const insertRollover = `INSERT INTO ledger_entries
    (account_id, id, created, month, source_service, source_id, amount, usage_type, usage_quantity, usage_unit,
      for_account_id, available_before, doc, ordinal, made_at)
  SELECT account_id, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS INTEGER), '${rolloverService}', CAST($5 AS TEXT),
      units, 'month', 1, 'month', account_id, units, CAST($6 AS TEXT), entries + 1, CAST($7 AS BIGINT)
    FROM ledger_balances WHERE account_id = $1 AND month < $4 AND units <> 0
  ON CONFLICT DO NOTHING`

// $2 is the id of the entry, $3 the month that opens.
const insertRolloverLegs = [
  ['account', 'units'],
  [counterBook(rolloverService), '-units'],
].map(
  ([book, amount]) => `INSERT INTO ledger_postings (account_id, entry_id, book, amount)
  SELECT account_id, CAST($2 AS TEXT), '${book}', ${amount}
    FROM ledger_balances WHERE account_id = $1 AND month < $3 AND units <> 0
  ON CONFLICT DO NOTHING`,
)

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

export const legShape = { entry_id: 'text', book: 'text', amount: 'integer' } as const

/** The two postings of each entry: in the book of the account and in its counter book. */
export const legsOf = (entries: readonly { id: string; source_service: string; amount: number }[]) =>
  entries.flatMap(({ id, source_service, amount }) => [
    { entry_id: id, book: 'account', amount },
    { entry_id: id, book: counterBook(source_service), amount: -amount },
  ])

export const insertLegs = (given: string) => `INSERT INTO ledger_postings (account_id, entry_id, book, amount)
  SELECT CAST($1 AS TEXT), given.entry_id, given.book, given.amount FROM ${given} WHERE true ON CONFLICT DO NOTHING`

/** Limits a number to what JavaScript reads exactly. */
const exactSql = (number: string) =>
  `CASE WHEN ${number} > ${Number.MAX_SAFE_INTEGER} THEN ${Number.MAX_SAFE_INTEGER}
    WHEN ${number} < -${Number.MAX_SAFE_INTEGER} THEN -${Number.MAX_SAFE_INTEGER} ELSE ${number} END`

const entryRows = shape({
  id: text(),
  created: integer(),
  madeAt: integer(),
  ordinal: integer(),
  service: text('source_service'),
  sourceId: text(),
  amount: integer(),
  type: text('usage_type'),
  quantity: integer('usage_quantity'),
  unit: text('usage_unit'),
  availableBefore: integer(exactSql('available_before')),
  details: json<EntryDetails>('doc'),
})

const sumColumns = {
  service: text('source_service'),
  forAccountId: text(),
  amount: integer(exactSql('amount')),
  type: text('usage_type'),
  quantity: integer(exactSql('usage_quantity')),
  unit: text('usage_unit'),
}
const monthSums = shape(sumColumns)
const windowSums = shape({
  ...sumColumns,
  forAccountId: text('min(for_account_id)'),
  amount: integer(`CAST(${exactSql('sum(amount)')} AS BIGINT)`),
  type: text('min(usage_type)'),
  quantity: integer(`CAST(${exactSql('sum(usage_quantity)')} AS BIGINT)`),
  unit: text('min(usage_unit)'),
})

// One statement for each service: each uses the partial index of these services.
const selectsOfRequest = ['prorations', 'services', 'taxes'].map(
  (service) => `SELECT ${entryRows.columns} FROM ledger_entries
    WHERE account_id = $1 AND source_service = '${service}' AND source_id >= $2 AND source_id < $3 ORDER BY ordinal`,
)

// Runs after the balance was moved: from then on no other transaction changes the account.
const requireBalance = (condition: string) =>
  `UPDATE ledger_balances SET units = units WHERE account_id = $1 AND ${condition}`

// Open sales count: their money may have moved already.
const balanceWithOpenSales = `units + COALESCE((SELECT sum(amount) FROM transactions
    WHERE account_id = $1 AND type = 'sale' AND status IN ('pending', 'unknown')), 0)`

const sumOfMonth = (
  column: 'amount' | 'usage_quantity',
) => `COALESCE((SELECT sum(${column}) FROM ledger_months
    WHERE account_id = $1 AND month = $2 AND source_service = $3), 0)`

const entriesIn = (rows: readonly Row[]): LedgerEntryRow[] =>
  entryRows.list(rows).map(({ service, sourceId, type, quantity, unit, ...entry }) => ({
    ...entry,
    source: { service, id: sourceId },
    usage: { type, quantity, unit },
  }))

const toSum = ({ type, quantity, unit, ...sum }: RowOf<typeof monthSums>): SourceSum => ({
  ...sum,
  usage: { type, quantity, unit },
})

const totalOf = (bookings: readonly LedgerBooking[]) => bookings.reduce((sum, { amount }) => sum + amount, 0)

const alreadyBooked = () => failure(bookedAlready, {})

const maxKnownMonths = 20_000

/** Opens months of accounts: carries the balance over, once. */
const createMonthOpening = ({ all }: Store) => {
  /** The last open month of accounts. Balances are never removed, and their months never go back. */
  const openMonths = new Map<string, number>()

  const isOpen = (accountId: string, month: number) => (openMonths.get(accountId) ?? 0) >= month

  return {
    openMonth(set: ChangeSet, accountId: string, month: number, at: number) {
      if (isOpen(accountId, month)) return
      const id = rolloverId(month)
      const before = monthBefore(month)
      const doc = JSON.stringify({ description: `Balance of ${before}` } satisfies EntryDetails)
      set
        .run(openBalance, [accountId, month])
        .run(insertRollover, [accountId, id, gregorianOfUnix(at / 1000), month, String(before), doc, at])
      for (const sql of insertRolloverLegs) set.run(sql, [accountId, id, month])
      set
        .run(sumRollover, [accountId, month])
        .run(
          'UPDATE ledger_balances SET month = $2, entries = entries + 1 WHERE account_id = $1 AND month < $2',
          [accountId, month],
        )
    },

    /** Reads whether the account's month is open at a time in Unix milliseconds: bookings then omit six statements. */
    async learnMonth(accountId: string, at: number) {
      if (isOpen(accountId, monthNumber(at))) return
      const [row] = await all('SELECT month FROM ledger_balances WHERE account_id = $1', [accountId])
      if (!row) return
      openMonths.set(accountId, row.month as number)
      evictOldest(openMonths, maxKnownMonths)
    },
  }
}

const moveBalance = (
  set: ChangeSet,
  accountId: string,
  bookings: readonly LedgerBooking[],
  floor: Floor | undefined,
) => {
  const move = 'UPDATE ledger_balances SET units = units + $2, entries = entries + $3 WHERE account_id = $1'
  const params = [accountId, totalOf(bookings), bookings.length]
  if (floor)
    set.run(`${move} AND units + $2 >= $4`, [...params, floor.units], { rows: 1, orElse: floor.orElse })
  else set.run(move, params, { rows: 1, orElse: alreadyBooked })
}

/** Fails the change set if the resulting sums are too large to be shown. What brings a sum nearer to 0 passes. */
const requireShowable = (
  set: ChangeSet,
  { accountId, month, tooLarge }: { accountId: string; month: number } & Pick<BookingLimits, 'tooLarge'>,
  { source, amount }: LedgerBooking,
) => {
  const [balance, sum] =
    amount < 0
      ? [`units >= -${maxUnits}`, `${sumOfMonth('amount')} >= -${maxUnits}`]
      : [`${balanceWithOpenSales} <= ${maxUnits}`, `${sumOfMonth('amount')} <= ${maxUnits}`]
  const quantity = `${sumOfMonth('usage_quantity')} <= ${maxUnits}`
  const params = [accountId, month, source.service]
  set
    .run(requireBalance(`${balance} AND ${sum}`), params, { rows: 1, orElse: () => tooLarge('amount') })
    .run(requireBalance(quantity), params, { rows: 1, orElse: () => tooLarge('quantity') })
}

const createBooking = ({ words }: Store, openMonth: ReturnType<typeof createMonthOpening>['openMonth']) => {
  /** Adds entries and their postings, in the order in which they move the balance. Returns the ids of the entries. */
  const addEntries = (set: ChangeSet, accountId: string, bookings: readonly LedgerBooking[], at: number) => {
    const month = monthNumber(at)
    let moved = totalOf(bookings)
    const entries = bookings.map((booking, index) => {
      const content = contentOf(`${month}-${booking.identity}`, booking)
      const entry = { ...content, moved, behind: bookings.length - index - 1 }
      moved -= booking.amount
      return entry
    })
    for (const { doc } of entries) set.keepText('ledger', doc)
    const params = [accountId, gregorianOfUnix(at / 1000), month, at]
    const [rows, legs] = [entries, legsOf(entries)]
    const orElse = alreadyBooked
    set.add(
      ...words.forEachRow({ shape: entryShape, rows, params, sql: insertEntries, orElse }),
      ...words.forEachRow({ shape: legShape, rows: legs, params: [accountId], sql: insertLegs, orElse }),
    )
    return entries.map(({ id }) => id)
  }

  /** Adds bookings of one account to a change set that records them. The balance moves once. Returns the ids of the entries. */
  const bookMany = (
    set: ChangeSet,
    accountId: string,
    bookings: readonly LedgerBooking[],
    at: number,
    limits?: BookingLimits,
  ): readonly string[] => {
    // A larger sum would not be exact.
    if (bookings.length > 1 && !Number.isSafeInteger(totalOf(bookings)))
      return bookings.flatMap((booking) => bookMany(set, accountId, [booking], at, limits))
    const month = monthNumber(at)
    openMonth(set, accountId, month, at)
    moveBalance(set, accountId, bookings, limits?.floor)
    const ids = addEntries(set, accountId, bookings, at)
    for (const { service, forAccountId, amount, usage } of sourceSums(bookings)) {
      const { type, quantity, unit } = usage
      set.run(sumEntry, [accountId, month, service, forAccountId, amount, type, quantity, unit])
    }
    if (limits) {
      const alike = ({ source, amount }: LedgerBooking) => JSON.stringify([source.service, amount < 0])
      const common = { accountId, month, tooLarge: limits.tooLarge }
      for (const same of Map.groupBy(bookings, alike).values())
        requireShowable(set, common, elementAt(same, 0))
    }
    return ids
  }

  /** The same with an audit entry for each. `at` is in Unix milliseconds. */
  const bookEach: typeof bookMany = (set, accountId, bookings, at, limits) => {
    const ids = bookMany(set, accountId, bookings, at, limits)
    for (const [id, booking] of zip(ids, bookings)) set.record(bookingChange(accountId, id, booking))
    return ids
  }

  return {
    bookMany,
    bookEach,

    /** Returns the id of the entry. */
    book: (set: ChangeSet, accountId: string, booking: LedgerBooking, at: number, limits?: BookingLimits) =>
      elementAt(bookEach(set, accountId, [booking], at, limits), 0),

    /** Fails the change set if its open sale, with all other open ones, would make the balance too large. */
    requireRoomForSale(set: ChangeSet, accountId: string, at: number, orElse: () => Failure) {
      set
        .run(openBalance, [accountId, monthNumber(at)])
        .run(requireBalance('true'), [accountId])
        .run(requireBalance(`${balanceWithOpenSales} <= ${maxUnits}`), [accountId], { rows: 1, orElse })
    },
  }
}

const createReading = ({ all, scan }: Store) => ({
  async balance(accountId: string): Promise<number> {
    const sql = `SELECT ${exactSql('units')} AS units FROM ledger_balances WHERE account_id = $1`
    const [row] = await all(sql, [accountId])
    return (row?.units as number | undefined) ?? 0
  },

  /** The balances of several accounts in units; none for accounts without bookings. */
  async balances(accountIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await scan<{ account_id: string; units: number }>(
      `SELECT account_id, ${exactSql('units')} AS units FROM ledger_balances
        WHERE account_id IN (${placeholders(accountIds.length)})`,
      accountIds,
    )
    return new Map(rows.map(({ account_id, units }) => [account_id, units]))
  },

  /** The charges to several accounts in each month (202611) from `since` on, in units. Credits that are no payments reduce them. */
  async chargedByMonth(accountIds: readonly string[], since: number) {
    if (accountIds.length === 0) return []
    return scan<{ month: number; units: number }>(
      `SELECT month, CAST(-sum(amount) AS BIGINT) AS units FROM ledger_months
        WHERE account_id IN (${placeholders(accountIds.length, 2)}) AND month >= $1
          AND source_service NOT IN ('payments', '${rolloverService}')
        GROUP BY month`,
      [since, ...accountIds],
    )
  },

  async find(accountId: string, id: string): Promise<LedgerEntryRow | undefined> {
    const sql = `SELECT ${entryRows.columns} FROM ledger_entries WHERE account_id = $1 AND id = $2`
    return entriesIn(await all(sql, [accountId, id]))[0]
  },

  /** The charges of a request and their refunds, in order. */
  async ofRequest(accountId: string, requestId: string): Promise<LedgerEntryRow[]> {
    const found = selectsOfRequest.map((sql) => all(sql, [accountId, `${requestId}/`, `${requestId}0`]))
    return (await Promise.all(found)).flatMap(entriesIn)
  },

  async page({ service, ...page }: EntryPage): Promise<LedgerEntryRow[]> {
    const source = {
      select: `SELECT ${entryRows.columns} FROM ledger_entries`,
      mark: 'ordinal',
      markOf: (mark: string) => (/^\d{1,15}$/.test(mark) ? Number(mark) : 0),
      only: ['source_service', service] as const,
    }
    return entriesIn(await readTimePage({ all, scan }, source, page))
  },

  /**
   * The sums of each source from one Gregorian second to another, both inclusive. Only the rollover into `opening`
   * (202611) counts, the month that begins with the time: later ones carry what is in that time already.
   */
  async sums(accountId: string, from: number, to: number, opening = 0): Promise<SourceSum[]> {
    const rows = await scan(
      `SELECT ${windowSums.columns} FROM ledger_entries WHERE account_id = $1 AND created BETWEEN $2 AND $3
          AND (source_service <> '${rolloverService}' OR month = $4)
        GROUP BY source_service ORDER BY source_service`,
      [accountId, from, to, opening],
    )
    return windowSums.list(rows).map(toSum)
  },

  /** The sums of each source in a month, for each account that it is about. */
  async month(accountId: string, month: number): Promise<SourceSum[]> {
    const rows = await all(
      `SELECT ${monthSums.columns} FROM ledger_months
        WHERE account_id = $1 AND month = $2 ORDER BY for_account_id, source_service`,
      [accountId, month],
    )
    return monthSums.list(rows).map(toSum)
  },

  /** Entries of these sources, booked before a month, that are on no document; the oldest first. */
  async withoutDocument(accountId: string, sources: readonly string[], month: number) {
    const rows = await scan(
      `SELECT ${entryRows.columns} FROM ledger_entries e
        WHERE e.account_id = $1 AND e.source_service IN (${sources.map((source) => `'${source}'`).join(', ')})
          AND e.month < $2 AND NOT EXISTS (
            SELECT 1 FROM invoice_entries d WHERE d.account_id = e.account_id AND d.entry_id = e.id)
        ORDER BY e.created, e.ordinal`,
      [accountId, month],
    )
    return entriesIn(rows)
  },

  /** Accounts whose month is not open yet. */
  async behind(month: number, limit: number): Promise<string[]> {
    const sql = 'SELECT account_id FROM ledger_balances WHERE month < $1 ORDER BY month LIMIT $2'
    return (await all(sql, [month, limit])).map((row) => row.account_id as string)
  },
})

export type LedgerStore = ReturnType<typeof createLedgerStore>

export const createLedgerStore = (store: Store) => {
  const opening = createMonthOpening(store)
  return { ...opening, ...createBooking(store, opening.openMonth), ...createReading(store) }
}

/** The event of a booking. The balance before it is known only when it is written. */
const bookingChange = (
  accountId: string,
  id: string,
  { source, usage, amount, details }: Pick<LedgerBooking, 'source' | 'usage' | 'amount' | 'details'>,
): Change => ({
  accountId,
  kind: 'ledger',
  id,
  action: 'created',
  event: amount < 0 ? 'ledger.debited' : 'ledger.credited',
  after: JSON.stringify({ id, ...shownDetails(details), source, usage, amount: dollarsOfUnits(amount) }),
})
