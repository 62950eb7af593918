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
  type SourceSum,
  sumsJson,
  tooLarge,
} from './rules.ts'
import type { LedgerRequest } from './schema.ts'
import { balanceMoved, type LedgerBooked } from './signals.ts'
import { bookingChange, createLedgerStore } from './store.ts'

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

const identityHash = (parts: readonly unknown[]) => hash('md5', JSON.stringify(parts), 'hex')

const timedIdentityOf = ({ identity, time }: Pick<LedgerPosting, 'identity' | 'time'>) => {
  const whole = identityHash(identity)
  if (time === undefined) return whole
  const first = time.toString(16).padStart(10, '0')
  return first + whole.slice(first.length)
}

const postedBy = (account: LedgerBooked, posting: LedgerPosting): LedgerBooking => {
  const about = posting.about ?? { id: account.id, name: account.doc.name }
  const details = { account: about, ...posting.details }
  return { ...posting, about, details, identity: timedIdentityOf(posting) }
}

const accountsPerRound = 200

const requestFields = { amount: 'amount', quantity: 'usage.quantity' }
// An accepted charge has no field for its amount.
const consentFields = { amount: 'accept_charges', quantity: 'accept_charges' }

const wholeMonth = /^(\d{4})(0[1-9]|1[0-2])$/

export type Ledgers = ReturnType<typeof createLedgers>

