import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { Failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Entry } from '../../ledgers/rules.ts'
import type { Booked } from '../../ledgers/signals.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Books } from '../../services/books.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import type { Transactions, Wanted } from '../transactions/operations.ts'
import { raisedToCoin, type Transaction } from '../transactions/rules.ts'
import { pauseMs, sameTopup, type TopupDoc, topupDescription, topupDue } from './rules.ts'
import { createTopupStore, type TopupCheck } from './store.ts'

interface Tools {
  store: Store
  settings: Settings
  books: Books
  bookkeepers: Bookkeepers
  ledgers: Ledgers
  transactions: Transactions
  nudge(): void
  log: Log
}

/** What a top-up has done: with the built-in bookkeeper nobody is charged, and there is a credit only. */
export interface ToppedUp {
  transaction?: Transaction
  ledger?: Entry
}

type TopupTrigger = 'manual' | 'automatic'

const roundAuthor: Author = { requestId: 'topup' }
const perLook = 100

export type Topups = ReturnType<typeof createTopups>

/** Money that is added to accounts, by hand or when there is little left. */
export const createTopups = (tools: Tools) => {
  const { store, settings, books, bookkeepers, ledgers, transactions, nudge, log } = tools
  const rows = createTopupStore(store)
  const { clock } = store

  const canCharge = (bookkeeper: Bookkeeper) =>
    bookkeepers.gateway(bookkeeper)?.capabilities.charges !== false

  const wantedOf = (bookkeeper: Bookkeeper, amount: number, trigger: TopupTrigger): Wanted => ({
    type: 'sale',
    amount,
    description: topupDescription(trigger),
    trigger,
    module: 'topup',
    bookkeeper,
  })

  /** The built-in bookkeeper charges nobody: it gives credit. */
  const credit = (set: ChangeSet, account: AccountRecord, amount: number, trigger: TopupTrigger) => {
    const id = `topup-${randomHex(16)}`
    return ledgers.post(set, account, {
      source: { service: 'payments', id },
      usage: { type: 'topup', quantity: 1, unit: 'payment' },
      amount,
      identity: ['topup', account.id, id],
      details: {
        description: topupDescription(trigger),
        period: { start: gregorianNow(clock) },
        executor: { trigger, module: 'topup' },
      },
    })
  }

  const entryOf = async (transaction: Transaction): Promise<ToppedUp> => {
    const { accountId, doc } = transaction
    if (doc.ledger_id === undefined) return { transaction }
    return { transaction, ledger: await ledgers.get(accountId, doc.ledger_id) }
  }

  /** Everything that an automatic top-up is goes into one set: the claim, and the credit or the open transaction. */
  const topUp = async (check: TopupCheck, account: AccountRecord, amount: number) => {
    const now = clock.now()
    const bookkeeper = await bookkeepers.of(account)
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway || !(await gateway.isReady(bookkeeper.vendor_id))) {
      log.write('warn', 'an account cannot be topped up', { account_id: account.id, type: bookkeeper.type })
      return store.writeUnrecorded([rows.putAway(check, now + pauseMs)])
    }
    const set = new ChangeSet(roundAuthor)
    rows.claim(set, check, now, now + pauseMs)
    if (gateway.capabilities.charges) {
      const { currency } = await settings.of('services')
      const coins = raisedToCoin(amount, gateway.smallestUnits(currency))
      await transactions.open(set, account, wantedOf(bookkeeper, coins, 'automatic'), now)
    } else credit(set, account, amount, 'automatic')
    await store.commit(set)
    nudge()
  }

  const decide = async (check: TopupCheck, account: AccountRecord | undefined) => {
    const { enable: isEnabled } = await settings.of('topup')
    const balance = await ledgers.balance(check.accountId)
    const topup = account?.doc.topup as TopupDoc | undefined
    return topupDue({ isEnabled, topup, balance, lastAt: check.lastAt, now: clock.now() })
  }

  const look = async (check: TopupCheck) => {
    const account = await books.account(check.accountId)
    const decision = await decide(check, account)
    if (typeof decision === 'number' && account) return topUp(check, account, decision)
    log.write('debug', 'an account is not topped up', { account_id: check.accountId, reason: decision })
    const nextAt = decision === 'topup_daily_limit' ? check.lastAt + pauseMs : 0
    await store.writeUnrecorded([rows.putAway(check, nextAt)])
  }

  /** What another process, or a debit in between, was faster with is looked at again. */
  const lookSafely = async (check: TopupCheck) => {
    try {
      await look(check)
    } catch (error) {
      if (error instanceof Failure && error.kind === 'datastore_conflict') return
      const { accountId: account_id } = check
      log.write('error', 'an account could not be topped up', { account_id, error: describeError(error) })
      await store.writeUnrecorded([rows.putAway(check, clock.now() + pauseMs)])
    }
  }

  const round: Round = {
    name: 'topup',
    everySeconds: 5,
    // While it is switched off, accounts wait: at most once each.
    due: async () => (await settings.of('topup')).enable && (await rows.due(clock.now(), 1)).length > 0,
    async run(signal) {
      while (!signal.aborted && (await settings.of('topup')).enable) {
        const due = await rows.due(clock.now(), perLook)
        for (const check of due) if (!signal.aborted) await lookSafely(check)
        if (due.length < perLook) return
      }
    },
  }

  return {
    round,

    /** Whether an account's balance is still to be looked at: it may be topped up any moment. */
    awaits: async (accountId: string) =>
      (await settings.of('topup')).enable && (await rows.isDue(accountId, clock.now())),

    /** Has the balance looked at, because it became less in this change set. Accounts that want no top-up cost nothing. */
    spent(set: ChangeSet, { id, doc }: Booked) {
      if (doc.topup !== undefined) rows.check(set, id, clock.now())
    },

    /** The same because the account was told something else about top-ups. */
    changed(set: ChangeSet, before: AccountRecord | undefined, after: AccountRecord) {
      if (!sameTopup(before?.doc.topup, after.doc.topup)) rows.check(set, after.id, clock.now())
    },

    /** By hand. Units. */
    async byHand(author: Author, account: AccountRecord, amount: number): Promise<ToppedUp> {
      const bookkeeper = await bookkeepers.of(account)
      if (canCharge(bookkeeper))
        return entryOf(await transactions.carryOut(author, account, wantedOf(bookkeeper, amount, 'manual')))
      const set = new ChangeSet(author)
      const id = credit(set, account, amount, 'manual')
      await store.commit(set)
      return { ledger: await ledgers.get(account.id, id) }
    },

    /** What a top-up has come to that was begun before its answer was lost. */
    async again(accountId: string, kind: string, id: string): Promise<ToppedUp> {
      return kind === 'transaction'
        ? entryOf(await transactions.cleared(accountId, id))
        : { ledger: await ledgers.get(accountId, id) }
    },
  }
}
