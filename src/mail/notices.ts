// Every notice that the server sends, and what it says unless somebody wrote it anew.

/** What stands for a name in a template. */
interface Macro {
  friendlyName: string
  description: string
  /** What previews show. */
  example: string
  /** Only who asked may read it: it stands in no subject and goes to nobody else. */
  isSecret?: boolean
}

type Macros = Readonly<Record<string, Macro>>

interface Definition<M extends Macros> {
  friendlyName: string
  category: 'account' | 'billing' | 'system' | 'user'
  /** `original`: whom it is about. `admins`: the admins of the account. */
  to: 'original' | 'admins'
  macros: M
  subject: string
  text: string
  html: string
}

export interface Notice extends Definition<Macros> {
  id: NoticeId
}

const macro = (friendlyName: string, description: string, example: string): Macro => ({
  friendlyName,
  description,
  example,
})

const secret = (friendlyName: string, description: string, example: string): Macro => ({
  ...macro(friendlyName, description, example),
  isSecret: true,
})

/** A paragraph; one that is a macro in angle brackets is an address to open. */
const htmlOf = (paragraph: string) => {
  const [, address] = /^<(\{\{.*\}\})>$/.exec(paragraph) ?? []
  return address
    ? `<p><a href="${address}">${address}</a></p>`
    : `<p>${paragraph.replaceAll('\n', '<br>')}</p>`
}

const textOf = (paragraph: string) => paragraph.replace(/^<(\{\{.*\}\})>$/, '$1')

const body = (...paragraphs: string[]) => ({
  text: `${paragraphs.map(textOf).join('\n\n')}\n`,
  html: `<!DOCTYPE html>\n<html><body>\n${paragraphs.map(htmlOf).join('\n')}\n</body></html>\n`,
})

const define = <const M extends Macros>(definition: Definition<M>) => definition

/** Names that every notice knows. */
const commonMacros = {
  'account.id': macro(
    'Account id',
    'The account that the notice is about',
    '9a3c1f0e5b7d4c2a8e6f0b1d3c5a7e90',
  ),
  'account.name': macro('Account name', 'The name of that account', 'Acme'),
  'account.realm': macro('Account realm', 'The realm of that account', 'acme.example'),
} as const satisfies Macros

const userMacros = {
  'user.first_name': macro('First name', 'Of the user', 'Ada'),
  'user.last_name': macro('Last name', 'Of the user', 'Lovelace'),
  'user.username': macro('User name', 'What the user signs in with', 'ada'),
} as const satisfies Macros

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

