import { monthOf } from '../../../lib/time-key.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { type ComparedInvoice, compareInvoices, type Invoice, isProrated } from './pricing/invoices.ts'
import type { PriceList } from './pricing/merge.ts'
import type { Bookkeeper, ItemPlan, ItemPlans } from './pricing/plan.ts'
import { type ChargedItem, spanOf } from './pricing/proration.ts'
import { createChargedStore, createTurnStore } from './store.ts'

/** `category/item` -> what an account was charged for it in a month. */
export type ChargedItems = Map<string, ChargedItem>

const itemKey = ({ category, key }: { category: string; key: string }) => `${category}/${key}`

// A category whose name contains a slash is read wrongly: its items are then counted as none, and nothing is given back.
const placeOfItem = (key: string) => {
  const slash = key.indexOf('/')
  return { category: key.slice(0, slash), item: key.slice(slash + 1) }
}

/** Units of an item. */
interface Part {
  category: string
  key: string
  total: number
}

interface PartsOfBill {
  month: number
  items: readonly Part[]
}

const sumOf = (parts: readonly Part[]) => parts.reduce((sum, { total }) => sum + total, 0)

/** Units of a part that nothing has given back. `charged`: units of its item, undefined for bills that nobody noted. */
const stillCharged = ({ total }: Part, charged = total) =>
  total <= 0 ? total : Math.max(0, Math.min(total, charged))

export type Charged = ReturnType<typeof createCharged>

/** What accounts were charged for what they have: no removal gives back more than that. */
export const createCharged = (store: Store) => {
  const rows = createChargedStore(store)
  const turns = createTurnStore(store)

  const currentMonth = () => Number(monthOf(store.clock.now()))

  const giveBack = (set: ChangeSet, accountId: string, { month, items }: PartsOfBill) => {
    for (const { total, ...item } of items)
      if (total !== 0) rows.add(set, { accountId, month, item: itemKey(item), amount: -total })
  }

  return {
    of: (accountId: string): Promise<ChargedItems> => rows.of(accountId, currentMonth()),

    /** A bill for a whole month. Whoever has just priced something that the account has prices it anew. */
    billed(set: ChangeSet, accountId: string, { month, invoice }: { month: number; invoice: Invoice }) {
      turns.pass(set, accountId)
      for (const priced of invoice.items) {
        const { category, item: key, total: amount } = priced
        const prices = [spanOf(priced)]
        if (amount !== 0)
          rows.add(set, { accountId, month, item: itemKey({ category, key }), amount, prices })
      }
    },

    /** What was agreed to for the rest of the month. */
    agreed(set: ChangeSet, accountId: string, compared: readonly ComparedInvoice[]) {
      const month = currentMonth()
      for (const { prorations } of compared)
        for (const proration of prorations) {
          const { total: amount, prices } = proration
          rows.add(set, { accountId, month, item: itemKey(proration), amount, prices })
        }
    },

    /** Parts of a bill that are given back. Whoever has just priced something that the account has prices it anew. */
    credited(set: ChangeSet, accountId: string, parts: PartsOfBill) {
      turns.pass(set, accountId)
      giveBack(set, accountId, parts)
    },

    /**
     * What is left of a bill is given back. Answers with the units that whatever was removed within its month gave back
     * before, and that are not given twice. Fails with `datastore_conflict` when something is removed meanwhile.
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
      return sumOf(items) - sumOf(kept)
    },

    /** What a request was charged for the rest of the month, and is given back: its entry in the ledger says for what. */
    returned(
      set: ChangeSet,
      accountId: string,
      { charge, amount }: { charge: { source: { service: string; id: string } }; amount: number },
    ) {
      const { service, id } = charge.source
      if (service !== 'prorations') return
      // In front of the item stands the request.
      const item = id.slice(id.indexOf('/') + 1)
      rows.add(set, { accountId, month: currentMonth(), item, amount: -amount })
    },
  }
}

/** What was charged for an item before, and by what is agreed to but not written yet. */
const chargedBy =
  (before: ChargedItems, agreed: ChargedItems = new Map()) =>
  (item: { category: string; key: string }): ChargedItem => {
    const [had, has] = [before.get(itemKey(item)), agreed.get(itemKey(item))]
    const { prices } = has ?? had ?? { prices: [] }
    return { amount: (had?.amount ?? 0) + (has?.amount ?? 0), ...(prices ? { prices } : {}) }
  }

/** Compares invoices. Removals refund at most what was charged this month, which is read only if something is prorated. */
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

/** An item that is counted as before and costs nothing. */
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
 * Price lists with the items that were charged this month and that no plan prices any more: they cost nothing, and their
 * removal gives back what was charged. `bookkeeper`: of an account without a price list.
 */
export const withFormerItems = (
  lists: readonly PriceList[],
  charged: ChargedItems,
  bookkeeper: Bookkeeper,
): readonly PriceList[] => {
  const keys = lists.flatMap(({ plan }) =>
    Object.entries(plan).flatMap(([category, items]) =>
      Object.keys(items).map((key) => itemKey({ category, key })),
    ),
  )
  const priced = new Set(keys)
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

/** The same with what a change that is not written yet comes to. */
export const withAccepted = (charged: ChargedItems, compared: readonly ComparedInvoice[]): ChargedItems => {
  const all = new Map(charged)
  for (const { prorations } of compared)
    for (const proration of prorations) {
      const key = itemKey(proration)
      all.set(key, { amount: (all.get(key)?.amount ?? 0) + proration.total, prices: proration.prices })
    }
  return all
}
