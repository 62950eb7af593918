import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const webhooks = section('Telling webhooks of events', {
  request_timeout_ms: wholeNumber(
    { minimum: 100, maximum: 10_000, default: 10_000 },
    'How long a receiver may take for its whole answer',
  ),
  deliveries_at_once: wholeNumber(
    { minimum: 1, maximum: 64, default: 8, unit: 'deliveries' },
    'Concurrent deliveries to one receiver, of different records',
  ),
})

export const webhookSettings = settingsDocument('webhooks', webhooks)
