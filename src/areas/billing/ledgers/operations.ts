import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import type { ScheduledJob } from '../../../jobs/rounds.ts'
import { badIdentifier, failure, notEnoughCredit } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import { zip } from '../../../lib/list.ts'
import { dollarsOfUnits, unitsOfDollars } from '../../../lib/money.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { ServiceAudit } from '../services/audit/operations.ts'
import type { Charged } from '../services/charged.ts'
import { createLedgerImporter } from './arriving/operations.ts'
import { postingBackOf } from './charges.ts'
import { givenBack, ofAct } from './give-back.ts'
import {
  type Entry,
  type EntryDetails,
  entryJson,
  type LedgerBooking,
  type LedgerPosting,
  monthBeginningAt,
  monthNumber,
  type SourceSum,
  sumsJson,
  tooLarge,
} from './rules.ts'
import type { LedgerRequest } from './schema.ts'
import { balanceMoved, type LedgerBooked } from './signals.ts'
import { createLedgerStore, type EntryPage } from './store.ts'
import { ledgerResponse } from './told.ts'

/** Units below nothing that the balance of a prepaid account may go to; undefined of others. */
type Overdraft = (account: AccountRecord) => Promise<number | undefined>

interface Deps {
  store: Store
  accounts: Accounts
  audit: ServiceAudit
  charged: Charged
  overdraft: Overdraft
}

const identityOf = (parts: readonly unknown[]) => hash('md5', JSON.stringify(parts), 'hex')

