import type { AccountRecord } from '../../../../auth/identity.ts'
import type { JobKind } from '../../../../jobs/queue.ts'
import { failure, forbidden } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { randomHex } from '../../../../lib/ids.ts'
import { sameJson } from '../../../../lib/json.ts'
import { memberOf } from '../../../../lib/member.ts'
import { unitsOfDollars } from '../../../../lib/money.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { LedgerEntryRow } from '../../ledgers/rules.ts'
import type { LedgerBooked } from '../../ledgers/signals.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import { servicesSettings } from '../../services/settings.ts'
import type { PaymentDeps } from '../deps.ts'
import { topupSettings } from '../settings.ts'
import type { PaymentOrder, Transactions } from '../transactions/operations.ts'
import { raisedToCoin, type Transaction } from '../transactions/rules.ts'
import { createTopupStore } from '../transactions/store.ts'

/** The `topup` of an account. Dollars. */
interface TopupDoc {
  amount?: unknown
  threshold?: unknown
}

/** Why an account is not topped up. */
type NoTopup =
  | 'topup_disabled'
  | 'amount_undefined'
  | 'threshold_undefined'
  | 'amount_and_threshold_undefined'
  | 'balance_above_threshold'
  | 'topup_daily_limit'

/** An account is topped up automatically at most once in this time. */
export const topupPauseMs = 24 * 3_600_000

const positiveUnits = (dollars: unknown) => {
  if (typeof dollars !== 'number' || !(dollars > 0)) return undefined
  const units = unitsOfDollars(dollars)
  return Number.isSafeInteger(units) && units > 0 ? units : undefined
}

const missingTerms = (amount: unknown, threshold: unknown): NoTopup | undefined => {
  if (amount === undefined && threshold === undefined) return 'amount_and_threshold_undefined'
  if (amount === undefined) return 'amount_undefined'
  return threshold === undefined ? 'threshold_undefined' : undefined
}

interface TopupState {
  isEnabled: boolean
  topup: TopupDoc | undefined
  /** Units. */
  balance: number
  /** Unix milliseconds; 0: never. */
  lastAt: number
  now: number
}

/** The units to top up, or why not. */
export const topupDue = ({ isEnabled, topup, balance, lastAt, now }: TopupState): number | NoTopup => {
  if (!isEnabled) return 'topup_disabled'
  const amount = positiveUnits(topup?.amount)
  const threshold = positiveUnits(topup?.threshold)
  const lack = missingTerms(amount, threshold)
  if (lack) return lack
  if (balance >= (threshold as number)) return 'balance_above_threshold'
  return now - lastAt < topupPauseMs ? 'topup_daily_limit' : (amount as number)
}

const thresholdUnits = (threshold: unknown): number | undefined =>
  typeof threshold === 'number' && Number.isFinite(threshold) ? unitsOfDollars(threshold) : undefined

/** The balance, in units, below which an account is warned: its own threshold, else that of its top-up. */
export const lowBalanceThreshold = (doc: object): number | undefined =>
  thresholdUnits(memberOf(doc, 'notifications', 'low_balance', 'threshold')) ??
  thresholdUnits(memberOf(doc, 'topup', 'threshold'))

type TopupTrigger = 'manual' | 'automatic'

const topupDescription = (trigger: TopupTrigger) =>
  trigger === 'manual' ? 'Manual top-up' : 'Automatic top-up'

/** The built-in bookkeeper charges no one: it adds a credit only. */
export interface ToppedUp {
  transaction?: Transaction
  ledger?: LedgerEntryRow
}

const topupAuthor: Author = { requestId: 'topup' }
const ownCreditIsOff = {
  message: 'no billing provider can charge this account. Ask the reseller to add credit',
  reason: 'topup_without_gateway',
}
const kindName = 'topup'

/** Whether accounts may top up without a payment. */
const isOwnCreditOn = async (settings: PaymentDeps['settings']) =>
  (await settings.of(servicesSettings)).own_topup_without_gateway

const orderOf = (bookkeeper: Bookkeeper, amount: number, trigger: TopupTrigger): PaymentOrder => ({
  type: 'sale',
  amount,
  description: topupDescription(trigger),
  trigger,
  module: 'topup',
  bookkeeper,
})

const crediting =
  ({ store, ledgers }: PaymentDeps) =>
  (set: ChangeSet, account: AccountRecord, amount: number, trigger: TopupTrigger) => {
    const id = `topup-${randomHex(16)}`
    const posting = {
      source: { service: 'payments', id },
      usage: { type: 'topup', quantity: 1, unit: 'payment' },
      amount,
      identity: ['topup', account.id, id],
      details: {
        description: topupDescription(trigger),
        period: { start: gregorianNow(store.clock) },
        executor: { trigger, module: 'topup' },
      },
    }
    return ledgers.post(set, account, posting, { amount: 'amount', quantity: 'amount' })
  }

