import { ChargesNeeded, type Envelope, type QuotedInvoice } from '../client/src/core.ts'
import { askWhether } from './ask.ts'
import { textIn } from './rows.ts'
import { type Column, createTable } from './table.ts'
import type { Terminal } from './terminal.ts'

interface Line {
  what: string
  quantity: string
  today: string
  monthly: string
}

const dollars = (amount: number | undefined) => (amount === undefined ? '' : amount.toFixed(2))

const totalIn = (item: object) => {
  const total = Number.parseFloat(textIn(item, 'total'))
  return dollars(Number.isNaN(total) ? undefined : total)
}

const lineOf = (item: object, more: Partial<Line> & { note?: string }): Line => {
  const name =
    textIn(item, 'name') || [textIn(item, 'category'), textIn(item, 'item')].filter(Boolean).join(' ')
  const { note = '', today = '', monthly = '' } = more
  return { what: `${name}${note}`, quantity: textIn(item, 'quantity'), today, monthly }
}

/** Only the items that the request changes. */
const linesOf = ({ items, activation_charges, prorations, summary }: QuotedInvoice): Line[] => [
  ...activation_charges.map((item) => lineOf(item, { note: ', one-time', today: totalIn(item) })),
  ...prorations.map((item) => lineOf(item, { note: ', rest of this month', today: totalIn(item) })),
  ...items
    .filter(({ changes }) => changes !== undefined)
    .map((item) => lineOf(item, { monthly: totalIn(item) })),
  { what: 'total', quantity: '', today: dollars(summary.today), monthly: dollars(summary.recurring) },
]

const columns: readonly Column<Line>[] = [
  { title: 'CHARGE', of: ({ what }) => what },
  { title: 'QUANTITY', of: ({ quantity }) => quantity, align: 'right' },
  { title: 'TODAY', of: ({ today }) => today, align: 'right' },
  { title: 'PER MONTH', of: ({ monthly }) => monthly, align: 'right' },
]

/** Written to standard error: the result may be JSON. */
const showCharges = async (terminal: Terminal, { invoices }: ChargesNeeded) => {
  const errorOutput = {
    ...terminal,
    print: async (text: string) => terminal.printError(text.trimEnd()),
    paint: terminal.paintError,
  }
  const table = createTable(errorOutput, columns)
  for (const line of invoices.flatMap(linesOf)) await table.add(line)
  await table.end()
}

interface Agreement {
  yes?: boolean
}

/** Sends the request; if it costs something, shows the charges and asks. */
export const withConsent = async (
  terminal: Terminal,
  agreement: Agreement,
  request: () => Promise<Envelope>,
): Promise<Envelope> => {
  try {
    return await request()
  } catch (error) {
    if (!(error instanceof ChargesNeeded)) throw error
    await showCharges(terminal, error)
    const question = { message: 'Accept these charges?', option: '--yes' }
    const isAgreed = agreement.yes || (terminal.isAttended && (await askWhether(terminal, question)))
    if (!isAgreed) throw error
    return withConsent(terminal, agreement, () => error.accept())
  }
}
