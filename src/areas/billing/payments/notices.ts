import { body, type Macros, macro, notice } from '../../../mail/notices.ts'

const transactionMacros = {
  'transaction.id': macro('Transaction id', 'Of the payment', '202601-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'transaction.type': macro('Kind', 'sale or refund', 'sale'),
  'transaction.amount': macro('Amount', 'With its currency', '25 USD'),
  'transaction.description': macro('Description', 'What it is for', 'Automatic top-up'),
} as const satisfies Macros

const invoiceMacros = {
  'invoice.id': macro('Invoice id', 'Of the invoice', '202602-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'invoice.number': macro('Number', 'Of the invoice', '2026-000123'),
  'invoice.total': macro('Total', 'With its currency', '25 USD'),
  'invoice.to_pay': macro('To pay', 'What of it is still to be paid', '25 USD'),
  'invoice.due': macro('Due', 'The day on which it is due', '2026-02-15'),
} as const satisfies Macros

const dunningMacros = {
  ...invoiceMacros,
  'payment.reason': macro('Reason', 'Why it was not paid', 'Your card was declined.'),
  'payment.next': macro('Next', 'The day of the next step', '2026-02-18'),
} as const satisfies Macros

export const transactionNotice = notice('transaction', {
  friendlyName: 'Payment',
  category: 'billing',
  to: 'admins',
  macros: transactionMacros,
  subject: 'Payment of {{account.name}}: {{transaction.amount}}',
  ...body(
    '{{transaction.description}} of the account {{account.name}} was carried out.',
    'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
  ),
})

export const transactionFailedNotice = notice('transaction_failed', {
  friendlyName: 'Failed payment',
  category: 'billing',
  to: 'admins',
  macros: {
    ...transactionMacros,
    'transaction.reason': macro('Reason', 'Why no money has moved', 'Your card was declined.'),
  },
  subject: 'Payment of {{account.name}} failed: {{transaction.amount}}',
  ...body(
    '{{transaction.description}} of the account {{account.name}} failed: {{transaction.reason}}',
    'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
  ),
})

export const invoiceNotice = notice('invoice', {
  friendlyName: 'Invoice',
  category: 'billing',
  to: 'admins',
  macros: { ...invoiceMacros, 'invoice.status': macro('Status', 'open or paid', 'open') },
  subject: 'Invoice {{invoice.number}} of {{account.name}}: {{invoice.total}}',
  ...body(
    'Attached is the invoice {{invoice.number}} of the account {{account.name}}.',
    'Total: {{invoice.total}}\nStill to be paid: {{invoice.to_pay}}\nDue: {{invoice.due}}',
  ),
})

export const paymentRetryNotice = notice('payment_retry', {
  friendlyName: 'Payment that is tried again',
  category: 'billing',
  to: 'admins',
  macros: dunningMacros,
  subject: 'Invoice {{invoice.number}} could not be paid',
  ...body(
    '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken: {{payment.reason}}',
    'It is tried again on {{payment.next}}. To prevent that, pay it before, or see to it that the payment method works.',
  ),
})

export const paymentGraceNotice = notice('payment_grace', {
  friendlyName: 'Last days to pay',
  category: 'billing',
  to: 'admins',
  macros: dunningMacros,
  subject: 'Invoice {{invoice.number}} has to be paid by {{payment.next}}',
  ...body(
    '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken, and it is not tried again: {{payment.reason}}',
    'Unless it is paid by {{payment.next}}, the account is not in good standing any more.',
  ),
})

export const accountDelinquentNotice = notice('account_delinquent', {
  friendlyName: 'Account not in good standing',
  category: 'billing',
  to: 'admins',
  macros: dunningMacros,
  subject: '{{account.name}} is not in good standing',
  ...body(
    'The invoice {{invoice.number}} of the account {{account.name}} was not paid: {{payment.reason}}',
    'Until {{invoice.to_pay}} are paid, nothing more can be ordered.',
  ),
})

export const paymentDisputeNotice = notice('payment_dispute', {
  friendlyName: 'Disputed payment',
  category: 'billing',
  to: 'admins',
  macros: {
    ...transactionMacros,
    'payer.id': macro('Payer id', 'The account that had paid', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
    'payer.name': macro('Payer', 'Its name', 'Acme Branch'),
    'dispute.id': macro('Dispute', 'As the payment processor calls it', 'dp_1'),
    'dispute.amount': macro('Amount', 'That is disputed', '25 USD'),
    'dispute.status': macro('Status', 'As the payment processor calls it', 'needs_response'),
    'dispute.reason': macro('Reason', 'As the payment processor calls it', 'fraudulent'),
  },
  subject: 'Payment of {{payer.name}} is disputed: {{dispute.status}}',
  ...body(
    'A payment of the account {{payer.name}} ({{payer.id}}) is disputed.',
    'Amount: {{dispute.amount}}\nStatus: {{dispute.status}}\nReason: {{dispute.reason}}\nDispute: {{dispute.id}}\nTransaction: {{transaction.id}}',
  ),
})