const definitions = {
  password_recovery: define({
    friendlyName: 'Password recovery',
    category: 'user',
    to: 'original',
    macros: {
      ...userMacros,
      link: secret('Link', 'Leads to a new password', 'https://portal.example/?recovery=0123456789abcdef'),
      'link.minutes': macro('Minutes', 'How long the link is good', '60'),
    },
    subject: 'Password recovery',
    ...body(
      'Somebody asked for a new password for the user {{user.username}} of the account {{account.name}}.',
      'If it was you, open this address within {{link.minutes}} minutes:',
      '<{{link}}>',
      'If it was not you, nothing has to be done: the password stays as it is.',
    ),
  }),
  email_verification: define({
    friendlyName: 'Verification of a sender address',
    category: 'account',
    to: 'original',
    macros: {
      email: macro('Address', 'The address to be verified', 'support@acme.example'),
      code: secret('Code', 'What proves that the mail was read', '1234'),
      'code.minutes': macro('Minutes', 'How long the code is good', '60'),
    },
    subject: 'Verify your sender address',
    ...body(
      'The account {{account.name}} wants to send mail from {{email}}.',
      'The verification code is {{code}}. It is good for {{code.minutes}} minutes.',
      'If you know nothing about this, nothing has to be done: no mail will be sent from this address.',
    ),
  }),
  new_user: define({
    friendlyName: 'New user',
    category: 'user',
    to: 'original',
    macros: { ...userMacros, 'user.email': macro('Mail address', 'Of the user', 'ada@acme.example') },
    subject: 'Your user in the account {{account.name}}',
    ...body(
      'Hello {{user.first_name}} {{user.last_name}},',
      'a user was made for you in the account {{account.name}}.',
      'User name: {{user.username}}\nRealm: {{account.realm}}',
    ),
  }),
  new_account: define({
    friendlyName: 'New account',
    category: 'account',
    to: 'admins',
    macros: {
      'new_account.id': macro('New account id', 'Of the account made', '0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
      'new_account.name': macro('New account name', 'Of the account made', 'Acme Branch'),
      'new_account.realm': macro('New account realm', 'Of the account made', 'branch.acme.example'),
    },
    subject: 'New account {{new_account.name}}',
    ...body(
      'The account {{new_account.name}} was made below {{account.name}}.',
      'Realm: {{new_account.realm}}\nId: {{new_account.id}}',
    ),
  }),
  task_finished: define({
    friendlyName: 'Task finished',
    category: 'account',
    to: 'original',
    macros: {
      'task.id': macro('Task id', 'Of the task', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
      'task.category': macro('Category', 'What the task works on', 'number_management'),
      'task.action': macro('Action', 'What it does', 'add'),
      'task.file_name': macro('File', 'The name of its input', 'numbers.csv'),
      'task.status': macro('Status', 'How it ended', 'success'),
      'task.success_count': macro('Successes', 'Rows that worked', '998'),
      'task.failure_count': macro('Failures', 'Rows that did not', '2'),
    },
    subject: 'Task {{task.category}}/{{task.action}} ended: {{task.status}}',
    ...body(
      'The task {{task.id}} of the account {{account.name}} has ended.',
      'Work: {{task.category}}/{{task.action}}\nInput: {{task.file_name}}\nStatus: {{task.status}}\nRows done: {{task.success_count}}\nRows failed: {{task.failure_count}}',
    ),
  }),
  low_balance: define({
    friendlyName: 'Low balance',
    category: 'billing',
    to: 'admins',
    macros: {
      current_balance: macro('Balance', 'With its currency', '$3.20'),
      threshold: macro('Threshold', 'Below it this is sent', '$5.00'),
    },
    subject: 'The balance of {{account.name}} is low',
    ...body(
      'The balance of the account {{account.name}} is {{current_balance}}.',
      'This is sent when it is {{threshold}} or less.',
    ),
  }),
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
  invoice: define({
    friendlyName: 'Invoice',
    category: 'billing',
    to: 'admins',
    macros: { ...invoiceMacros, 'invoice.status': macro('Status', 'open or paid', 'open') },
    subject: 'Invoice {{invoice.number}} of {{account.name}}: {{invoice.total}}',
    ...body(
      'Attached is the invoice {{invoice.number}} of the account {{account.name}}.',
      'Total: {{invoice.total}}\nStill to be paid: {{invoice.to_pay}}\nDue: {{invoice.due}}',
    ),
  }),
  payment_retry: define({
    friendlyName: 'Payment that is tried again',
    category: 'billing',
    to: 'admins',
    macros: dunningMacros,
    subject: 'Invoice {{invoice.number}} could not be paid',
    ...body(
      '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken: {{payment.reason}}',
      'It is tried again on {{payment.next}}. To prevent that, pay it before, or see to it that the payment method works.',
    ),
  }),
  payment_grace: define({
    friendlyName: 'Last days to pay',
    category: 'billing',
    to: 'admins',
    macros: dunningMacros,
    subject: 'Invoice {{invoice.number}} has to be paid by {{payment.next}}',
    ...body(
      '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be taken, and it is not tried again: {{payment.reason}}',
      'Unless it is paid by {{payment.next}}, the account is not in good standing any more.',
    ),
  }),
  account_delinquent: define({
    friendlyName: 'Account not in good standing',
    category: 'billing',
    to: 'admins',
    macros: dunningMacros,
    subject: '{{account.name}} is not in good standing',
    ...body(
      'The invoice {{invoice.number}} of the account {{account.name}} was not paid: {{payment.reason}}',
      'Until {{invoice.to_pay}} are paid, nothing more can be ordered.',
    ),
  }),
  payment_dispute: define({
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
  }),
  alert: define({
    friendlyName: 'Alert',
    category: 'system',
    to: 'admins',
    macros: {
      'alert.title': macro('Title', 'Of the alert', 'Low balance'),
      'alert.message': macro('Message', 'What the alert says', 'The account is about to be blocked'),
      'alert.category': macro('Category', 'What the alert is about', 'low_balance'),
    },
    subject: '{{alert.title}}',
    ...body('An alert in the account {{account.name}}:', '{{alert.title}}', '{{alert.message}}'),
  }),
} as const

export type NoticeId = keyof typeof definitions

/** The values that a notice has to be given: its own names; the common ones follow from the account. */
export type ValuesOf<Id extends NoticeId> = Record<keyof (typeof definitions)[Id]['macros'] & string, string>

export const noticeIds = Object.keys(definitions) as NoticeId[]

export const isNoticeId = (text: string): text is NoticeId => Object.hasOwn(definitions, text)

export const noticeOf = (id: NoticeId): Notice => ({
  ...definitions[id],
  id,
  macros: { ...commonMacros, ...definitions[id].macros },
})

/** Whether what it says is for the eyes of one person only. */
export const carriesSecret = ({ macros }: Notice) => Object.values(macros).some(({ isSecret }) => isSecret)
