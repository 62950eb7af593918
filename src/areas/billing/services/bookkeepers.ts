import type { AccountRecord } from '../../../auth/identity.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import type { Gateway } from '../../../payment/gateway.ts'
import type { Gateways } from '../../../payment/gateways.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { PricingData } from './books.ts'
import { defaultToken, isExpired, type PaymentToken } from './payment-tokens/rules.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import { type DelinquencyReason, standingAfter } from './rules.ts'
import { servicesSettings } from './settings.ts'
import type { Vendors } from './vendors.ts'

type PaymentStatus = { acceptable: true } | { acceptable: false; reason: string; message?: string }

const good: PaymentStatus = { acceptable: true }

const unacceptable = (reason: string, message: string): PaymentStatus => ({
  acceptable: false,
  reason,
  message,
})

export type Bookkeepers = ReturnType<typeof createBookkeepers>

/** Who collects the money of accounts, and by which gateway. */
export const createBookkeepers = (deps: {
  store: Store
  books: PricingData
  gateways: Gateways
  vendors: Vendors
}) => {
  const { store, books, gateways, vendors } = deps
  const canCharge = ({ type }: Bookkeeper) => gateways.of(type)?.capabilities.charges === true

  const tokenFor = async (accountId: string, bookkeeper: Bookkeeper): Promise<PaymentToken | undefined> =>
    defaultToken((await books.docOf(accountId)).payment_tokens ?? {}, bookkeeper)

  /** Whether a gateway is set up for a bookkeeper that the account may be charged by. */
  const isReady = async (account: AccountRecord, gateway: Gateway, bookkeeper: Bookkeeper) =>
    (await gateway.isReady(bookkeeper.vendor_id)) && (await vendors.mayCharge(account, bookkeeper))

  return {
    /** Whether a bookkeeper can charge an account, from stored data: no bookkeeper is called during a request. */
    async standing(account: AccountRecord, bookkeeper: Bookkeeper): Promise<PaymentStatus> {
      const { type } = bookkeeper
      const gateway = gateways.of(type)
      if (!gateway) return unacceptable('bookkeeper_fault', `there is no bookkeeper of type ${type}`)
      if (!(await isReady(account, gateway, bookkeeper)))
        return unacceptable('bookkeeper_fault', `bookkeeper ${type} is not set up`)
      if (!gateway.capabilities.tokens) return good
      const token = await tokenFor(account.id, bookkeeper)
      if (!token) return unacceptable('no_payment_token', 'no payment method available')
      return isExpired(token, gregorianNow(store.clock))
        ? unacceptable('no_payment_token', 'the payment method has expired')
        : good
    },

    gateway: ({ type }: Bookkeeper) => gateways.of(type),

    isReady,

    /** Whether the account may still be charged by a bookkeeper that it was once to be charged by. */
    mayCharge: vendors.mayCharge,

    /** Who takes an account's money: the first bookkeeper of its plans that can, else the account's own. */
    async of(account: AccountRecord): Promise<Bookkeeper> {
      const { lists } = await books.terms(account)
      const named = lists.map(({ bookkeeper }) => bookkeeper)
      const own = await books.bookkeeperOf(account, await books.docOf(account.id))
      return named.find(canCharge) ?? (canCharge(own) ? own : (named[0] ?? own))
    },

    token: tokenFor,

    /** The payment method that a bookkeeper charges; undefined if it needs one and there is none. */
    async means(accountId: string, bookkeeper: Bookkeeper) {
      const { customers = {} } = await books.docOf(accountId)
      const token = await tokenFor(accountId, bookkeeper)
      const customer = customers[`${bookkeeper.type}/${bookkeeper.vendor_id}`]
      if (!token || customer === undefined) return undefined
      const { last_four } = token.metadata
      return { token: token.id, customer, ...(last_four === undefined ? {} : { last_four }) }
    },

    /** Adds to a change set what a bookkeeper's answer means for an account's standing. */
    async note(set: ChangeSet, accountId: string, reason: DelinquencyReason, isGood: boolean) {
      const before = await books.services.find(accountId)
      const after = before && standingAfter(before.doc, reason, isGood)
      if (before && after !== before.doc) books.services.put(set, accountId, before, after ?? before.doc)
    },
  }
}

export type PaymentStatuses = ReturnType<typeof createPaymentStatuses>

/** The reason when a parent account is not in good standing. It does not reveal which account, or why. */
const providersIssue: PaymentStatus = {
  acceptable: false,
  reason: 'delinquent',
  message: 'contact your provider',
}

// An account is billed through its parent, that one through its own, and so on: as high as a tree can be.
const maxChainLength = 64

/** Whether accounts may be charged more. */
export const createPaymentStatuses = (deps: {
  books: PricingData
  settings: Settings
  bookkeepers: Bookkeepers
}) => {
  const { books, settings, bookkeepers } = deps

  /** The account that pays: the end of the chain of billing ids. */
  const payerOf = async (account: AccountRecord, left = maxChainLength): Promise<AccountRecord> => {
    const { billing_id: billingId } = await books.docOf(account.id)
    if (billingId === undefined || billingId === account.id || left === 0) return account
    const payer = await books.account(billingId)
    return payer ? payerOf(payer, left - 1) : account
  }

  return {
    payerOf,

    providersIssue,

    /** Whether an account may be charged `amount` units more. */
    async of(account: AccountRecord, amount: number): Promise<PaymentStatus> {
      const { enforce_good_standing: isEnforced } = await settings.of(servicesSettings)
      if (!isEnforced || amount <= 0) return good
      const payer = await payerOf(account)
      const isOwn = payer.id === account.id
      const { status, reason = 'delinquent' } = await books.docOf(payer.id)
      if (status === 'delinquent')
        return isOwn ? unacceptable(reason, 'the account is not in good standing') : providersIssue
      for (const { bookkeeper } of (await books.terms(payer)).lists) {
        const standing = await bookkeepers.standing(payer, bookkeeper)
        if (!standing.acceptable) return isOwn ? standing : providersIssue
      }
      return good
    },
  }
}
