import type { AccountRecord } from '../../../auth/identity.ts'
import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountChanged } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { whitelabelArea } from '../../brand/whitelabel/area.ts'
import { ledgersArea } from '../ledgers/area.ts'
import { balanceMoved } from '../ledgers/signals.ts'
import { servicesArea } from '../services/area.ts'
import { createBilling, createBillingGate } from './billing/operations.ts'
import { createGatewayEvents } from './gateway-events/operations.ts'
import { stripePage } from './gateway-events/routes.ts'
import { createDunning, createInvoiceMailing, createInvoiceProgress } from './invoices/dunning.ts'
import { createInvoiceIssuing } from './invoices/issuing.ts'
import { createInvoicePrinting, createInvoices } from './invoices/operations.ts'
import { invoiceRoutes } from './invoices/routes.ts'
import { createInvoiceStore } from './invoices/store.ts'
import * as notices from './notices.ts'
import { dunningSettings, invoiceSettings, topupSettings } from './settings.ts'
import { createTopups, lowBalanceThreshold } from './topup/operations.ts'
import { topupRoutes } from './topup/routes.ts'
import { createTransactions } from './transactions/operations.ts'
import { transactionRoutes } from './transactions/routes.ts'
import { createTransactionImporter } from './transactions/store.ts'

export const paymentsArea = area({
  name: 'payments',
  kinds: {
    credit_note: 'credit notes',
    invoice: 'invoices; see `invoice.issued`, `invoice.paid` and `invoice.overdue`',
    payment_dispute: 'disputed payments',
    payment_event: 'events of the payment provider',
    transaction: 'payments',
  },
  events: {
    'invoice.issued': 'Change: a month becomes a document. Record: `invoice`. `after`: its row in the list',
    'invoice.overdue':
      'Change: the invoice was not paid in time: a charge was rejected, or the day passed on which the balance should have covered it. Record: `invoice`. `after`: its row in the list',
    'invoice.paid':
      'Change: the invoice is paid; extra, next to `invoice.issued`, if the balance covers it at once. Record: `invoice`. `after`: its row in the list',
  },
  describes: {
    invoices: 'Monthly invoices of accounts, and credit notes.',
    transactions: 'Payments and refunds at billing providers.',
  },
  needs: { accounts: accountsArea, services: servicesArea, ledgers: ledgersArea, whitelabel: whitelabelArea },
  settings: [invoiceSettings, dunningSettings, topupSettings],
  notices: Object.values(notices),
  create(tools, { accounts, services: sold, ledgers, whitelabel }) {
    const { services, bookkeepers } = sold
    const rows = createInvoiceStore(tools.store)
    const base = { ...tools, ...sold, accounts, ledgers, whitelabel, rows }
    const progress = createInvoiceProgress(base, rows)
    const transactions = createTransactions({ ...base, ended: progress.ended })
    const topups = createTopups(base, transactions)
    const deps = { ...base, progress, transactions, issuing: createInvoiceIssuing(base, rows) }
    const billing = createBilling(deps)
    const events = createGatewayEvents(deps)
    const printing = createInvoicePrinting(deps)
    return {
      offers: {
        topups,

        /** Bills an account for the current month, if that is still to be done. */
        bill: billing.catchUp,

        /** Marks everything up to now as billed by another system. */
        takeOver: billing.takeOver,

        /** The attachment of a mail. */
        documentOf: printing.documentOf,

        defaultToken: async (account: AccountRecord) =>
          bookkeepers.token(account.id, await bookkeepers.of(account)),

        threshold: ({ doc }: AccountRecord) => lowBalanceThreshold(doc),
      },
      routes: [
        ...transactionRoutes(deps, billing),
        ...topupRoutes(topups, services.sellerOf),
        ...invoiceRoutes(createInvoices(deps), printing),
      ],
      adoptions: { transaction: createTransactionImporter(tools) },
      posted: [stripePage(events)],
      gates: [createBillingGate(billing, deps)],
      jobs: [
        transactions.job,
        topups.job,
        billing.job,
        events.tidying,
        createDunning(deps),
        createInvoiceMailing(deps),
        events.kind,
      ],
      hears: [
        on(balanceMoved, (set, { account, isSpent }) => {
          if (isSpent) topups.spent(set, account)
          else progress.hurry(set, account.id)
        }),
        on(accountChanged, (set, { before, after }) => topups.changed(set, before, after)),
      ],
    }
  },
})
