import { monthOf } from '../../lib/time-key.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import type { ComparedInvoice, Invoice } from './pricing/invoices.ts'
import { createChargedStore, createTurnStore } from './store.ts'

/** `category/item` -> units that an account was charged for it in a month, less what was given back. */
export type ChargedItems = Map<string, number>

export const itemKey = ({ category, key }: { category: string; key: string }) => `${category}/${key}`

export type Charged = ReturnType<typeof createCharged>

/** What accounts were charged for what they have: no removal gives back more than that. */
export const createCharged = (store: Store) => {
  const rows = createChargedStore(store)
  const turns = createTurnStore(store)

  const currentMonth = () => Number(monthOf(store.clock.now()))

  return {
    of: (accountId: string): Promise<ChargedItems> => rows.of(accountId, currentMonth()),

    /** A bill for a whole month. Whoever has just priced something that the account has prices it anew. */
    billed(set: ChangeSet, accountId: string, { month, invoice }: { month: number; invoice: Invoice }) {
      turns.pass(set, accountId)
      rows.forgetBefore(set, accountId, month)
      for (const { category, item, total } of invoice.items)
        if (total !== 0)
          rows.add(set, { accountId, month, item: itemKey({ category, key: item }), amount: total })
    },

    /** What was agreed to for the rest of the month. */
    agreed(set: ChangeSet, accountId: string, compared: readonly ComparedInvoice[]) {
      const month = currentMonth()
      for (const { prorations } of compared)
        for (const proration of prorations)
          if (proration.total !== 0)
            rows.add(set, { accountId, month, item: itemKey(proration), amount: proration.total })
    },
    /** Parts of a bill that are given back. Whoever has just priced something that the account has prices it anew. */
    credited(set: ChangeSet, accountId: string, month: number, parts: ReadonlyMap<string, number>) {
      if (month !== currentMonth()) return
      turns.pass(set, accountId)
      for (const [item, amount] of parts)
        if (amount !== 0) rows.add(set, { accountId, month, item, amount: -amount })
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

/** The same for a change that is not written yet. */
export const addAgreed = (charged: ChargedItems, compared: readonly ComparedInvoice[]) => {
  for (const { prorations } of compared)
    for (const proration of prorations) {
      const key = itemKey(proration)
      charged.set(key, (charged.get(key) ?? 0) + proration.total)
    }
}
