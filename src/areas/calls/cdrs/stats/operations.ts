import { invalid } from '../../../../lib/failure.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CdrStore } from '../store.ts'
import {
  addSums,
  type Cell,
  type Chart,
  inOrder,
  maxCells,
  piecesOf,
  type ReadSpan,
  readSpansOf,
  statOf,
} from './rules.ts'
import { createStatsStore, type TotalsQuery } from './store.ts'

/** Whose calls. */
interface ChartScope {
  accountId: string
  ownerId?: string
}

type Cells = Map<string, Cell>

const refuse = (end: number) =>
  invalid({
    created_from: {
      date_range: {
        message: `these are more than ${maxCells} rows: take a longer interval or a shorter range`,
        cause: end,
      },
    },
  })

const addCells = (cells: Cells, found: readonly Cell[], end: number) => {
  for (const cell of found) {
    const key = `${cell.start} ${cell.group_value}`
    const known = cells.get(key)
    if (known) addSums(known, cell)
    else cells.set(key, cell)
  }
  if (cells.size > maxCells) throw refuse(end)
}

export type CallStats = ReturnType<typeof createCallStats>

/** Calls counted and summed up, without reading them. */
export const createCallStats = ({ store, legs }: { store: Store; legs: CdrStore }) => {
  const stats = createStatsStore(store, legs)

  const addTallies = async (cells: Cells, question: TotalsQuery, span: ReadSpan) => {
    for (const piece of piecesOf(span, question.utcOffset))
      addCells(cells, await stats.tallies(question, piece), span.end)
  }

  /** Which tallies answer a chart; undefined when none are kept. */
  const tallyOf = (
    { ownerId }: ChartScope,
    { groupBy }: Chart,
  ): Pick<TotalsQuery, 'dimension' | 'group'> | undefined => {
    if (ownerId === undefined) return { dimension: groupBy ?? 'all', group: groupBy ? undefined : '' }
    const isOwn = groupBy === undefined || groupBy === 'owner_id'
    return isOwn ? { dimension: 'owner_id', group: ownerId } : undefined
  }

  const fill = async (cells: Cells, scope: ChartScope, chart: Chart, span: ReadSpan) => {
    const { utcOffset, groupBy } = chart
    const { accountId, ownerId } = scope
    const tally = tallyOf(scope, chart)
    if (tally) return addTallies(cells, { accountId, ...tally, bucket: span.bucket, utcOffset }, span)
    if (ownerId === undefined || groupBy === undefined) return
    for await (const found of stats.ofOwner({ accountId, ownerId }, groupBy, span, utcOffset))
      addCells(cells, found, span.end)
  }

  return {
    async chart(scope: ChartScope, chart: Chart) {
      const cells: Cells = new Map()
      for (const span of readSpansOf(chart)) await fill(cells, scope, chart, span)
      return [...cells.values()].sort(inOrder).map((cell) => statOf(cell, chart.groupBy !== undefined))
    },
  }
}
