import { getServiceSummary, getServices, listAvailablePlans } from '@crosspoint/client'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { numberAt, partAt, textAt } from './values.ts'

/** An assigned plan with its overrides. */
export interface AssignedPlan {
  id: string
  vendor_id?: string
  overrides?: JsonObject
}

/** The plans of an account as they are given to a quote: one that is left out of it is priced as taken away. */
export const assignedIn = (plans: object): readonly AssignedPlan[] =>
  Object.entries(plans).map(([id, plan]) => {
    const vendor_id = textAt(plan, 'vendor_id')
    const overrides = partAt(plan, 'overrides')
    return {
      id,
      ...(vendor_id === undefined ? {} : { vendor_id }),
      ...(isObject(overrides) && Object.keys(overrides).length > 0 ? { overrides } : {}),
    }
  })

/** What an account has, by which plans. */
export const useServices = () => {
  const { accountId } = usePlace()
  return useAnswer(['services', accountId], (signal) =>
    getServices({ ...api, path: { account_id: accountId }, signal }),
  )
}

/** The resulting price. */
export const useSummary = () => {
  const { accountId } = usePlace()
  return useAnswer(['services', accountId, 'summary'], (signal) =>
    getServiceSummary({ ...api, path: { account_id: accountId }, signal }),
  )
}

/** The plans that the account's reseller sells, with their prices. */
export const useAvailable = () => {
  const { accountId } = usePlace()
  const query = { paginate: false, details: true }
  return useAnswer(['service_plan', accountId, 'available'], (signal) =>
    listAvailablePlans({ ...api, path: { account_id: accountId }, query, signal }),
  )
}

/** Dollars each month over all invoices, taxes included. */
export const monthlyOf = (invoices: readonly object[]) =>
  invoices.reduce((sum, invoice) => {
    const summary = partAt(invoice, 'summary')
    return sum + (numberAt(summary, 'total') ?? numberAt(summary, 'recurring') ?? 0)
  }, 0)
