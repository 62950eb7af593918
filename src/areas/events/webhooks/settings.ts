import { Type } from 'typebox'
import { section, settingsDocument, unit } from '../../../settings/keys.ts'

const webhooks = section('Telling webhooks of events', {
  request_timeout_ms: Type.Integer({
    minimum: 100,
    maximum: 10_000,
    default: 10_000,
    description: 'How long a receiver may take for its whole answer',
  }),
  deliveries_at_once: Type.Integer({
    minimum: 1,
    maximum: 64,
    default: 8,
    ...unit('deliveries'),
    description: 'How many events, of different records, one receiver is told of at the same time',
  }),
})

export const webhookSettings = settingsDocument('webhooks', webhooks)
