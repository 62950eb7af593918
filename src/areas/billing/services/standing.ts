import type { AccountRecord } from '../../../auth/identity.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { PricingData } from './books.ts'
import type { PriceList } from './pricing/merge.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import { servicesSettings } from './settings.ts'

export type PaymentStatus = { acceptable: true } | { acceptable: false; reason: string; message?: string }

/** What is known of whether a bookkeeper will charge an account. */
export interface BookkeeperStatuses {
  standing(account: AccountRecord, bookkeeper: Bookkeeper): Promise<PaymentStatus>
}

export type PaymentStatuses = ReturnType<typeof createPaymentStatuses>

const good: PaymentStatus = { acceptable: true }

/** The reason when an account above is not in good standing. It does not reveal which account, or why. */
const providersIssue: PaymentStatus = {
  acceptable: false,
  reason: 'delinquent',
  message: 'contact your provider',
}

// An account is billed through its parent, that one through its own, and so on: as high as a tree can be.
const longestChain = 64

/** Whether accounts may be charged more. */
export const createPaymentStatuses = (tools: {
  books: PricingData
  settings: Settings
  bookkeepers: BookkeeperStatuses
}) => {
  const { books, settings, bookkeepers } = tools

  /** The account that pays: the end of the chain of billing ids. */
  const payerOf = async (account: AccountRecord, left = longestChain): Promise<AccountRecord> => {
    const billingId = (await books.services.find(account.id))?.doc.billing_id
    if (billingId === undefined || billingId === account.id || left === 0) return account
    const payer = await books.account(billingId)
    return payer ? payerOf(payer, left - 1) : account
  }

  const ask = async (account: AccountRecord, lists: readonly PriceList[]): Promise<PaymentStatus> => {
    for (const { bookkeeper } of lists) {
      const standing = await bookkeepers.standing(account, bookkeeper)
      if (!standing.acceptable) return standing
    }
    return good
  }

  return {
    payerOf,

    providersIssue,

    /** Whether an account may be charged `amount` units more. */
    async of(account: AccountRecord, amount: number): Promise<PaymentStatus> {
      const { enforce_good_standing: isEnforced } = await settings.of(servicesSettings)
      if (!isEnforced || amount <= 0) return good
      const payer = await payerOf(account)
      const services = await books.services.find(payer.id)
      if (services?.doc.status === 'delinquent') {
        const { reason = 'delinquent' } = services.doc
        if (payer.id !== account.id) return providersIssue
        return { acceptable: false, reason, message: 'the account is not in good standing' }
      }
      const { lists } = await books.terms(payer)
      const standing = await ask(payer, lists)
      return standing.acceptable || payer.id === account.id ? standing : providersIssue
    },
  }
}
