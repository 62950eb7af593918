import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { invalid } from '../../../lib/failure.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { PlanDoc } from './plans/schema.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import type { ServicesDoc } from './rules.ts'
import { createServicesStore } from './store.ts'

/** Plans and overrides may name the vendor of a bookkeeper. */
type Naming = Pick<PlanDoc, 'bookkeeper'> | undefined

const foreignVendor = (value: string) => {
  const message =
    'The vendor must be the seller, or a parent account that lists the seller in lends_bookkeepers_to'
  return invalid({ 'bookkeeper.vendor_id': { forbidden: { message, value } } })
}

export type Vendors = ReturnType<typeof createVendors>

/** Whose bookkeepers, and so whose credentials, collect the money of accounts. */
export const createVendors = (store: Store, accounts: Pick<Accounts, 'resellerOf'>) => {
  const services = createServicesStore(store)
  const find = (id: string) => store.records.find(id, accountKind, id)

  /** A seller uses its own bookkeepers, and those that parent accounts lend it. */
  const mayUse = async (seller: AccountRecord, vendorId: string): Promise<boolean> => {
    if (vendorId === seller.id) return true
    if (!seller.hidden.tree.includes(vendorId)) return false
    const borrowers = (await find(vendorId))?.doc.lends_bookkeepers_to
    return Array.isArray(borrowers) && borrowers.includes(seller.id)
  }

  /** Who sells to an account: its reseller, and the owners of its plans. */
  const sellersTo = async (account: AccountRecord): Promise<Set<string>> => {
    const doc: ServicesDoc = (await services.find(account.id))?.doc ?? {}
    const owners = Object.values(doc.plans ?? {}).map(({ vendor_id: vendorId }) => vendorId)
    return new Set([await accounts.resellerOf(account), ...owners])
  }

  const assertMayUse = async (seller: AccountRecord, ...named: readonly Naming[]) => {
    for (const one of named) {
      const vendorId = one?.bookkeeper?.vendor_id
      if (vendorId !== undefined && !(await mayUse(seller, vendorId))) throw foreignVendor(vendorId)
    }
  }

  return {
    /** Refuses documents of a seller that name a bookkeeper that it may not use. */
    assertMayUse,

    /** The same for what an account's reseller sets for it. */
    async assertMaySell(account: AccountRecord, ...named: readonly Naming[]) {
      if (named.every((one) => one?.bookkeeper?.vendor_id === undefined)) return
      const seller = await find(await accounts.resellerOf(account))
      if (seller) await assertMayUse(seller, ...named)
    },

    /** Whether a bookkeeper may charge an account. A plan may name one that was permitted only in the past. */
    async mayCharge(account: AccountRecord, { vendor_id: vendorId }: Pick<Bookkeeper, 'vendor_id'>) {
      const sellers = await sellersTo(account)
      if (sellers.has(vendorId)) return true
      for (const id of sellers) {
        const seller = await find(id)
        if (seller && (await mayUse(seller, vendorId))) return true
      }
      return false
    },
  }
}
