import PDFDocument from 'pdfkit'
import { unixOfGregorian } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import {
  type CreditNote,
  type DocumentParty,
  type InvoiceDocument,
  type InvoiceLine,
  type InvoiceTax,
  numberText,
  type Period,
} from './rules.ts'

export interface Brand {
  name?: string
  /** PNG or JPEG. */
  logo?: Uint8Array
}

// The layout of documents: A4, points of 1/72 inch.

export interface InvoiceSheet {
  kind: 'invoice'
  invoice: InvoiceDocument
  notes: readonly CreditNote[]
}

export interface CreditNoteSheet {
  kind: 'credit_note'
  note: CreditNote
  invoiceNumber: string
}

interface Paper {
  brand: Brand
  /** Paths of TrueType fonts. */
  fonts: { plain: string; bold: string }
}

const margin = 50
const right = 545
const bottom = 770
const grey = '#666666'
const line = '#cccccc'

// Columns of the table of lines.
const tableColumns = {
  description: { at: margin, width: 255 },
  quantity: { at: 310, width: 65 },
  rate: { at: 380, width: 70 },
  amount: { at: 455, width: 90 },
} as const

type Doc = PDFKit.PDFDocument

const dayOf = (gregorian: number) => new Date(unixOfGregorian(gregorian) * 1000).toISOString().slice(0, 10)

const daysOf = ({ from, to }: Period) => (from === to ? dayOf(from) : `${dayOf(from)} – ${dayOf(to)}`)

