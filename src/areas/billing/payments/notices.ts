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
  'invoice.id': macro('Invoice id', 'ID of the invoice', '202602-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'invoice.number': macro('Number', 'Number of the invoice', '2026-000123'),
  'invoice.total': macro('Total', 'With its currency', '25 USD'),
  'invoice.to_pay': macro('To pay', 'Amount due', '25 USD'),
  'invoice.due': macro('Due', 'The day on which it is due', '2026-02-15'),
} as const satisfies Macros

const dunningMacros = {
  ...invoiceMacros,
  'payment.reason': macro('Reason', 'Reason why it was not paid', 'Your card was declined.'),
  'payment.next': macro('Next', 'The day of the next step', '2026-02-18'),
} as const satisfies Macros

export const transactionNotice = billingNotice(
  'transaction',
  'Payment',
  transactionMacros,
  'Payment of {{account.name}}: {{transaction.amount}}',
  '{{transaction.description}} of the account {{account.name}} is complete.',
  'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
)

export const transactionFailedNotice = billingNotice(
  'transaction_failed',
  'Failed payment',
  {
    ...transactionMacros,
    'transaction.reason': macro('Reason', 'Reason of the failure', 'Your card was declined.'),
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
  'Total: {{invoice.total}}\nAmount due: {{invoice.to_pay}}\nDue date: {{invoice.due}}',
)

export const paymentRetryNotice = billingNotice(
  'payment_retry',
  'Payment retry',
  dunningMacros,
  'Invoice {{invoice.number}} could not be paid',
  '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be charged: {{payment.reason}}',
  'The next attempt is on {{payment.next}}. Pay the invoice before, or check the payment method.',
)

export const paymentGraceNotice = billingNotice(
  'payment_grace',
  'Final payment deadline',
  dunningMacros,
  'Pay invoice {{invoice.number}} by {{payment.next}}',
  '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be charged: {{payment.reason}}',
  'There are no further attempts. If you do not pay by {{payment.next}}, the account is blocked for new orders.',
)

export const accountDelinquentNotice = billingNotice(
  'account_delinquent',
  'Account not in good standing',
  dunningMacros,
  '{{account.name}} is not in good standing',
  'The invoice {{invoice.number}} of the account {{account.name}} was not paid: {{payment.reason}}',
  'The account cannot order anything until {{invoice.to_pay}} is paid.',
)

export const paymentDisputeNotice = billingNotice(
  'payment_dispute',
  'Disputed payment',
  {
    ...transactionMacros,
    'payer.id': macro('Payer id', 'The account that paid', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
    'payer.name': macro('Payer', 'Its name', 'Acme Branch'),
    'dispute.id': macro('Dispute', 'Text of the payment processor', 'dp_1'),
    'dispute.amount': macro('Amount', 'Disputed amount', '25 USD'),
    'dispute.status': macro('Status', 'Text of the payment processor', 'needs_response'),
    'dispute.reason': macro('Reason', 'Text of the payment processor', 'fraudulent'),
  },
  'Payment of {{payer.name}} is disputed: {{dispute.status}}',
  'A payment of the account {{payer.name}} ({{payer.id}}) is disputed.',
  'Amount: {{dispute.amount}}\nStatus: {{dispute.status}}\nReason: {{dispute.reason}}\nDispute: {{dispute.id}}\nTransaction: {{transaction.id}}',
)
