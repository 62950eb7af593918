// What older clients read beside transactions: the monthly bills, and what an account pays as a subscription.
import { gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import { itemJson, taxLineJson } from '../../services/area.ts'
import type { Invoice } from '../../services/pricing/invoices.ts'
import { billingCycle } from '../../services/rules.ts'
import { bookkeeperOfKey } from '../../services/synchronization/rules.ts'
import type { Bill } from '../billing/store.ts'

export const billJson = ({ month, bookkeeper, created, amount, doc }: Bill) => ({
  id: doc.ledger_id,
  amount: dollarsOfUnits(amount),
  type: 'debit',
  reason: 'recurring',
  description: `Services of ${month}`,
  bookkeeper: bookkeeperOfKey(bookkeeper),
  ...(doc.transaction_id === undefined ? {} : { transaction_id: doc.transaction_id }),
  created,
})

const monthOf = (unixMilliseconds: number) => {
  const day = new Date(unixMilliseconds)
  return gregorianOfUnix(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1) / 1000)
}

/** One for each bookkeeper. Times in Gregorian seconds. */
export const subscriptionsOf = (invoices: readonly Invoice[], firstGregorian: number, nowUnixMs: number) => {
  const { next } = billingCycle(nowUnixMs, gregorianOfUnix)
  return invoices.map(({ bookkeeper, total, taxes, items }) => ({
    id: bookkeeper.id,
    bookkeeper,
    // With the taxes that are added: it is what is paid.
    price: dollarsOfUnits(total),
    taxes: taxes.map(taxLineJson),
    billing_first_date: firstGregorian,
    billing_start_date: monthOf(nowUnixMs),
    billing_end_date: next - 1,
    next_bill_date: next,
    add_ons: items.map((item) => {
      const { name, quantity, rate, total } = itemJson(item)
      return { id: name, quantity, amount: rate, total }
    }),
  }))
}
