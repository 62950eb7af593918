import { gregorianNow } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { invoiceSettings } from '../settings.ts'
import type { Composed, Composing, Sheet } from './composing.ts'
import { dunningKind, errandId } from './progress.ts'
import { type Invoice, numberPrefix, seriesOf } from './rules.ts'
import type { InvoiceStore, Issue } from './store.ts'

/** The errand that mails an invoice, when it has its number. */
export const invoiceMailKind = 'invoice_mail'

/** The invoice that an errand is about. */
export interface AboutInvoice {
  accountId: string
  invoiceId: string
}

interface Deps {
  store: Store
  settings: Settings
  rows: InvoiceStore
  composing: Composing
}

interface Issuing {
  composed: Composed
  sheet: Sheet
  month: number
  /** Entries of the ledger that are booked with it. */
  entryIds: readonly string[]
  /** The transaction that charges it, if any. */
  attempt: string
}

export type InvoiceIssuing = ReturnType<typeof createInvoiceIssuing>

/** Makes documents of what is booked. */
export const createInvoiceIssuing = ({ store, settings, rows, composing }: Deps) => {
  const { clock } = store

  const prefixFor = async (issuerId: string) => {
    const { number_prefix: common, vendors } = await settings.of(invoiceSettings)
    return numberPrefix(vendors[issuerId]?.number_prefix ?? common, clock.now())
  }

  const follow = (
    set: ChangeSet,
    { accountId, id, status, attempt }: Pick<Invoice, 'accountId' | 'id' | 'status' | 'attempt'>,
  ) => {
    const payload: AboutInvoice = { accountId, invoiceId: id }
    const errand = { id: errandId({ accountId, id }), accountId, payload }
    set.errand({ ...errand, kind: invoiceMailKind })
    // Where nobody is charged there is nothing to do until money comes, or the day on which it should have.
    if (status === 'open')
      set.errand({ ...errand, kind: dunningKind, dueAt: clock.now() + (attempt === '' ? lookMs : chargeMs) })
  }

  /** What a document needs beside its content. */
  const frame = async <Doc extends { total: number }>(
    kind: 'invoice' | 'credit_note',
    document: Pick<Issue<Doc>, 'accountId' | 'id' | 'issuerId' | 'doc'>,
  ): Promise<Issue<Doc>> => ({
    ...document,
    series: seriesOf(kind, clock.now()),
    prefix: await prefixFor(document.issuerId),
    issued: gregorianNow(clock),
    total: document.doc.total,
  })

  return {
    frame,
    sheets: composing.sheets,
    compose: composing.compose,

    async issue(set: ChangeSet, { composed, sheet, month, entryIds, attempt }: Issuing) {
      const { id, issuerId, doc } = composed
      const accountId = doc.account.id
      const status = doc.amountDue > 0 ? 'open' : 'paid'
      const invoice = { accountId, id, status, attempt } as const
      rows.issue(set, await frame('invoice', { accountId, id, issuerId, doc }), { month, status, attempt })
      rows.cover(set, {
        accountId,
        documentId: id,
        entryIds: [...sheet.extras.entries.map((entry) => entry.id), ...entryIds],
        usage: sheet.extras.usage,
      })
      rows.tell(set, invoice, 'issued', { amount_due: dollarsOfUnits(doc.amountDue) })
      if (status === 'paid') rows.tell(set, invoice, 'paid', { by: 'balance' })
      follow(set, invoice)
    },
  }
}

// What is charged is heard of when it has ended: this is for what is never heard of.
const chargeMs = 3_600_000
const lookMs = 24 * 3_600_000