/** Always with cents; with smaller parts if there are any. */
const money = (units: number) => {
  const text = String(dollarsOfUnits(units))
  const [whole = '0', fraction = ''] = text.split('.')
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ' ')}.${fraction.padEnd(2, '0')}`
}

const plainText = (doc: Doc, size = 9, color = 'black') => doc.font('plain').fontSize(size).fillColor(color)
const boldText = (doc: Doc, size = 9) => doc.font('bold').fontSize(size).fillColor('black')

const rule = (doc: Doc, y: number) =>
  doc.moveTo(margin, y).lineTo(right, y).lineWidth(0.5).strokeColor(line).stroke()

/** An unreadable logo must not prevent the document. */
const drawLogo = (doc: Doc, logo: Uint8Array | undefined): boolean => {
  if (!logo) return false
  try {
    doc.image(Buffer.from(logo), margin, margin, { fit: [180, 60] })
    return true
  } catch {
    return false
  }
}

const drawParty = (
  doc: Doc,
  heading: string,
  { name, address = [] }: DocumentParty,
  at: { x: number; y: number },
) => {
  plainText(doc, 8, grey).text(heading, at.x, at.y, { width: 230 })
  boldText(doc, 10).text(name, { width: 230 })
  plainText(doc)
  for (const text of address) doc.text(text, { width: 230 })
  return doc.y
}

interface Head {
  title: string
  facts: readonly (readonly [string, string])[]
  account: DocumentParty
  issuer: DocumentParty
}

/** Returns the y at which the content begins. */
const drawHead = (doc: Doc, { title, facts, account, issuer }: Head, { brand }: Paper) => {
  const name = brand.name ?? issuer.name
  if (!drawLogo(doc, brand.logo))
    boldText(doc, 16).text(name, margin, margin, { width: 240, height: 60, ellipsis: true })
  boldText(doc, 16).text(title, 305, margin, { width: right - 305, align: 'right' })
  let y = doc.y + 4
  for (const [label, value] of facts) {
    plainText(doc, 9, grey).text(label, 305, y, { width: 110, align: 'right' })
    plainText(doc).text(value, 420, y, { width: right - 420, align: 'right' })
    y = doc.y + 2
  }
  const top = Math.max(y, margin + 70) + 20
  const left = drawParty(doc, 'Billed to', account, { x: margin, y: top })
  const other = drawParty(doc, 'From', issuer, { x: 305, y: top })
  return Math.max(left, other) + 24
}

const cell = (doc: Doc, column: keyof typeof tableColumns, text: string, y: number) => {
  const { at, width } = tableColumns[column]
  doc.text(text, at, y, { width, align: column === 'description' ? 'left' : 'right' })
  return doc.y
}

const drawTableHead = (doc: Doc, y: number, currency: string) => {
  plainText(doc, 8, grey)
  cell(doc, 'description', 'Description', y)
  cell(doc, 'quantity', 'Quantity', y)
  cell(doc, 'rate', 'Price', y)
  cell(doc, 'amount', `Amount (${currency})`, y)
  rule(doc, y + 13)
  return y + 19
}

const heightOf = (doc: Doc, text: string, size: number) =>
  plainText(doc, size).heightOfString(text, { width: tableColumns.description.width })

const quantityText = ({ quantity, unit }: InvoiceLine) =>
  quantity === undefined ? '' : unit === undefined ? String(quantity) : `${quantity} ${unit}`

const drawLines = (doc: Doc, from: number, { items, period, currency }: InvoiceDocument['doc']) => {
  let y = drawTableHead(doc, from, currency)
  for (const item of items) {
    const note = item.period && item.period.from !== period.from ? daysOf(item.period) : ''
    const height = heightOf(doc, item.description, 9) + (note === '' ? 0 : heightOf(doc, note, 7)) + 6
    if (y + height > bottom) {
      doc.addPage()
      y = drawTableHead(doc, margin, currency)
    }
    plainText(doc)
    cell(doc, 'quantity', quantityText(item), y)
    cell(doc, 'rate', item.rate === undefined ? '' : money(item.rate), y)
    cell(doc, 'amount', money(item.amount), y)
    const end = cell(doc, 'description', item.description, y)
    if (note !== '') {
      plainText(doc, 7, grey)
      cell(doc, 'description', note, end)
    }
    y += height
  }
  rule(doc, y)
  return y + 8
}

interface PdfSum {
  label: string
  text: string
  isBold?: boolean
}

const drawSums = (doc: Doc, from: number, sums: readonly PdfSum[]) => {
  let y = from
  for (const { label, text, isBold } of sums) {
    if (y + 16 > bottom) {
      doc.addPage()
      y = margin
    }
    if (isBold) boldText(doc, 10)
    else plainText(doc)
    doc.text(label, 240, y, { width: 205, align: 'right' })
    doc.text(text, tableColumns.amount.at, y, { width: tableColumns.amount.width, align: 'right' })
    y = doc.y + 4
  }
  return y
}

const taxLabel = ({ name, rate, jurisdiction, inclusive }: InvoiceTax) =>
  [
    inclusive ? 'Contains' : '',
    name,
    rate === undefined ? '' : `${rate} %`,
    jurisdiction ? `(${jurisdiction})` : '',
  ]
    .filter((part) => part !== '')
    .join(' ')

const sumsOf = ({ invoice, notes }: InvoiceSheet): PdfSum[] => {
  const { items, taxes, total, currency } = invoice.doc
  const net = items.reduce((sum, { amount }) => sum + amount, 0)
  const taxSums = taxes.map((tax) => ({ label: taxLabel(tax), text: money(tax.amount) }))
  const credits = notes.map(({ number, doc }) => ({
    label: `Credit note ${numberText(number)}`,
    text: money(-doc.total),
  }))
  return [
    ...(taxes.length === 0 ? [] : [{ label: 'Sum', text: money(net) }]),
    ...taxSums,
    { label: `Total (${currency})`, text: money(total), isBold: true },
    ...credits,
  ]
}

const statusText = {
  draft: 'Draft',
  open: 'To be paid',
  paid: 'Paid',
  void: 'Void',
  uncollectible: 'Not paid',
} as const

const drawInvoice = (doc: Doc, sheet: InvoiceSheet, paper: Paper) => {
  const { number, issued, status, doc: content } = sheet.invoice
  const facts = [
    ...(number ? [['Number', numberText(number)] as const, ['Issued', dayOf(issued)] as const] : []),
    ['Due', dayOf(content.due)] as const,
    ['Period', daysOf(content.period)] as const,
    ['Status', statusText[status]] as const,
  ]
  const title = status === 'draft' ? 'Invoice (draft)' : 'Invoice'
  const y = drawHead(doc, { title, facts, account: content.account, issuer: content.issuer }, paper)
  drawSums(doc, drawLines(doc, y, content), sumsOf(sheet))
}

const drawNote = (doc: Doc, { note, invoiceNumber }: CreditNoteSheet, paper: Paper) => {
  const { account, issuer, total, taxes, currency, reason } = note.doc
  const facts = [
    ['Number', numberText(note.number)],
    ['Issued', dayOf(note.issued)],
    ['Invoice', invoiceNumber],
  ] as const
  const y = drawHead(doc, { title: 'Credit note', facts, account, issuer }, paper)
  if (reason !== undefined) plainText(doc).text(reason, margin, y, { width: right - margin })
  drawSums(doc, Math.max(doc.y, y) + 16, [
    ...(taxes === 0 ? [] : [{ label: 'Taxes included', text: money(taxes) }]),
    { label: `Given back (${currency})`, text: money(total), isBold: true },
  ])
}

const drawPageNumbers = (doc: Doc) => {
  const { start, count } = doc.bufferedPageRange()
  for (let page = start; page < start + count; page += 1) {
    doc.switchToPage(page)
    // Text in the bottom margin would begin a new page.
    doc.page.margins.bottom = 0
    plainText(doc, 8, grey).text(`${page + 1} / ${count}`, margin, 800, {
      width: right - margin,
      align: 'center',
    })
  }
}

export const printSheet = async (sheet: InvoiceSheet | CreditNoteSheet, paper: Paper): Promise<Buffer> => {
  const title = sheet.kind === 'invoice' ? 'Invoice' : 'Credit note'
  const doc = new PDFDocument({ size: 'A4', margin, bufferPages: true, info: { Title: title } })
  const chunks: Buffer[] = []
  doc.on('data', (chunk: Buffer) => chunks.push(chunk))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  doc.on('end', resolve)
  doc.on('error', reject)
  doc.registerFont('plain', paper.fonts.plain)
  doc.registerFont('bold', paper.fonts.bold)
  if (sheet.kind === 'invoice') drawInvoice(doc, sheet, paper)
  else drawNote(doc, sheet, paper)
  drawPageNumbers(doc)
  doc.end()
  await promise
  return Buffer.concat(chunks)
}
