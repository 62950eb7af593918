import { isObject } from '../../lib/json.ts'
import { textIn } from './desk.ts'
import type { BuiltCompany, BuiltReseller, Stage } from './tree.ts'

export const assignPlans = async (companies: readonly BuiltCompany[]) => {
  for (const { company, path, seller } of companies) {
    const planId = company.plan && seller.plans.get(company.plan)
    if (!planId) continue
    const tax = company.tongue === 'de' ? { tax: { jurisdiction: 'DE' } } : {}
    await seller.admin.post(`${path}/services`, { add: [planId], ...tax })
    await seller.admin.patch(`${path}/limits/operator`, { allow_postpay: true, max_postpay_amount: 100 })
  }
}

/** The month that has begun is billed, as it would be by itself. */
export const billEverybody = async ({ server }: Stage, accounts: readonly { id: string }[]) => {
  for (const { id } of accounts) await server.areas.payments.bill(id)
}

export const topUp = ({ path, seller }: BuiltCompany, amount: number) =>
  seller.admin.post(`${path}/services/topup`, { amount })

const secondsOfCall = 190
const dollarsOfSecond = 0.0002

/** A week's calls as one line of the ledger. */
export const chargeWeek = async ({ chance }: Stage, week: number, companies: readonly BuiltCompany[]) => {
  for (const { company, path, seller } of companies) {
    const quantity = Math.round(company.calls * secondsOfCall * (8 + chance.share() * 6))
    await seller.admin.put(`${path}/ledgers/debit`, {
      source: { service: 'per-minute-voip', id: `week ${week}` },
      usage: { type: 'voice', quantity, unit: 'sec' },
      amount: Math.round(quantity * dollarsOfSecond * 100 + 1) / 100,
      description: `Calls of week ${week}`,
    })
  }
}

export const giveBack = async ({ path, seller }: BuiltCompany) =>
  seller.admin.put(`${path}/ledgers/credit`, {
    source: { service: 'adjustments', id: 'outage of the lift' },
    usage: { type: 'credit', quantity: 1, unit: 'credit' },
    amount: 25,
    description: 'For the day on which nobody could call from the lift',
  })

/** Part of the newest invoice is given back. */
export const creditNewestInvoice = async ({ path, seller }: BuiltCompany) => {
  const answer = await seller.admin.send('GET', `${path}/invoices`, {})
  const [invoice] = Array.isArray(answer.data) ? answer.data : []
  if (!isObject(invoice)) return
  const note = { amount: 5, reason: 'Two phones arrived late' }
  await seller.admin.put(`${path}/invoices/${textIn(invoice, 'id')}/credit_notes`, note)
}

/** Dollars for what resellers pay themselves. */
export const topUpResellers = async ({ operator }: Stage, sellers: readonly BuiltReseller[]) => {
  for (const { path } of sellers) await operator.post(`${path}/services/topup`, { amount: 1500 })
}