/** Tops accounts up when their balance falls. */
const createTopupJob = (deps: PaymentDeps, transactions: Transactions): JobKind<object> => {
  const { store, settings, books, bookkeepers, ledgers, log } = deps
  const rows = createTopupStore(store)
  const credit = crediting(deps)
  const { clock } = store

  /** One change set has the claim, and the credit or the open transaction. */
  const topUp = async (account: AccountRecord, amount: number, lastAt: number) => {
    const now = clock.now()
    const tomorrow = { state: 'waiting', dueAt: now + topupPauseMs } as const
    const bookkeeper = await bookkeepers.of(account)
    const gateway = bookkeepers.gateway(bookkeeper)
    const isCreditOff = gateway?.capabilities.charges === false && !(await isOwnCreditOn(settings))
    if (!gateway || isCreditOff || !(await bookkeepers.isReady(account, gateway, bookkeeper))) {
      log.write('warn', 'an account cannot be topped up', { account_id: account.id, type: bookkeeper.type })
      return { ...tomorrow, outcome: `the bookkeeper ${bookkeeper.type} is not set up` }
    }
    const set = new ChangeSet(topupAuthor)
    rows.claim(set, account.id, lastAt, now)
    if (gateway.capabilities.charges) {
      const { currency } = await settings.of(servicesSettings)
      const coins = raisedToCoin(amount, gateway.smallestUnits(currency))
      await transactions.open(set, account, orderOf(bookkeeper, coins, 'automatic'))
    } else credit(set, account, amount, 'automatic')
    return { ...tomorrow, outcome: 'topped up', sets: [set] }
  }

  return {
    kind: kindName,
    maxConcurrent: 1,
    // While top-ups are off, each account has at most one waiting job.
    isOn: async () => (await settings.of(topupSettings)).enable,
    async conclude({ accountId }) {
      const account = await books.account(accountId)
      const lastAt = await rows.lastAt(accountId)
      const balance = await ledgers.balance(accountId)
      const { enable: isEnabled } = await settings.of(topupSettings)
      const topup = account?.doc.topup as TopupDoc | undefined
      const decision = topupDue({ isEnabled, topup, balance, lastAt, now: clock.now() })
      if (typeof decision === 'number' && account) return topUp(account, decision, lastAt)
      const outcome = String(decision)
      log.write('debug', 'an account is not topped up', { account_id: accountId, reason: outcome })
      return decision === 'topup_daily_limit'
        ? { state: 'waiting', dueAt: lastAt + topupPauseMs, outcome }
        : { state: 'done', outcome }
    },
  }
}

export type Topups = ReturnType<typeof createTopups>

export const createTopups = (deps: PaymentDeps, transactions: Transactions) => {
  const { store, settings, bookkeepers, ledgers, queue } = deps
  const credit = crediting(deps)
  const { clock } = store

  const entryOf = async (transaction: Transaction): Promise<ToppedUp> => {
    const { accountId, doc } = transaction
    if (doc.ledger_id === undefined) return { transaction }
    return { transaction, ledger: await ledgers.get(accountId, doc.ledger_id) }
  }

  /** Without an audit entry: balances move with every call. */
  const look = (set: ChangeSet, accountId: string) =>
    set.job({ kind: kindName, id: accountId, accountId, dueAt: clock.now(), payload: {} })

  return {
    job: createTopupJob(deps, transactions),

    /** Whether a top-up of an account may be imminent. */
    async awaits(accountId: string) {
      const check = await queue.find(kindName, accountId)
      const isDue = check?.state === 'waiting' && check.dueAt <= clock.now()
      return isDue && (await settings.of(topupSettings)).enable
    },

    /** Checks the balance again, because this change set lowers it. Accounts without top-up cost nothing. */
    spent(set: ChangeSet, { id, doc }: LedgerBooked) {
      if (doc.topup !== undefined) look(set, id)
    },

    changed(set: ChangeSet, before: AccountRecord | undefined, after: AccountRecord) {
      if (!sameJson(before?.doc.topup, after.doc.topup)) look(set, after.id)
    },

    /** A manual top-up in units. Without a gateway only the seller may give credit. */
    async byHand(author: Author, account: AccountRecord, amount: number, maySell: () => Promise<boolean>) {
      const bookkeeper = await bookkeepers.of(account)
      if (bookkeepers.gateway(bookkeeper)?.capabilities.charges !== false)
        return entryOf(await transactions.carryOut(author, account, orderOf(bookkeeper, amount, 'manual')))
      if (!((await isOwnCreditOn(settings)) || (await maySell()))) throw failure(forbidden, ownCreditIsOff)
      const set = new ChangeSet(author)
      const id = credit(set, account, amount, 'manual')
      await store.commit(set)
      return { ledger: await ledgers.get(account.id, id) }
    },

    /** The result of a top-up whose response was lost. */
    async again(accountId: string, kind: string, id: string): Promise<ToppedUp> {
      return kind === 'transaction'
        ? entryOf(await transactions.cleared(accountId, id))
        : { ledger: await ledgers.get(accountId, id) }
    },
  }
}
