import { monthNumber } from '../../../lib/time-key.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { ItemPlan, ItemPlans } from './plans/schema.ts'
import { type ComparedInvoice, compareInvoices, type Invoice, isProrated } from './pricing/invoices.ts'
import type { PriceList } from './pricing/merge.ts'
import type { Bookkeeper } from './pricing/plan.ts'
import { type ChargedItem, spanOf } from './pricing/proration.ts'
import { createChargedStore, createTurnStore } from './store.ts'

/** `category/item` -> what an account was charged for it in a month. */
export type ChargedItems = Map<string, ChargedItem>

const itemKey = ({ category, key }: { category: string; key: string }) => `${category}/${key}`

// A category with a slash in its name is parsed wrongly: nothing is refunded for its items.
const placeOfItem = (key: string) => {
  const slash = key.indexOf('/')
  return { category: key.slice(0, slash), item: key.slice(slash + 1) }
}

/** Units of an item. */
interface ItemPart {
  category: string
  key: string
  total: number
}

interface PartsOfBill {
  month: number
  items: readonly ItemPart[]
}

const partsTotal = (parts: readonly ItemPart[]) => parts.reduce((sum, { total }) => sum + total, 0)

/** Units of a part that are not refunded yet. `charged`: units of its item; undefined for unrecorded bills. */
const stillCharged = ({ total }: ItemPart, charged = total) =>
  total <= 0 ? total : Math.max(0, Math.min(total, charged))

export type Charged = ReturnType<typeof createCharged>

/** The charges of accounts: removals refund no more than that. */
export const createCharged = (store: Store) => {
  const rows = createChargedStore(store)
  const turns = createTurnStore(store)

  const currentMonth = () => monthNumber(store.clock.now())

  const giveBack = (set: ChangeSet, accountId: string, { month, items }: PartsOfBill) => {
    for (const { total, ...item } of items)
      if (total !== 0) rows.add(set, { accountId, month, item: itemKey(item), amount: -total })
  }

  return {
    of: (accountId: string): Promise<ChargedItems> => rows.of(accountId, currentMonth()),

    /** Records a monthly bill. Concurrent requests that have priced the account price it again. */
    billed(set: ChangeSet, accountId: string, { month, invoice }: { month: number; invoice: Invoice }) {
      turns.pass(set, accountId)
      for (const priced of invoice.items) {
        const { category, item: key, total: amount } = priced
        const item = itemKey({ category, key })
        if (amount !== 0) rows.add(set, { accountId, month, item, amount, prices: [spanOf(priced)] })
      }
    },

    /** Records accepted charges for the rest of the month. */
    agreed(set: ChangeSet, accountId: string, compared: readonly ComparedInvoice[]) {
      const month = currentMonth()
      for (const proration of compared.flatMap(({ prorations }) => prorations)) {
        const { total: amount, prices } = proration
        rows.add(set, { accountId, month, item: itemKey(proration), amount, prices })
      }
    },

    /** Records a credit note. Concurrent requests that have priced the account price it again. */
    credited(set: ChangeSet, accountId: string, parts: PartsOfBill) {
      turns.pass(set, accountId)
      giveBack(set, accountId, parts)
    },

    /**
     * Records a cancelled bill. Returns the units that removals within its month have refunded already. Fails with
     * `datastore_conflict` if something is removed at the same time.
     */
    async cancelled(set: ChangeSet, accountId: string, { month, items }: PartsOfBill): Promise<number> {
      const turn = await turns.of(accountId)
      const before = await rows.of(accountId, month)
      set.statements.push(...turns.take([{ accountId, turn }]).statements)
      const kept = items.map((part) => ({
        ...part,
        total: stillCharged(part, before.get(itemKey(part))?.amount),
      }))
      giveBack(set, accountId, { month, items: kept })
      return partsTotal(items) - partsTotal(kept)
    },

    /** Records the refund of a prorated charge. Its ledger entry names the item. */
    returned(
      set: ChangeSet,
      accountId: string,
      { charge, amount }: { charge: { source: { service: string; id: string } }; amount: number },
    ) {
      const { service, id } = charge.source
      if (service !== 'prorations') return
      // The id is `request/item`.
      const item = id.slice(id.indexOf('/') + 1)
      rows.add(set, { accountId, month: currentMonth(), item, amount: -amount })
    },
  }
}

/** The charges of an item, with accepted ones that are not written yet. */
const chargedBy =
  (before: ChargedItems, agreed: ChargedItems = new Map()) =>
  (item: { category: string; key: string }): ChargedItem => {
    const [had, has] = [before.get(itemKey(item)), agreed.get(itemKey(item))]
    const { prices } = has ?? had ?? { prices: [] }
    return { amount: (had?.amount ?? 0) + (has?.amount ?? 0), prices }
  }

/** Removals refund at most what was charged this month, which is read only if something is prorated. */
export const compareCharged = async (
  before: readonly Invoice[],
  after: readonly Invoice[],
  moment: number,
  { charged, agreed }: { charged(): Promise<ChargedItems>; agreed?: ChargedItems },
) => {
  const compared = compareInvoices(before, after, moment)
  if (!isProrated(compared)) return compared
  return compareInvoices(before, after, moment, chargedBy(await charged(), agreed))
}

/** The same item at no cost. */
const unpriced = (plan: ItemPlan): ItemPlan => ({
  ...plan,
  rate: 0,
  rates: {},
  flat_rate: 0,
  flat_rates: {},
  minimum: 0,
  activation_charge: 0,
  taxes: [],
})

/**
 * Adds the items that were charged this month and no longer have a price: they cost nothing, and removals
 * refund the charge. `bookkeeper`: that of an account without a price list.
 */
export const withFormerItems = (
  lists: readonly PriceList[],
  charged: ChargedItems,
  bookkeeper: Bookkeeper,
): readonly PriceList[] => {
  const priced = new Set(
    lists.flatMap(({ plan }) =>
      Object.entries(plan).flatMap(([category, items]) =>
        Object.keys(items).map((key) => itemKey({ category, key })),
      ),
    ),
  )
  const former: ItemPlans = {}
  for (const [key, { amount, prices = [] }] of charged) {
    const plan = prices.at(-1)?.plan
    if (amount <= 0 || !plan || priced.has(key)) continue
    const { category, item } = placeOfItem(key)
    former[category] = { ...former[category], [item]: unpriced(plan) }
  }
  if (Object.keys(former).length === 0) return lists
  const [first = { bookkeeper, plan: {} }, ...others] = lists
  const plan = { ...first.plan }
  for (const [category, items] of Object.entries(former)) plan[category] = { ...plan[category], ...items }
  return [{ ...first, plan }, ...others]
}

/** Adds the charges of an accepted change that is not written yet. */
export const withAccepted = (charged: ChargedItems, compared: readonly ComparedInvoice[]): ChargedItems => {
  const all = new Map(charged)
  for (const proration of compared.flatMap(({ prorations }) => prorations)) {
    const key = itemKey(proration)
    all.set(key, { amount: (all.get(key)?.amount ?? 0) + proration.total, prices: proration.prices })
  }
  return all
}
