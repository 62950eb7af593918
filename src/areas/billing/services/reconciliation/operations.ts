import type { AccountRecord } from '../../../../auth/identity.ts'
import type { Step } from '../../../../jobs/steps.ts'
import { type Author, ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CountSource } from '../../../area.ts'
import type { QuantityReader } from '../quantities/operations.ts'
import { differencesBetween, itemsIn, type Quantities } from '../quantities/rules.ts'

// An account that changes during all attempts fails with a conflict.
const maxRecounts = 5

/** Counts an account's records again and corrects its quantities. */
export const createReconciliation = (
  store: Store,
  quantities: QuantityReader,
  sources: readonly CountSource[],
) => {
  const recount = async (accountId: string): Promise<Quantities> => {
    const counted: Quantities = {}
    for (const source of sources)
      for await (const counts of source(accountId))
        for (const [category, item, count = 1] of counts) {
          const items = itemsIn(counted, category)
          counted[category] = items
          items[item] = (items[item] ?? 0) + count
        }
    return counted
  }

  /** The differences, read while nothing moved. */
  const findWrong = async (accountId: string, attempt = 1) => {
    const before = await quantities.own(accountId)
    const counted = await recount(accountId)
    const after = await quantities.own(accountId)
    if (differencesBetween(before, after).length === 0) return differencesBetween(before, counted)
    if (attempt === maxRecounts) throw conflict()
    return findWrong(accountId, attempt + 1)
  }

  /** Corrections need no acceptance and cost nothing. */
  const plan = async (author: Author, account: AccountRecord): Promise<Step> => {
    const wrong = await findWrong(account.id)
    if (wrong.length === 0) return { sets: [], changed: 0 }
    const set = new ChangeSet(author)
    set.isCorrection = true
    for (const { category, item, delta } of wrong) set.count(account.id, category, item, delta)
    set.record({ accountId: account.id, kind: 'quantities', id: account.id, action: 'edited' })
    return { sets: [set], changed: wrong.length }
  }

  return {
    recount,
    plan,

    differences: (accountId: string) => findWrong(accountId),

    /** Returns the number of corrected counts. */
    async reconcile(author: Author, account: AccountRecord): Promise<number> {
      const { sets, changed } = await plan(author, account)
      if (changed > 0) await store.commit(...sets)
      return changed
    },
  }
}
