import { dollarsOfUnits } from '../../../lib/money.ts'
import type { Store } from '../../../storage/store.ts'
import type { ChargePreview, PreviewedCharge } from '../../work/tasks/operations.ts'
import type { PricingData } from './books.ts'
import { type Charged, chargedBy } from './charged.ts'
import { type CountMove, movesOfSets } from './moves.ts'
import {
  type ComparedInvoice,
  comparedJson,
  compareInvoices,
  type Invoice,
  isChanged,
  isProrated,
  priceAccount,
  riseOf,
} from './pricing/invoices.ts'
import type { QuantityReader } from './quantities/operations.ts'
import { moved, type Totals, withMore } from './quantities/rules.ts'

interface Deps {
  store: Store
  books: PricingData
  quantities: QuantityReader
  charged: Charged
}

/** By how much counts would move, by the account that pays for them. */
type Foreseen = Readonly<Record<string, Totals>>

const none: Totals = { account: {}, cascade: {} }

/** Whether a count falls. */
const isFalling = ({ account, cascade }: Totals) =>
  [account, cascade].some((counts) =>
    Object.values(counts).some((items) => Object.values(items).some((delta) => delta < 0)),
  )

const sumOf = (compared: readonly ComparedInvoice[], unitsOf: (one: ComparedInvoice) => number) =>
  dollarsOfUnits(compared.reduce((sum, one) => sum + unitsOf(one), 0))

/**
 * What changes would cost that nobody writes. Priced as though all of them were agreed to at once, on what there is when
 * they are priced.
 */
export const createChargePreview = (tools: Deps): ChargePreview<Foreseen> => {
  const { store, books, quantities, charged } = tools

  /** As whoever consents compares them: no more is given back than was charged. */
  const compare = async (accountId: string, before: readonly Invoice[], after: readonly Invoice[]) => {
    const moment = store.clock.now()
    const compared = compareInvoices(before, after, moment)
    if (!isProrated(compared)) return compared
    return compareInvoices(before, after, moment, chargedBy(await charged.of(accountId)))
  }

  const chargeOf = async (accountId: string, more: Totals): Promise<PreviewedCharge | undefined> => {
    const account = await books.account(accountId)
    if (!account) return undefined
    const lists = await books.lists(account, isFalling(more) ? await charged.of(accountId) : undefined)
    const counted = await books.counted(accountId, lists)
    const after = priceAccount(lists, withMore(counted, more))
    const compared = await compare(accountId, priceAccount(lists, counted), after)
    if (!compared.some(isChanged)) return undefined
    return {
      account_id: accountId,
      name: account.doc.name,
      today: sumOf(compared, ({ today }) => today),
      recurring: sumOf(compared, riseOf),
      invoices: compared.map(comparedJson),
    }
  }

  /** What moves and is paid for: nobody pays for corrections. */
  const movesByPayer = (moves: readonly CountMove[]) => {
    const byPayer = new Map<string, CountMove[]>()
    for (const move of moves) for (const id of move.chain) byPayer.set(id, [...(byPayer.get(id) ?? []), move])
    return byPayer
  }

  return {
    async add(foreseen = {}, sets) {
      const requests = await movesOfSets(sets, { treeOf: books.treeOf, quantitiesOf: quantities.of })
      const moves = requests.filter(({ isCorrection }) => !isCorrection).flatMap((request) => request.moves)
      const after: Record<string, Totals> = { ...foreseen }
      for (const [id, own] of movesByPayer(moves)) {
        const isRemoving = own.some((move) => move.own + move.below < 0)
        if (await books.isPaying(id, isRemoving)) after[id] = moved(after[id] ?? none, id, own)
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
