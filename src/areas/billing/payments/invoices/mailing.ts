import type { JobKind } from '../../../../jobs/queue.ts'
import type { Mail } from '../../../../mail/mail.ts'
import { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { PricingData } from '../../services/books.ts'
import { invoiceNotice } from '../notices.ts'
import { invoiceValues } from './dunning.ts'
import { type AboutInvoice, invoiceMailKind } from './issuing.ts'
import { numberText } from './rules.ts'
import type { InvoiceStore } from './store.ts'

interface Deps {
  store: Store
  books: PricingData
  rows: InvoiceStore
  mail: Mail
}

/** What a letter names a document by. */
const invoiceDocument = 'invoice'

/** Sends an invoice to the admins of its account. It is an errand because only what was written has a number. */
export const createInvoiceMailing = ({ books, rows, mail }: Deps): JobKind<AboutInvoice> => ({
  kind: invoiceMailKind,
  async conclude({ payload: { accountId, invoiceId } }) {
    const account = await books.account(accountId)
    const invoice = await rows.find(accountId, invoiceId)
    if (!account || !invoice?.number) return { state: 'done', outcome: 'the account is gone' }
    const set = new ChangeSet({ requestId: 'invoices' })
    await mail.notify(set, {
      notice: invoiceNotice,
      account,
      to: [],
      senderName: invoice.doc.issuer.name,
      values: { ...invoiceValues(invoice), 'invoice.status': invoice.status },
      attachments: [
        {
          fileName: `invoice-${numberText(invoice.number).replaceAll('/', '-')}.pdf`,
          contentType: 'application/pdf',
          document: { kind: invoiceDocument, accountId, id: invoiceId },
        },
      ],
    })
    rows.tell(set, invoice, 'mailed')
    set.record({ accountId, kind: 'invoice', id: invoiceId, action: 'edited' })
    return { state: 'done', sets: [set] }
  },
})
