import type { CountMove } from './moves.ts'
import { type DueLine, dueToday } from './pricing/due.ts'
import type { ComparedInvoice } from './pricing/invoices.ts'
import { allItems } from './pricing/plan.ts'

/** Which counts a line of an invoice is about. */
export interface Counting {
  category: string
  /** One item, or all of the category. */
  item: string
  /** What all of the category leaves out. */
  exceptions: readonly string[]
}

/** What is charged at once for what moves, and how much of what it is for: so much can be given back. */
export interface AcceptedLine extends DueLine {
  /** Absent on lines that are about other lines: taxes. */
  counting?: Counting
  /** How many moved. */
  units?: number
}

type Moved = Pick<CountMove, 'category' | 'item'> & { delta: number }

const isCounted = ({ category, item, exceptions }: Counting, moved: Pick<Moved, 'category' | 'item'>) =>
  moved.category === category && (item === allItems ? !exceptions.includes(moved.item) : moved.item === item)

/** How many of what a line counts move; taken away counts negative. */
export const unitsMoved = (counting: Counting, moves: readonly Moved[]) =>
  moves.reduce((sum, moved) => (isCounted(counting, moved) ? sum + moved.delta : sum), 0)

const countingOf = ({ after }: ComparedInvoice, line: DueLine): Counting | undefined => {
  const priced = after.items.find(({ category, item }) => `${category}/${item}` === line.key)
  if (line.service === 'taxes' || !priced) return undefined
  const { category, item, plan } = priced
  return {
    category: plan.quantity?.category ?? category,
    item: plan.quantity?.name ?? item,
    exceptions: plan.exceptions ?? [],
  }
}

/** What agreed invoices charge at once for some moves. */
export const agreedLines = (
  compared: readonly ComparedInvoice[],
  moves: readonly CountMove[],
): AcceptedLine[] => {
  const deltas = moves.map(({ category, item, own, below }) => ({ category, item, delta: own + below }))
  return compared.flatMap((invoice) =>
    dueToday(invoice).map((line) => {
      const counting = countingOf(invoice, line)
      return counting ? { ...line, counting, units: unitsMoved(counting, deltas) } : line
    }),
  )
}
