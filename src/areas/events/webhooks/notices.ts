import { body, macro, notice } from '../../../mail/notices.ts'

export const webhookDisabledNotice = notice('webhook_disabled', {
  friendlyName: 'Webhook disabled',
  category: 'system',
  to: 'admins',
  macros: {
    'hook.id': macro('Webhook id', 'ID of the webhook', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
    'hook.name': macro('Webhook name', 'Name of the webhook', 'Provisioning'),
    'hook.uri': macro('Webhook address', 'URL of the webhook', 'https://hooks.example.com/calls'),
    'hook.event': macro('Hook', 'Its events', 'object'),
    'hook.reason': macro('Reason', 'Reason why it was disabled', 'too many failed attempts'),
  },
  subject: 'Webhook {{hook.name}} of {{account.name}} is disabled',
  ...body(
    'The webhook {{hook.name}} of the account {{account.name}} has failed for a whole day and is disabled: {{hook.reason}}.',
    'Address: {{hook.uri}}\nHook: {{hook.event}}\nId: {{hook.id}}',
    'Events since then can be sent again after you enable it.',
  ),
})
