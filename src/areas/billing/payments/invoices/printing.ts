import { createRequire } from 'node:module'
import type { Settings } from '../../../../settings/settings.ts'
import { invoiceSettings } from '../settings.ts'
import type { Brand, CreditNoteSheet, InvoiceSheet } from './pdf.ts'
import { type CreditNote, type Invoice, numberText } from './rules.ts'
import type { InvoiceStore } from './store.ts'

interface Deps {
  settings: Settings
  rows: Pick<InvoiceStore, 'get' | 'notesOf'>
  /** The brand of an account, or of the nearest one above it that has one. */
  brandOf(accountId: string): Promise<Brand>
}

const fontFolder = () => {
  const { resolve } = createRequire(import.meta.url)
  return resolve('dejavu-fonts-ttf/package.json').replace(/package\.json$/, 'ttf/')
}

export type InvoicePrinting = ReturnType<typeof createInvoicePrinting>

/** Documents as PDF. The library is loaded when the first one is asked for: a server that prints none does not pay for it. */
export const createInvoicePrinting = ({ settings, rows, brandOf }: Deps) => {
  const paper = async (issuerId: string) => {
    const { font } = await settings.of(invoiceSettings)
    const folder = fontFolder()
    const fonts = font
      ? { plain: font, bold: font }
      : { plain: `${folder}DejaVuSans.ttf`, bold: `${folder}DejaVuSans-Bold.ttf` }
    return { brand: await brandOf(issuerId), fonts }
  }

  const print = async (issuerId: string, sheet: InvoiceSheet | CreditNoteSheet) => {
    const { printSheet } = await import('./pdf.ts')
    return printSheet(sheet, await paper(issuerId))
  }

  const invoice = async (one: Invoice) => {
    const notes = one.number ? await rows.notesOf(one.accountId, one.id) : []
    return print(one.issuerId, { kind: 'invoice', invoice: one, notes })
  }

  return {
    invoice,

    async note(note: CreditNote) {
      const about = await rows.get(note.accountId, note.invoiceId)
      const invoiceNumber = about.number ? numberText(about.number) : about.id
      return print(about.issuerId, { kind: 'credit_note', note, invoiceNumber })
    },

    /** For a letter. */
    documentOf: async ({ accountId, id }: { accountId: string; id: string }) =>
      invoice(await rows.get(accountId, id)),
  }
}
