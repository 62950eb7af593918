import { body, define, type Macros, macro } from '../../mail/notices.ts'

const transactionMacros = {
  'transaction.id': macro('Transaction id', 'Of the payment', '202601-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'transaction.type': macro('Kind', 'sale or refund', 'sale'),
  'transaction.amount': macro('Amount', 'With its currency', '25 USD'),
  'transaction.description': macro('Description', 'What it is for', 'Automatic top-up'),
} as const satisfies Macros

export const paymentNotices = {
  transaction: define({
    friendlyName: 'Payment',
    category: 'billing',
    to: 'admins',
    macros: transactionMacros,
    subject: 'Payment of {{account.name}}: {{transaction.amount}}',
    ...body(
      '{{transaction.description}} of the account {{account.name}} was carried out.',
      'Amount: {{transaction.amount}}\nKind: {{transaction.type}}\nTransaction: {{transaction.id}}',
    ),
  }),
  transaction_failed: define({
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
  }),
}

type Owned = typeof paymentNotices

declare module '../../mail/notices.ts' {
  interface NoticeDefinitions extends Owned {}
}
