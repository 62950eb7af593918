import type { Author, ChangeSet, Transfer } from '../../../storage/change-set.ts'
import { leavesOf, type Totals } from './quantities/rules.ts'

/** A change of a count. */
export interface CountMove {
  accountId: string
  /** The name of a new account, which cannot be read yet. */
  name?: string | undefined
  category: string
  item: string
  delta: number
  /** The accounts that it counts for, nearest first: its own and its parents, or the parents that it leaves or joins. */
  chain: readonly string[]
}

/** The changes of one request. */
export interface MoveRequest {
  set: ChangeSet
  author: Author
  moves: CountMove[]
  isCorrection: boolean
}

interface Lookups {
  treeOf(accountId: string): Promise<readonly string[]>
  quantitiesOf(accountId: string): Promise<Totals>
}

const countMoves = (
  { counts, newcomers, transfers }: ChangeSet,
  { treeOf }: Lookups,
): Promise<CountMove[]> => {
  // Accounts that move or are deleted are counted as a whole.
  const leaving = new Set(transfers.flatMap(({ accountId, to }) => (to ? [] : [accountId])))
  const staying = counts.filter(({ accountId }) => !leaving.has(accountId))
  return Promise.all(
    staying.map(async ({ accountId, ...count }) => {
      const newcomer = newcomers.get(accountId)
      const tree = newcomer?.tree ?? (await treeOf(accountId))
      return { accountId, name: newcomer?.name, ...count, chain: [accountId, ...tree.toReversed()] }
    }),
  )
}

/** The counts of an account and its sub-accounts, for the parents that it leaves or joins. */
const transferMoves = async (
  { accountId, from, to = [] }: Transfer,
  { quantitiesOf }: Lookups,
): Promise<CountMove[]> => {
  const { account, cascade } = await quantitiesOf(accountId)
  const counts = [account, cascade].flatMap(leavesOf)
  const movesFor = (chain: readonly string[], sign: 1 | -1) =>
    chain.length === 0
      ? []
      : counts.map(({ category, item, count }) => ({ accountId, category, item, delta: sign * count, chain }))
  const losing = from.filter((id) => !to.includes(id)).toReversed()
  const gaining = to.filter((id) => !from.includes(id)).toReversed()
  return [...movesFor(losing, -1), ...movesFor(gaining, 1)]
}

const requestOf = async (set: ChangeSet, lookups: Lookups): Promise<MoveRequest> => {
  const transferred = await Promise.all(set.transfers.map((transfer) => transferMoves(transfer, lookups)))
  // The items of a moved account are not charged again.
  const isCorrection = set.isCorrection || set.transfers.some(({ to }) => to !== undefined)
  return {
    set,
    author: set.author,
    moves: [...(await countMoves(set, lookups)), ...transferred.flat()],
    isCorrection,
  }
}

/** The accounts whose counts change, and their parents. */
export const concernedBy = async (
  sets: readonly ChangeSet[],
  treeOf: Lookups['treeOf'],
): Promise<ReadonlySet<string>> => {
  const concerned = new Set<string>()
  for (const { counts, newcomers, transfers } of sets) {
    for (const { accountId } of counts) {
      // Its parents are known already.
      if (concerned.has(accountId)) continue
      concerned.add(accountId)
      for (const id of newcomers.get(accountId)?.tree ?? (await treeOf(accountId))) concerned.add(id)
    }
    for (const { from, to = [] } of transfers) for (const id of [...from, ...to]) concerned.add(id)
  }
  return concerned
}

export const removes = ({ counts, transfers }: ChangeSet) =>
  transfers.length > 0 || counts.some(({ delta }) => delta < 0)

export const isMoving = ({ counts, transfers }: ChangeSet) => counts.length + transfers.length > 0

/** The changes of each request, in their order. */
export const movesOfSets = async (sets: readonly ChangeSet[], lookups: Lookups): Promise<MoveRequest[]> => {
  const requests: MoveRequest[] = []
  for (const set of sets.filter(isMoving)) {
    const request = await requestOf(set, lookups)
    const known = requests.find(
      ({ author, isCorrection }) =>
        author.requestId === set.author.requestId && isCorrection === request.isCorrection,
    )
    if (known) known.moves.push(...request.moves)
    else requests.push(request)
  }
  return requests
}
