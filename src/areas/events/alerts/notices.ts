import { body, macro, notice } from '../../../mail/notices.ts'

export const lowBalanceNotice = notice('low_balance', {
  friendlyName: 'Low balance',
  category: 'billing',
  to: 'admins',
  macros: {
    current_balance: macro('Balance', 'With its currency', '$3.20'),
    threshold: macro('Threshold', 'Threshold of this notice', '$5.00'),
  },
  subject: 'The balance of {{account.name}} is low',
  ...body(
    'The balance of the account {{account.name}} is {{current_balance}}.',
    'You get this notice when the balance is {{threshold}} or less.',
  ),
})

export const alertNotice = notice('alert', {
  friendlyName: 'Alert',
  category: 'system',
  to: 'admins',
  macros: {
    'alert.title': macro('Title', 'Title of the alert', 'Low balance'),
    'alert.message': macro('Message', 'Text of the alert', 'The account is about to be blocked'),
    'alert.category': macro('Category', 'Category of the alert', 'low_balance'),
  },
  subject: '{{alert.title}}',
  ...body('An alert in the account {{account.name}}:', '{{alert.title}}', '{{alert.message}}'),
})
