import type { CountMove } from './moves.ts'
import type { ComparedInvoice, Invoice } from './pricing/invoices.ts'
import { allItems, type TaxLine, taxJson, taxKey, taxLineJson } from './pricing/plan.ts'

// What an invoice charges, as ledger lines. Inclusive taxes are part of the lines that they are on.

type DueService = 'services' | 'prorations' | 'taxes'

/** The amounts of an invoice's lines add up to it exactly; none is 0. */
interface DueLine {
  service: DueService
  /** Unique within an invoice. Invoices of other bookkeepers have the same keys. */
  key: string
  usage: { type: string; quantity: number; unit: string }
  /** Units; negative: refunded. */
  amount: number
  description: string
  metadata?: Record<string, unknown>
}

const taxLine = (line: TaxLine): DueLine[] => {
  const { tax, amount } = line
  if (tax.inclusive || amount === 0) return []
  const { tax_id: unit, jurisdiction } = taxJson(tax)
  const place = jurisdiction === undefined ? '' : ` (${jurisdiction})`
  return [
    {
      service: 'taxes',
      key: `taxes/${taxKey(tax)}`,
      usage: { type: 'taxes', quantity: 1, unit },
      amount,
      description: `${tax.name} ${tax.rate}%${place}`,
      metadata: taxLineJson(line),
    },
  ]
}

const activationLines = ({ activations }: ComparedInvoice): DueLine[] =>
  activations.map(({ category, key, item, name, billable, total }) => ({
    service: 'services',
    key: `${category}/${key}`,
    usage: { type: category, quantity: billable, unit: item },
    amount: total,
    description: `Activation of ${billable} ${name}`,
  }))

const prorationLines = ({ prorations }: ComparedInvoice): DueLine[] =>
  prorations
    .filter(({ total }) => total !== 0)
    .map(({ category, key, item, name, quantity, days, daysInMonth, total }) => ({
      service: 'prorations',
      key: `${category}/${key}`,
      usage: { type: category, quantity: Math.abs(quantity), unit: item },
      amount: total,
      description: `${quantity} ${name} for ${days} of ${daysInMonth} days`,
      metadata: { days, days_in_month: daysInMonth },
    }))

/** What is due at once: `amount`s add up to the invoice's `today`. */
export const dueToday = (compared: ComparedInvoice): DueLine[] => [
  ...activationLines(compared),
  ...prorationLines(compared),
  ...compared.taxesToday.flatMap(taxLine),
]

/** What is due for a month: `amount`s add up to the invoice's `total`. */
export const dueMonthly = ({ recurring, taxes }: Invoice, month: number): DueLine[] => {
  const services: DueLine = {
    service: 'services',
    key: 'month',
    usage: { type: 'services', quantity: 1, unit: 'month' },
    amount: recurring,
    description: `Services of ${month}`,
  }
  return [...(recurring === 0 ? [] : [services]), ...taxes.flatMap(taxLine)]
}

/** The counts that a line is about. */
export interface Counting {
  category: string
  /** One item, or all of the category. */
  item: string
  /** Items that `_all` omits. */
  exceptions: readonly string[]
}

/** An accepted immediate charge, with the number of its items: a refund needs it. */
export interface AcceptedLine extends DueLine {
  /** Absent on taxes. */
  counting?: Counting
  units?: number
}

type Moved = Pick<CountMove, 'category' | 'item' | 'delta'>

const isCountedBy = ({ category, item, exceptions }: Counting, moved: Moved) =>
  moved.category === category && (item === allItems ? !exceptions.includes(moved.item) : moved.item === item)

/** The items of a line that are added; removed ones count negative. */
export const unitsMoved = (counting: Counting, moves: readonly Moved[]) =>
  moves.reduce((sum, moved) => (isCountedBy(counting, moved) ? sum + moved.delta : sum), 0)

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

export const agreedLines = (
  compared: readonly ComparedInvoice[],
  moves: readonly CountMove[],
): AcceptedLine[] =>
  compared.flatMap((invoice) =>
    dueToday(invoice).map((line) => {
      const counting = countingOf(invoice, line)
      return counting ? { ...line, counting, units: unitsMoved(counting, moves) } : line
    }),
  )
