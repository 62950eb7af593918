import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { badIdentifier, failure, notEnoughCredit } from '../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import { present } from '../../../lib/json.ts'
import { zip } from '../../../lib/list.ts'
import { dollarsOfUnits, unitsOfDollars } from '../../../lib/money.ts'
import { monthNumber } from '../../../lib/time-key.ts'
import { type Author, actOf, ChangeSet } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { AcceptedLine } from '../services/agreed.rules.ts'
import type { ServiceAudit } from '../services/audit/operations.ts'
import type { Charged } from '../services/charged.ts'
import { createLedgerImporter } from './import/operations.ts'
import {
  type GivenBack,
  givenBack,
  type LedgerBooking,
  type LedgerEntryRow,
  type LedgerPosting,
  monthBeginningAt,
  ofAct,
  rolloverId,
  type SourceSum,
  sumsJson,
  tooLarge,
} from './rules.ts'
import type { LedgerRequest } from './schema.ts'
import { balanceMoved, type LedgerBooked } from './signals.ts'
import { createLedgerStore, type LedgerStore } from './store.ts'

/** The posting of an immediate charge or refund. `now` in Unix milliseconds. */
export const postingOf = (line: AcceptedLine, author: Author, now: number): LedgerPosting => {
  const { service, key, usage, amount, description, metadata, counting, units } = line
  return {
    source: { service, id: `${author.requestId}/${key}` },
    usage,
    amount: -amount,
    // Written with the change that it charges for, so it needs no other protection against repeats.
    identity: ['due', newId(now)],
    details: {
      description,
      period: { start: gregorianOfUnix(now / 1000) },
      executor: { trigger: 'services_update', module: 'services' },
      ...(metadata ? { metadata } : {}),
      act: actOf(author),
      ...(counting && units !== undefined ? { agreed: { counting, units } } : {}),
    },
  }
}

const postingBackOf = ({ charge, amount, units }: GivenBack, now: number): LedgerPosting => ({
  source: charge.source,
  usage: { ...charge.usage, quantity: units },
  amount,
  identity: ['back', newId(now)],
  details: {
    description: `Given back: ${charge.details.description ?? charge.source.service}`,
    period: { start: gregorianOfUnix(now / 1000) },
    executor: { trigger: 'services_update', module: 'services' },
    givesBack: { entry: charge.id, units },
  },
})

interface Deps extends DepsOf<'store'> {
  accounts: Accounts
  audit: ServiceAudit
  charged: Charged
  /** How far, in units, charges may overdraw a prepaid account; undefined for other accounts. */
  overdraft(account: AccountRecord): Promise<number | undefined>
}

const timedIdentityOf = ({ identity, time }: Pick<LedgerPosting, 'identity' | 'time'>) => {
  const whole = hash('md5', JSON.stringify(identity), 'hex')
  if (time === undefined) return whole
  const first = time.toString(16).padStart(10, '0')
  return first + whole.slice(first.length)
}

const postedBy = (account: LedgerBooked, posting: LedgerPosting): LedgerBooking => {
  const about = posting.about ?? { id: account.id, name: account.doc.name }
  const details = { account: about, ...posting.details }
  return { ...posting, about, details, identity: timedIdentityOf(posting) }
}

const amountOf = (postings: readonly LedgerPosting[]) => postings.reduce((sum, { amount }) => sum + amount, 0)

const accountsPerRound = 200

const requestFields = { amount: 'amount', quantity: 'usage.quantity' }
// An accepted charge has no field for its amount.
const consentFields = { amount: 'accept_charges', quantity: 'accept_charges' }

const wholeMonth = /^(\d{4})(0[1-9]|1[0-2])$/

/** Limits what the request of an account may book. */
const limiting = ({ overdraft }: Deps, rows: LedgerStore) => {
  /**
   * A prepaid account's own requests cannot overdraw it. Requests of other accounts are never refused: a parent account
   * is billed for what happens in its sub-accounts.
   */
  const floorFor = async (author: Author, account: AccountRecord, amount: number) => {
    if (amount >= 0 || author.authAccountId !== account.id) return undefined
    const lowest = await overdraft(account)
    if (lowest === undefined) return undefined
    const missing = dollarsOfUnits(Math.max(1, -lowest - (await rows.balance(account.id)) - amount))
    return { units: -lowest, orElse: () => failure(notEnoughCredit, { accountId: account.id, missing }) }
  }

  return async (author: Author, account: AccountRecord, amount: number, fields: typeof requestFields) => {
    const floor = await floorFor(author, account, amount)
    return { tooLarge: tooLarge(fields), ...(floor ? { floor } : {}) }
  }
}

