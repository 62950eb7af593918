import type { Language } from '../../../mail/languages.ts'
import { type Macros, macro, notice } from '../../../mail/notices.ts'
import { statusTexts, typeTexts } from './mail-texts.ts'

const billingNotice = <const M extends Macros>(
  id: string,
  friendlyName: string,
  macros: M,
  texts: Record<Language, [subject: string, ...paragraphs: string[]]>,
) => notice(id, { friendlyName, category: 'billing', to: 'admins', macros }, texts)

const declined = 'Your card was declined.'

const transactionMacros = {
  'transaction.id': macro('Transaction id', 'ID of the payment', '202601-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'transaction.type': macro('Type', 'Payment or Refund', typeTexts.sale),
  'transaction.amount': macro('Amount', 'With its currency', '25 USD'),
  'transaction.description': macro('Description', 'Purpose of the payment', 'Automatic top-up'),
} as const satisfies Macros

const invoiceMacros = {
  'invoice.id': macro('Invoice id', 'ID of the invoice', '202602-0b1d3c5a7e909a3c1f0e5b7d4c2a8e6f'),
  'invoice.number': macro('Number', 'Number of the invoice', '2026-000123'),
  'invoice.total': macro('Total', 'With its currency', '25 USD'),
  'invoice.to_pay': macro('To pay', 'Amount due', '25 USD'),
  'invoice.due': macro('Due', 'Due date', '2026-02-15'),
} as const satisfies Macros

const dunningMacros = {
  ...invoiceMacros,
  'payment.reason': macro('Reason', 'Reason why it was not paid', declined),
  'payment.next': macro('Next', 'The day of the next step', '2026-02-18'),
} as const satisfies Macros

export const transactionNotice = billingNotice('transaction', 'Payment', transactionMacros, {
  en: [
    '{{transaction.type}} of {{transaction.amount}} for {{account.name}}',
    '{{transaction.type}} of {{transaction.amount}} for the account {{account.name}} is complete.',
    'Purpose: {{transaction.description}}\nTransaction: {{transaction.id}}',
    'You do not have to do anything.',
  ],
  de: [
    '{{transaction.type}} über {{transaction.amount}} für {{account.name}}',
    '{{transaction.type}} über {{transaction.amount}} für das Konto {{account.name}} ist abgeschlossen.',
    'Zweck: {{transaction.description}}\nTransaktion: {{transaction.id}}',
    'Sie müssen nichts tun.',
  ],
})

export const transactionFailedNotice = billingNotice(
  'transaction_failed',
  'Failed payment',
  { ...transactionMacros, 'transaction.reason': macro('Reason', 'Reason of the failure', declined) },
  {
    en: [
      '{{transaction.type}} of {{transaction.amount}} for {{account.name}} failed',
      '{{transaction.type}} of {{transaction.amount}} for the account {{account.name}} failed: {{transaction.reason}}',
      'Purpose: {{transaction.description}}\nTransaction: {{transaction.id}}',
      'Check the payment method, then try again.',
    ],
    de: [
      '{{transaction.type}} über {{transaction.amount}} für {{account.name}} fehlgeschlagen',
      '{{transaction.type}} über {{transaction.amount}} für das Konto {{account.name}} ist fehlgeschlagen: {{transaction.reason}}',
      'Zweck: {{transaction.description}}\nTransaktion: {{transaction.id}}',
      'Prüfen Sie die Zahlungsart und versuchen Sie es dann erneut.',
    ],
  },
)

export const invoiceNotice = billingNotice(
  'invoice',
  'Invoice',
  { ...invoiceMacros, 'invoice.status': macro('Status', 'Such as open or paid', statusTexts.open) },
  {
    en: [
      'Invoice {{invoice.number}} of {{account.name}}: {{invoice.total}}',
      'The invoice {{invoice.number}} of the account {{account.name}} is attached.',
      'Total: {{invoice.total}}\nAmount due: {{invoice.to_pay}}\nDue date: {{invoice.due}}',
      'If an amount is due, pay it by the due date.',
    ],
    de: [
      'Rechnung {{invoice.number}} von {{account.name}}: {{invoice.total}}',
      'Die Rechnung {{invoice.number}} des Kontos {{account.name}} ist angehängt.',
      'Gesamtbetrag: {{invoice.total}}\nFälliger Betrag: {{invoice.to_pay}}\nFällig am: {{invoice.due}}',
      'Wenn ein Betrag fällig ist, bezahlen Sie ihn bis zum Fälligkeitstag.',
    ],
  },
)

const notCharged = {
  en: '{{invoice.to_pay}} for the invoice {{invoice.number}} of the account {{account.name}} could not be charged: {{payment.reason}}',
  de: '{{invoice.to_pay}} für die Rechnung {{invoice.number}} des Kontos {{account.name}} konnten nicht eingezogen werden: {{payment.reason}}',
}

export const paymentRetryNotice = billingNotice('payment_retry', 'Payment retry', dunningMacros, {
  en: [
    'Invoice {{invoice.number}} could not be paid',
    notCharged.en,
    'Pay the invoice or check the payment method. The next attempt is on {{payment.next}}.',
  ],
  de: [
    'Rechnung {{invoice.number}} konnte nicht bezahlt werden',
    notCharged.de,
    'Bezahlen Sie die Rechnung oder prüfen Sie die Zahlungsart. Der nächste Versuch ist am {{payment.next}}.',
  ],
})

export const paymentGraceNotice = billingNotice('payment_grace', 'Final payment deadline', dunningMacros, {
  en: [
    'Pay invoice {{invoice.number}} by {{payment.next}}',
    notCharged.en,
    'Pay the invoice by {{payment.next}}. After that day, the account cannot order anything. There are no further automatic attempts.',
  ],
  de: [
    'Bezahlen Sie die Rechnung {{invoice.number}} bis {{payment.next}}',
    notCharged.de,
    'Bezahlen Sie die Rechnung bis {{payment.next}}. Danach kann das Konto nichts mehr bestellen. Es gibt keine weiteren automatischen Versuche.',
  ],
})

export const accountDelinquentNotice = billingNotice(
  'account_delinquent',
  'Account not in good standing',
  dunningMacros,
  {
    en: [
      'Orders of {{account.name}} are blocked: invoice {{invoice.number}} is not paid',
      'The account {{account.name}} cannot order anything because the invoice {{invoice.number}} is not paid: {{payment.reason}}',
      'Pay {{invoice.to_pay}} to remove the block.',
    ],
    de: [
      'Bestellungen von {{account.name}} sind gesperrt: Rechnung {{invoice.number}} ist nicht bezahlt',
      'Das Konto {{account.name}} kann nichts bestellen, weil die Rechnung {{invoice.number}} nicht bezahlt ist: {{payment.reason}}',
      'Bezahlen Sie {{invoice.to_pay}}, um die Sperre aufzuheben.',
    ],
  },
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
  {
    en: [
      'Payment of {{payer.name}} is disputed: {{dispute.status}}',
      'A payment of the account {{payer.name}} ({{payer.id}}) is disputed.',
      'Amount: {{dispute.amount}}\nStatus: {{dispute.status}}\nReason: {{dispute.reason}}\nDispute: {{dispute.id}}\nTransaction: {{transaction.id}}',
      'Open the dispute at the payment processor and respond to it there.',
    ],
    de: [
      'Zahlung von {{payer.name}} wird angefochten: {{dispute.status}}',
      'Eine Zahlung des Kontos {{payer.name}} ({{payer.id}}) wird angefochten.',
      'Betrag: {{dispute.amount}}\nStatus: {{dispute.status}}\nGrund: {{dispute.reason}}\nAnfechtung: {{dispute.id}}\nTransaktion: {{transaction.id}}',
      'Öffnen Sie die Anfechtung beim Zahlungsdienst und antworten Sie dort.',
    ],
  },
)
