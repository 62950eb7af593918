import { body, type Macros, macro, notice } from '../../../mail/notices.ts'

const billingNotice = <const M extends Macros>(
  id: string,
  friendlyName: string,
  macros: M,
  subject: string,
  ...paragraphs: string[]
) => notice(id, { friendlyName, category: 'billing', to: 'admins', macros, subject, ...body(...paragraphs) })

const transactionMacros = {
  'transaction.id': macro('Transaction id', 'ID of the payment', '202601-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'transaction.type': macro('Kind', 'sale or refund', 'sale'),
  'transaction.amount': macro('Amount', 'With its currency', '25 USD'),
  'transaction.description': macro('Description', 'What it is for', 'Automatic top-up'),
} as const satisfies Macros

const invoiceMacros = {
  'invoice.id': macro('Invoice id', 'Of the invoice', '202602-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'invoice.number': macro('Number', 'Of the invoice', '2026-000123'),
  'invoice.total': macro('Total', 'With its currency', '25 USD'),
  'invoice.to_pay': macro('To pay', 'Amount due', '25 USD'),
  'invoice.due': macro('Due', 'The day on which it is due', '2026-02-15'),
} as const satisfies Macros

const dunningMacros = {
  ...invoiceMacros,
  'payment.reason': macro('Reason', 'Why it was not paid', 'Your card was declined.'),
  'payment.next': macro('Next', 'The day of the next step', '2026-02-18'),
} as const satisfies Macros

export const transactionNotice = billingNotice(
  'transaction',
  'Payment',
  transactionMacros,
  'Payment of {{account.name}}: {{transaction.amount}}',
  '{{transaction.description}} of the account {{account.name}} was carried out.',
  'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
)

export const transactionFailedNotice = billingNotice(
  'transaction_failed',
  'Failed payment',
  {
    ...transactionMacros,
    'transaction.reason': macro('Reason', 'Why no money has moved', 'Your card was declined.'),
  },
  'Payment of {{account.name}} failed: {{transaction.amount}}',
  '{{transaction.description}} of the account {{account.name}} failed: {{transaction.reason}}',
  'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
)

export const invoiceNotice = billingNotice(
  'invoice',
  'Invoice',
  { ...invoiceMacros, 'invoice.status': macro('Status', 'open or paid', 'open') },
  'Invoice {{invoice.number}} of {{account.name}}: {{invoice.total}}',
  'Attached is the invoice {{invoice.number}} of the account {{account.name}}.',
  'Total: {{invoice.total}}\nStill to be paid: {{invoice.to_pay}}\nDue: {{invoice.due}}',
)

export const paymentRetryNotice = billingNotice(
  'payment_retry',
  'Payment that is tried again',
  dunningMacros,
  'Invoice {{invoice.number}} could not be paid',
  '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken: {{payment.reason}}',
  'It is tried again on {{payment.next}}. To prevent that, pay it before, or see to it that the payment method works.',
)

export const paymentGraceNotice = billingNotice(
  'payment_grace',
  'Last days to pay',
  dunningMacros,
  'Invoice {{invoice.number}} has to be paid by {{payment.next}}',
  '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken, and it is not tried again: {{payment.reason}}',
  'Unless it is paid by {{payment.next}}, the account loses its good standing.',
)

export const accountDelinquentNotice = billingNotice(
  'account_delinquent',
  'Account not in good standing',
  dunningMacros,
  '{{account.name}} is not in good standing',
  'The invoice {{invoice.number}} of the account {{account.name}} was not paid: {{payment.reason}}',
  'Until {{invoice.to_pay}} are paid, nothing more can be ordered.',
)

export const paymentDisputeNotice = billingNotice(
  'payment_dispute',
  'Disputed payment',
  {
    ...transactionMacros,
    'payer.id': macro('Payer id', 'The account that had paid', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
    'payer.name': macro('Payer', 'Its name', 'Acme Branch'),
    'dispute.id': macro('Dispute', 'As the payment processor calls it', 'dp_1'),
    'dispute.amount': macro('Amount', 'That is disputed', '25 USD'),
    'dispute.status': macro('Status', 'As the payment processor calls it', 'needs_response'),
    'dispute.reason': macro('Reason', 'As the payment processor calls it', 'fraudulent'),
  },
  'Payment of {{payer.name}} is disputed: {{dispute.status}}',
  'A payment of the account {{payer.name}} ({{payer.id}}) is disputed.',
  'Amount: {{dispute.amount}}\nStatus: {{dispute.status}}\nReason: {{dispute.reason}}\nDispute: {{dispute.id}}\nTransaction: {{transaction.id}}',
)
