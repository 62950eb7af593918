import { macro, notice } from '../../../mail/notices.ts'

export const lowBalanceNotice = notice(
  'low_balance',
  {
    friendlyName: 'Low balance',
    category: 'billing',
    to: 'admins',
    macros: {
      current_balance: macro('Balance', 'With its currency', '$3.20'),
      threshold: macro('Threshold', 'Threshold of this notice', '$5.00'),
    },
  },
  {
    en: [
      'The balance of {{account.name}} is low: {{current_balance}}',
      'The balance of the account {{account.name}} is {{current_balance}}.',
      'Add credit to the account. You get this email when the balance is {{threshold}} or less.',
    ],
    de: [
      'Das Guthaben von {{account.name}} ist niedrig: {{current_balance}}',
      'Das Guthaben des Kontos {{account.name}} beträgt {{current_balance}}.',
      'Laden Sie das Guthaben auf. Sie erhalten diese E-Mail, wenn es {{threshold}} oder weniger beträgt.',
    ],
  },
)

export const alertNotice = notice(
  'alert',
  {
    friendlyName: 'Alert',
    category: 'system',
    to: 'admins',
    macros: {
      'alert.title': macro('Title', 'Title of the alert', 'Low balance'),
      'alert.message': macro('Message', 'Text of the alert', 'The account is about to be blocked'),
      'alert.category': macro('Category', 'Category of the alert', 'low_balance'),
    },
  },
  {
    en: [
      '{{alert.title}}',
      'The account {{account.name}} has an alert:',
      '{{alert.title}}',
      '{{alert.message}}',
    ],
    de: [
      '{{alert.title}}',
      'Für das Konto {{account.name}} gibt es eine Warnung:',
      '{{alert.title}}',
      '{{alert.message}}',
    ],
  },
)
