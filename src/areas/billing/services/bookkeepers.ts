import type { AccountRecord } from '../../../auth/identity.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import type { Gateway, PaymentMeans } from '../../../payment/gateway.ts'
import type { Gateways } from '../../../payment/gateways.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { PricingData } from './books.ts'
import { defaultToken, isExpired, type PaymentToken } from './payment-tokens/rules.ts'
import type { PriceLists } from './price-book.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import { type DelinquencyReason, standingAfter } from './rules.ts'
import type { BookkeeperStatuses, PaymentStatus } from './standing.ts'
import type { Vendors } from './vendors.ts'

interface Deps {
  store: Store
  books: PricingData
  priceBook: PriceLists
  gateways: Gateways
  vendors: Vendors
}

const good: PaymentStatus = { acceptable: true }

const refused = (reason: string, message: string): PaymentStatus => ({ acceptable: false, reason, message })

/** What an account pays with. */
interface ChargedMeans extends PaymentMeans {
  last_four?: string
}

export type Bookkeepers = ReturnType<typeof createBookkeepers>

/** Who keeps the books of accounts, and what they say. */
export const createBookkeepers = ({ store, books, priceBook, gateways, vendors }: Deps) => {
  const docOf = async (accountId: string) => (await books.services.find(accountId))?.doc ?? {}

  const canCharge = ({ type }: Bookkeeper) => gateways.of(type)?.capabilities.charges === true

  const tokenFor = async (accountId: string, bookkeeper: Bookkeeper): Promise<PaymentToken | undefined> =>
    defaultToken((await docOf(accountId)).payment_tokens ?? {}, bookkeeper)

  /** Whether a gateway is set up for a bookkeeper that the account may be charged by. */
  const isReady = async (account: AccountRecord, gateway: Gateway, bookkeeper: Bookkeeper) =>
    (await gateway.isReady(bookkeeper.vendor_id)) && (await vendors.mayCharge(account, bookkeeper))

  const standingAt = async (
    account: AccountRecord,
    gateway: Gateway,
    bookkeeper: Bookkeeper,
  ): Promise<PaymentStatus> => {
    if (!(await isReady(account, gateway, bookkeeper)))
      return refused('bookkeeper_fault', `bookkeeper ${bookkeeper.type} is not set up`)
    if (!gateway.capabilities.tokens) return good
    const token = await tokenFor(account.id, bookkeeper)
    if (!token) return refused('no_payment_token', 'no payment method available')
    return isExpired(token, gregorianNow(store.clock))
      ? refused('no_payment_token', 'the payment method has expired')
      : good
  }

  const standings: BookkeeperStatuses = {
    /** What is known here: no bookkeeper is asked while a request waits. */
    async standing(account: AccountRecord, bookkeeper: Bookkeeper) {
      const gateway = gateways.of(bookkeeper.type)
      return gateway
        ? standingAt(account, gateway, bookkeeper)
        : refused('bookkeeper_fault', `there is no bookkeeper of type ${bookkeeper.type}`)
    },
  }

  return {
    ...standings,

    gateway: ({ type }: Bookkeeper) => gateways.of(type),

    isReady,

    /** Whether the account may still be charged by a bookkeeper that it was once to be charged by. */
    mayCharge: vendors.mayCharge,

    /** Who takes an account's money: the first bookkeeper of its plans that can, else the account's own. */
    async of(account: AccountRecord): Promise<Bookkeeper> {
      const services = await books.services.find(account.id)
      const { lists } = await books.terms(account)
      const named = lists.map(({ bookkeeper }) => bookkeeper)
      const own = await priceBook.bookkeeperOf(account, services?.doc ?? {})
      return named.find(canCharge) ?? (canCharge(own) ? own : (named[0] ?? own))
    },

    token: tokenFor,

    /** What a bookkeeper charges; undefined when it charges something, and there is nothing. */
    async means(accountId: string, bookkeeper: Bookkeeper): Promise<ChargedMeans | undefined> {
      const { customers = {} } = await docOf(accountId)
      const token = await tokenFor(accountId, bookkeeper)
      const customer = customers[`${bookkeeper.type}/${bookkeeper.vendor_id}`]
      if (!token || customer === undefined) return undefined
      const { last_four } = token.metadata
      return { token: token.id, customer, ...(last_four === undefined ? {} : { last_four }) }
    },

    /** Adds to a change set what a bookkeeper's word makes of an account's standing. */
    async note(set: ChangeSet, accountId: string, reason: DelinquencyReason, isGood: boolean) {
      const before = await books.services.find(accountId)
      const after = before && standingAfter(before.doc, reason, isGood)
      if (before && after !== before.doc) books.services.put(set, accountId, before, after ?? before.doc)
    },
  }
}