const timedIdentityOf = ({ identity, time }: Pick<LedgerPosting, 'identity' | 'time'>) => {
  const whole = identityOf(identity)
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
// What is agreed to has no amount of its own.
const consentFields = { amount: 'accept_charges', quantity: 'accept_charges' }

const wholeMonth = /^(\d{4})(0[1-9]|1[0-2])$/

export type Ledgers = ReturnType<typeof createLedgers>

/** The money of accounts: every movement balanced, none ever changed, none twice. */
export const createLedgers = ({ store, accounts, audit, charged, overdraft }: Deps) => {
  const rows = createLedgerStore(store)
  const arrivals = createLedgerImporter(store)
  const { clock } = store

  const detailsOf = async (
    author: Author,
    request: LedgerRequest,
    account: AccountRecord,
  ): Promise<EntryDetails> => {
    const { description, period, metadata } = request
    return {
      ...(description === undefined ? {} : { description }),
      period: {
        start: period?.start ?? gregorianNow(clock),
        ...(period?.end === undefined ? {} : { end: period.end }),
      },
      ...(metadata ? { metadata } : {}),
      executor: { trigger: 'manual', module: 'ledgers' },
      account: { id: account.id, name: account.doc.name },
      audit: await audit.who(author),
    }
  }

  const bookingOf = async (
    author: Author,
    account: AccountRecord,
    request: LedgerRequest,
    sign: 1 | -1,
  ): Promise<LedgerBooking> => {
    const details = await detailsOf(author, request, account)
    const { source, usage } = request
    return {
      source,
      usage,
      amount: sign * unitsOfDollars(request.amount),
      identity: identityOf([source, account.id, usage, details.period]),
      about: { id: account.id, name: account.doc.name },
      details,
    }
  }

  /**
   * What an account starts itself takes no more than is there where the account is prepaid. Nothing that another account
   * starts is refused: an account above is billed for what happens below.
   */
  const floorFor = async (author: Author, account: AccountRecord, amount: number) => {
    if (amount >= 0 || author.authAccountId !== account.id) return undefined
    const lowest = await overdraft(account)
    if (lowest === undefined) return undefined
    const missing = dollarsOfUnits(Math.max(1, -lowest - (await rows.balance(account.id)) - amount))
    return { units: -lowest, orElse: () => failure(notEnoughCredit, { accountId: account.id, missing }) }
  }

  /** Books several that are told one by one. */
  const bookEach = (
    set: ChangeSet,
    accountId: string,
    bookings: readonly LedgerBooking[],
    restraint?: Parameters<typeof rows.bookMany>[4],
  ) => {
    const ids = rows.bookMany(set, accountId, bookings, clock.now(), restraint)
    for (const [id, booking] of zip(ids, bookings)) set.record(ledgerResponse(accountId, id, booking))
  }

  const get = async (accountId: string, id: string, service?: string): Promise<Entry> => {
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

  const round: ScheduledJob = {
    name: 'ledger_months',
    everySeconds: 60,
    due: async () => (await rows.behind(monthNumber(clock.now()), 1)).length > 0,
    async run(signal) {
      while ((await openMonths(monthNumber(clock.now()))) && !signal.aborted);
    },
  }

  return {
    /** Units that an account has. */
    balance: rows.balance,

    /**
     * Adds a booking to a change set that does more than that. It may overdraw: what was used is owed. With `asked` it
     * is refused when what it leaves could not be shown.
     */
    post(
      set: ChangeSet,
      account: LedgerBooked,
      posting: LedgerPosting,
      asked?: typeof requestFields,
    ): string {
      set.tell(balanceMoved, { account, isSpent: posting.amount < 0 })
      const restraint = asked && { tooLarge: tooLarge(asked) }
      return rows.book(set, account.id, postedBy(account, posting), clock.now(), restraint)
    },

    /** Refuses a sale that is about to be asked for, if it could not be booked: then the money would have moved. */
    requireRoomForSale: (set: ChangeSet, accountId: string) =>
      rows.requireRoomForSale(set, accountId, clock.now(), () => tooLarge(requestFields)('amount')),

    /**
     * Takes what an account has agreed to, or gives back: all of it or nothing. A prepaid account without enough is
     * refused with `not_enough_credit`. Zero amounts leave no trace.
     */
    async charge(set: ChangeSet, account: AccountRecord, postings: readonly LedgerPosting[]): Promise<void> {
      const moving = postings.filter(({ amount }) => amount !== 0)
      if (moving.length === 0) return
      const amount = moving.reduce((sum, posting) => sum + posting.amount, 0)
      set.tell(balanceMoved, { account, isSpent: amount < 0 })
      const bookings = moving.map((posting) => postedBy(account, posting))
      const floor = await floorFor(set.author, account, amount)
      const restraint = { tooLarge: tooLarge(consentFields), ...(floor ? { floor } : {}) }
      await rows.learnMonth(account.id, clock.now())
      bookEach(set, account.id, bookings, restraint)
    },

    /**
     * Gives back what a request was charged at once for counts that go back in this change set, to the account and all
     * above it: the outside refused what it had agreed to pay for.
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

    /** Adds many debits at once, which may overdraw. One line of the audit log tells of all of them. */
    debitMany(set: ChangeSet, account: LedgerBooked, postings: readonly LedgerPosting[]) {
      set.tell(balanceMoved, { account, isSpent: true })
      const bookings = postings.map((posting) => postedBy(account, posting))
      rows.bookMany(set, account.id, bookings, clock.now())
      const amount = dollarsOfUnits(postings.reduce((sum, posting) => sum + posting.amount, 0))
      const after = JSON.stringify({ entries: postings.length, amount })
      const id = newId(clock.now())
      const told = { action: 'created', event: 'ledger.debited', after } as const
      set.record({ accountId: account.id, kind: 'ledger', id, ...told })
    },

    /**
     * Books a credit or debit, and with `impacted` the same at the reseller too: both or neither.
     * Answers with the entry of each account.
     */
    async book(
      author: Author,
      account: AccountRecord,
      request: LedgerRequest,
      sign: 1 | -1,
      impacted?: AccountRecord,
    ): Promise<{ account: AccountRecord; entry: Entry }[]> {
      const booking = await bookingOf(author, account, request, sign)
      const set = new ChangeSet(author)
      const concerned = impacted && impacted.id !== account.id ? [account, impacted] : [account]
      const ids: string[] = []
      for (const one of concerned) {
        set.tell(balanceMoved, { account: one, isSpent: sign < 0 })
        const floor = await floorFor(author, one, booking.amount)
        const restraint = { tooLarge: tooLarge(requestFields), ...(floor ? { floor } : {}) }
        ids.push(rows.book(set, one.id, booking, clock.now(), restraint))
      }
      await store.commit(set)
      return Promise.all(
        concerned.map(async (one, index) => ({
          account: one,
          entry: await get(one.id, ids[index] as string),
        })),
      )
    },

    get,
    page: (page: EntryPage) => rows.page(page),
    json: entryJson,

    /** Source -> what it comes to, from one time to another in Gregorian seconds. */
    sums: async (accountId: string, from: number, to: number) =>
      sumsJson(await rows.sums(accountId, { from, to, opening: monthBeginningAt(from) })),

    /** A month's book, and the same by account. */
    async summary(accountId: string, monthText: string) {
      if (!wholeMonth.test(monthText)) throw failure(badIdentifier, { cause: monthText })
      const sums = await rows.month(accountId, Number(monthText))
      return { summary: sumsJson(sums), breakdown: await breakdown(sums) }
    },

    /** What another system has booked comes in by these. */
    arrivals,

    /** Carries the balances of all accounts into a month that has begun. */
    round,
  }
}
