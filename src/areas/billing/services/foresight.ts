import { dollarsOfUnits } from '../../../lib/money.ts'
import type { Store } from '../../../storage/store.ts'
import type { ChargePreview, PreviewedCharge } from '../../work/tasks/operations.ts'
import type { PricingData } from './books.ts'
import { type Charged, compareCharged } from './charged.ts'
import { movesOfSets } from './moves.ts'
import { chargesOf, comparedJson, isChanged, priceAccount } from './pricing/invoices.ts'
import type { QuantityReader } from './quantities/operations.ts'
import { leavesOf, moved, type Totals, withMore } from './quantities/rules.ts'

/** By how much counts would change, by the account that pays for them. */
type Foreseen = Readonly<Record<string, Totals>>

const noTotals: Totals = { account: {}, cascade: {} }

/** Whether a count falls. */
const isFalling = ({ account, cascade }: Totals) =>
  [account, cascade].flatMap(leavesOf).some(({ count }) => count < 0)

/** The charges of a dry run, priced as if all its changes were accepted at once. */
export const createChargePreview = (deps: {
  store: Store
  books: PricingData
  quantities: QuantityReader
  charged: Charged
}): ChargePreview<Foreseen> => {
  const { store, books, quantities, charged } = deps

  const chargeOf = async (accountId: string, more: Totals): Promise<PreviewedCharge | undefined> => {
    const account = await books.account(accountId)
    if (!account) return undefined
    const lists = await books.lists(account, isFalling(more) ? await charged.of(accountId) : undefined)
    const counted = await books.counted(accountId, lists)
    const after = priceAccount(lists, withMore(counted, more))
    const before = priceAccount(lists, counted)
    const compared = await compareCharged(before, after, store.clock.now(), {
      charged: () => charged.of(accountId),
    })
    if (!compared.some(isChanged)) return undefined
    const { today, monthly } = chargesOf(compared)
    return {
      account_id: accountId,
      name: account.doc.name,
      today: dollarsOfUnits(today),
      recurring: dollarsOfUnits(monthly),
      invoices: compared.map(comparedJson),
    }
  }

  return {
    async add(foreseen = {}, sets) {
      const requests = await movesOfSets(sets, { treeOf: books.treeOf, quantitiesOf: quantities.of })
      const moves = requests.filter(({ isCorrection }) => !isCorrection).flatMap((request) => request.moves)
      const after: Record<string, Totals> = { ...foreseen }
      for (const id of new Set(moves.flatMap(({ chain }) => chain))) {
        const own = moves.filter(({ chain }) => chain.includes(id))
        const isRemoving = own.some(({ delta }) => delta < 0)
        if (await books.isPaying(id, isRemoving)) after[id] = moved(after[id] ?? noTotals, id, own)
      }
      return after
    },

    async terms(accountId) {
      const account = await books.account(accountId)
      return account ? (await books.terms(account)).lists : []
    },

    async priced(foreseen = {}) {
      const charges = await Promise.all(
        Object.entries(foreseen).map(([accountId, more]) => chargeOf(accountId, more)),
      )
      return charges.filter((charge) => charge !== undefined)
    },
  }
}