/** Bookings that follow from something else in their change set. */
const posting = (deps: Deps, rows: LedgerStore) => {
  const { accounts, charged } = deps
  const { clock } = deps.store
  const limitsOf = limiting(deps, rows)

  return {
    /** Adds a booking to a change set. It may overdraw. With `fields`, sums that are too large are refused. */
    post(set: ChangeSet, account: LedgerBooked, one: LedgerPosting, fields?: typeof requestFields) {
      set.tell(balanceMoved, { account, isSpent: one.amount < 0 })
      const limits = fields && { tooLarge: tooLarge(fields) }
      return rows.book(set, account.id, postedBy(account, one), clock.now(), limits)
    },

    /** Refuses a sale whose booking would make the balance too large, before the gateway moves the money. */
    requireRoomForSale: (set: ChangeSet, accountId: string) =>
      rows.requireRoomForSale(set, accountId, clock.now(), () => tooLarge(requestFields)('amount')),

    /** Books accepted charges and refunds, all or none. A prepaid account without enough credit gets `not_enough_credit`. */
    async charge(set: ChangeSet, account: AccountRecord, postings: readonly LedgerPosting[]): Promise<void> {
      const moving = postings.filter(({ amount }) => amount !== 0)
      if (moving.length === 0) return
      const amount = amountOf(moving)
      set.tell(balanceMoved, { account, isSpent: amount < 0 })
      const bookings = moving.map((one) => postedBy(account, one))
      const limits = await limitsOf(set.author, account, amount, consentFields)
      await rows.learnMonth(account.id, clock.now())
      rows.bookEach(set, account.id, bookings, clock.now(), limits)
    },

    /**
     * Refunds the immediate charges of a request to the account and its parents, for counts that this change set lowers:
     * a carrier rejected what the request had ordered.
     */
    async giveBack(
      set: ChangeSet,
      account: AccountRecord,
      { requestId, act }: { requestId: string; act: string | undefined },
    ): Promise<void> {
      for (const id of [account.id, ...account.hidden.tree]) {
        const payer = await accounts.find(id)
        const back = givenBack(ofAct(await rows.ofRequest(id, requestId), act), set.counts)
        if (!payer || back.length === 0) continue
        set.tell(balanceMoved, { account: payer, isSpent: false })
        const bookings = back.map((one) => postedBy(payer, postingBackOf(one, clock.now())))
        rows.bookEach(set, id, bookings, clock.now())
        for (const one of back) charged.returned(set, id, one)
      }
    },

    /** Adds many debits, which may overdraw, with one audit entry for all of them. */
    debitMany(set: ChangeSet, account: LedgerBooked, postings: readonly LedgerPosting[]) {
      set.tell(balanceMoved, { account, isSpent: true })
      const bookings = postings.map((one) => postedBy(account, one))
      rows.bookMany(set, account.id, bookings, clock.now())
      const after = JSON.stringify({ entries: postings.length, amount: dollarsOfUnits(amountOf(postings)) })
      const id = newId(clock.now())
      const change = { action: 'created', event: 'ledger.debited', after } as const
      set.record({ accountId: account.id, kind: 'ledger', id, ...change })
    },
  }
}

