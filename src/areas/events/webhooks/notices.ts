import { macro, notice } from '../../../mail/notices.ts'

export const disableReason = { en: 'too many failed attempts', de: 'zu viele fehlgeschlagene Versuche' }

export const webhookDisabledNotice = notice(
  'webhook_disabled',
  {
    friendlyName: 'Webhook disabled',
    category: 'system',
    to: 'admins',
    macros: {
      'hook.id': macro('Webhook id', 'ID of the webhook', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
      'hook.name': macro('Webhook name', 'Name of the webhook', 'Provisioning'),
      'hook.uri': macro('Webhook address', 'URL of the webhook', 'https://hooks.example.com/calls'),
      'hook.event': macro('Hook', 'Its events', 'object'),
      'hook.reason': macro('Reason', 'Reason why it was disabled', disableReason),
    },
  },
  {
    en: [
      'Webhook {{hook.name}} of {{account.name}} is disabled',
      'The webhook {{hook.name}} of the account {{account.name}} failed for 24 hours and is now disabled. Reason: {{hook.reason}}.',
      'Address: {{hook.uri}}\nEvents: {{hook.event}}\nID: {{hook.id}}',
      'Repair the receiver, then enable the webhook. You can send the missed events again.',
    ],
    de: [
      'Webhook {{hook.name}} von {{account.name}} ist deaktiviert',
      'Der Webhook {{hook.name}} des Kontos {{account.name}} ist 24 Stunden lang fehlgeschlagen und jetzt deaktiviert. Grund: {{hook.reason}}.',
      'Adresse: {{hook.uri}}\nEreignisse: {{hook.event}}\nID: {{hook.id}}',
      'Reparieren Sie den Empfänger und aktivieren Sie danach den Webhook. Die verpassten Ereignisse können Sie erneut senden.',
    ],
  },
)
