import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const webhooks = section('Delivery of events to webhooks', {
  request_timeout_ms: wholeNumber(
    { minimum: 100, maximum: 10_000, default: 10_000 },
    'Timeout for the whole response of a receiver',
  ),
  deliveries_at_once: wholeNumber(
    { minimum: 1, maximum: 64, default: 8, unit: 'deliveries' },
    'Maximum concurrent deliveries to one receiver, of different records',
  ),
})

export const webhookSettings = settingsDocument('webhooks', webhooks)