/** Books what a client requests. */
const requesting = (deps: Deps, rows: LedgerStore, get: ReturnType<typeof reading>['get']) => {
  const { store, audit } = deps
  const { clock } = store
  const limitsOf = limiting(deps, rows)

  const bookingOf = async (author: Author, account: AccountRecord, request: LedgerRequest, sign: 1 | -1) => {
    const { source, usage, description, metadata } = request
    const { start = gregorianNow(clock), end } = request.period ?? {}
    const period = { start, ...(end === undefined ? {} : { end }) }
    const executor = { trigger: 'manual', module: 'ledgers' }
    return postedBy(account, {
      source,
      usage,
      amount: sign * unitsOfDollars(request.amount),
      identity: [source, account.id, usage, period],
      details: {
        ...present({ description, period, metadata }),
        ...{ executor, audit: await audit.who(author) },
      },
    })
  }

  /** Books a credit or debit, and the same in the ledger of `impacted`: both or neither. Returns the entry of each account. */
  return async (
    author: Author,
    account: AccountRecord,
    request: LedgerRequest,
    sign: 1 | -1,
    impacted?: AccountRecord,
  ): Promise<{ account: AccountRecord; entry: LedgerEntryRow }[]> => {
    const booking = await bookingOf(author, account, request, sign)
    const set = new ChangeSet(author)
    const concerned = impacted && impacted.id !== account.id ? [account, impacted] : [account]
    const ids: string[] = []
    for (const one of concerned) {
      set.tell(balanceMoved, { account: one, isSpent: sign < 0 })
      const limits = await limitsOf(author, one, booking.amount, requestFields)
      ids.push(rows.book(set, one.id, booking, clock.now(), limits))
    }
    await store.commit(set)
    return Promise.all(
      [...zip(concerned, ids)].map(async ([one, id]) => ({ account: one, entry: await get(one.id, id) })),
    )
  }
}

const reading = ({ accounts }: Deps, rows: LedgerStore) => {
  const breakdown = async (sums: readonly SourceSum[]) =>
    Promise.all(
      [...Map.groupBy(sums, ({ forAccountId }) => forAccountId)].map(async ([id, ofAccount]) => ({
        account: { id, name: (await accounts.find(id))?.doc.name ?? id },
        ledgers: sumsJson(ofAccount),
        total: dollarsOfUnits(ofAccount.reduce((sum, { amount }) => sum + amount, 0)),
      })),
    )

  return {
    /** The balance of an account in units. */
    balance: rows.balance,
    balances: rows.balances,
    chargedByMonth: rows.chargedByMonth,
    page: rows.page,
    withoutDocument: rows.withoutDocument,

    async get(accountId: string, id: string, service?: string): Promise<LedgerEntryRow> {
      const entry = await rows.find(accountId, id)
      if (!entry || (service !== undefined && entry.source.service !== service))
        throw failure(badIdentifier, { cause: id })
      return entry
    },

    /** Source -> its sum from one Gregorian second to another. */
    sums: async (accountId: string, from: number, to: number) =>
      sumsJson(await rows.sums(accountId, from, to, monthBeginningAt(from))),

    /** The sums of a month, of all accounts and of each. */
    async summary(accountId: string, monthText: string) {
      if (!wholeMonth.test(monthText)) throw failure(badIdentifier, { cause: monthText })
      const sums = await rows.month(accountId, Number(monthText))
      return { summary: sumsJson(sums), breakdown: await breakdown(sums) }
    },
  }
}

/** Carries the balances of all accounts into a new month. */
const createMonthOpening = ({ store }: Deps, rows: LedgerStore): ScheduledJob => {
  const { clock } = store

  const openMonths = async (month: number) => {
    const behind = await rows.behind(month, accountsPerRound)
    const sets = behind.map((accountId) => {
      const set = new ChangeSet({ requestId: 'rollover', acceptsCharges: true })
      rows.openMonth(set, accountId, month, clock.now())
      return set.record({ accountId, kind: 'ledger', id: rolloverId(month), action: 'created' })
    })
    if (sets.length > 0) await store.commit(...sets)
    return behind.length === accountsPerRound
  }

  return {
    name: 'ledger_months',
    everySeconds: 60,
    due: async () => (await rows.behind(monthNumber(clock.now()), 1)).length > 0,
    async run(signal) {
      while ((await openMonths(monthNumber(clock.now()))) && !signal.aborted);
    },
  }
}

export type Ledgers = ReturnType<typeof createLedgers>

/** The money of accounts: every movement balanced, none ever changed, none twice. */
export const createLedgers = (deps: Deps) => {
  const rows = createLedgerStore(deps.store)
  const reads = reading(deps, rows)
  return {
    ...reads,
    ...posting(deps, rows),
    book: requesting(deps, rows, reads.get),
    importer: createLedgerImporter(deps.store),
    monthOpening: createMonthOpening(deps, rows),
  }
}