/** The money of accounts: every movement balanced, none ever changed, none twice. */
export const createLedgers = ({ store, accounts, audit, charged, overdraft }: Deps) => {
  const rows = createLedgerStore(store)
  const importer = createLedgerImporter(store)
  const { clock } = store

  const bookingOf = async (author: Author, account: AccountRecord, request: LedgerRequest, sign: 1 | -1) => {
    const { source, usage, description, metadata } = request
    const { start = gregorianNow(clock), end } = request.period ?? {}
    const period = { start, ...(end === undefined ? {} : { end }) }
    const about = { id: account.id, name: account.doc.name }
    const executor = { trigger: 'manual', module: 'ledgers' }
    return {
      source,
      usage,
      amount: sign * unitsOfDollars(request.amount),
      identity: identityHash([source, account.id, usage, period]),
      about,
      details: {
        ...present({ description, period, metadata }),
        ...{ executor, account: about, audit: await audit.who(author) },
      },
    }
  }

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

  const limitsOf = async (
    author: Author,
    account: AccountRecord,
    amount: number,
    fields: typeof requestFields,
  ) => {
    const floor = await floorFor(author, account, amount)
    return { tooLarge: tooLarge(fields), ...(floor ? { floor } : {}) }
  }

  /** Adds several bookings, each with its own audit entry. */
  const bookEach = (
    set: ChangeSet,
    accountId: string,
    bookings: readonly LedgerBooking[],
    limits?: Parameters<typeof rows.bookMany>[4],
  ) => {
    const ids = rows.bookMany(set, accountId, bookings, clock.now(), limits)
    for (const [id, booking] of zip(ids, bookings)) set.record(bookingChange(accountId, id, booking))
  }

  const get = async (accountId: string, id: string, service?: string): Promise<LedgerEntryRow> => {
    const entry = await rows.find(accountId, id)
    if (!entry || (service !== undefined && entry.source.service !== service))
      throw failure(badIdentifier, { cause: id })
    return entry
  }

  const breakdown = async (sums: readonly SourceSum[]) =>
    Promise.all(
      [...Map.groupBy(sums, ({ forAccountId }) => forAccountId)].map(async ([id, ofAccount]) => ({
        account: { id, name: (await accounts.find(id))?.doc.name ?? id },
        ledgers: sumsJson(ofAccount),
        total: dollarsOfUnits(ofAccount.reduce((sum, { amount }) => sum + amount, 0)),
      })),
    )

  const openMonths = async (month: number) => {
    const behind = await rows.behind(month, accountsPerRound)
    const sets = behind.map((accountId) => {
      const set = new ChangeSet({ requestId: 'rollover', acceptsCharges: true })
      rows.openMonth(set, accountId, month, clock.now())
      return set.record({
        accountId,
        kind: 'ledger',
        id: `${month}-ledgers_monthly_rollover`,
        action: 'created',
      })
    })
    if (sets.length > 0) await store.commit(...sets)
    return behind.length === accountsPerRound
  }

  const monthOpening: ScheduledJob = {
    name: 'ledger_months',
    everySeconds: 60,
    due: async () => (await rows.behind(monthNumber(clock.now()), 1)).length > 0,
    async run(signal) {
      while ((await openMonths(monthNumber(clock.now()))) && !signal.aborted);
    },
  }

  return {
    /** The balance of an account in units. */
    balance: rows.balance,

    /** Adds a booking to a change set. It may overdraw. With `fields`, sums that are too large are refused. */
    post(set: ChangeSet, account: LedgerBooked, posting: LedgerPosting, fields?: typeof requestFields) {
      set.tell(balanceMoved, { account, isSpent: posting.amount < 0 })
      const limits = fields && { tooLarge: tooLarge(fields) }
      return rows.book(set, account.id, postedBy(account, posting), clock.now(), limits)
    },

    /** Refuses a sale whose booking would make the balance too large, before the gateway moves the money. */
    requireRoomForSale: (set: ChangeSet, accountId: string) =>
      rows.requireRoomForSale(set, accountId, clock.now(), () => tooLarge(requestFields)('amount')),

    /** Books accepted charges and refunds, all or none. A prepaid account without enough credit gets `not_enough_credit`. */
    async charge(set: ChangeSet, account: AccountRecord, postings: readonly LedgerPosting[]): Promise<void> {
      const moving = postings.filter(({ amount }) => amount !== 0)
      if (moving.length === 0) return
      const amount = moving.reduce((sum, posting) => sum + posting.amount, 0)
      set.tell(balanceMoved, { account, isSpent: amount < 0 })
      const bookings = moving.map((posting) => postedBy(account, posting))
      const limits = await limitsOf(set.author, account, amount, consentFields)
      await rows.learnMonth(account.id, clock.now())
      bookEach(set, account.id, bookings, limits)
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
        bookEach(set, id, bookings)
        for (const one of back) charged.returned(set, id, one)
      }
    },

    /** Adds many debits, which may overdraw, with one audit entry for all of them. */
    debitMany(set: ChangeSet, account: LedgerBooked, postings: readonly LedgerPosting[]) {
      set.tell(balanceMoved, { account, isSpent: true })
      const bookings = postings.map((posting) => postedBy(account, posting))
      rows.bookMany(set, account.id, bookings, clock.now())
      const amount = dollarsOfUnits(postings.reduce((sum, posting) => sum + posting.amount, 0))
      const after = JSON.stringify({ entries: postings.length, amount })
      const id = newId(clock.now())
      const change = { action: 'created', event: 'ledger.debited', after } as const
      set.record({ accountId: account.id, kind: 'ledger', id, ...change })
    },

    /** Books a credit or debit, and the same in the ledger of `impacted`: both or neither. Returns the entry of each account. */
    async book(
      author: Author,
      account: AccountRecord,
      request: LedgerRequest,
      sign: 1 | -1,
      impacted?: AccountRecord,
    ): Promise<{ account: AccountRecord; entry: LedgerEntryRow }[]> {
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
    },

    get,
    page: rows.page,
    withoutDocument: rows.withoutDocument,

    /** Source -> its sum from one Gregorian second to another. */
    sums: async (accountId: string, from: number, to: number) =>
      sumsJson(await rows.sums(accountId, from, to, monthBeginningAt(from))),

    /** The sums of a month, of all accounts and of each. */
    async summary(accountId: string, monthText: string) {
      if (!wholeMonth.test(monthText)) throw failure(badIdentifier, { cause: monthText })
      const sums = await rows.month(accountId, Number(monthText))
      return { summary: sumsJson(sums), breakdown: await breakdown(sums) }
    },

    importer,

    /** Carries the balances of all accounts into a new month. */
    monthOpening,
  }
}
