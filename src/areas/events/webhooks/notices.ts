import { body, macro, notice } from '../../../mail/notices.ts'

export const webhookDisabledNotice = notice('webhook_disabled', {
  friendlyName: 'Webhook disabled',
  category: 'system',
  to: 'admins',
  macros: {
    'hook.id': macro('Webhook id', 'Of the webhook', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
    'hook.name': macro('Webhook name', 'What it is called', 'Provisioning'),
    'hook.uri': macro('Webhook address', 'Where it leads', 'https://hooks.example.com/calls'),
    'hook.event': macro('Hook', 'Its events', 'object'),
    'hook.reason': macro('Reason', 'Why it was switched off', 'too many failed attempts'),
  },
  subject: 'The webhook {{hook.name}} of {{account.name}} is switched off',
  ...body(
    'The webhook {{hook.name}} of the account {{account.name}} has failed for a whole day, and is switched off: {{hook.reason}}.',
    'Address: {{hook.uri}}\nHook: {{hook.event}}\nId: {{hook.id}}',
    'Events since then can be sent again after you enable it.',
  ),
})
