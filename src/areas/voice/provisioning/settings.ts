import { Type } from 'typebox'
import { secret, secretUrl } from '../../../lib/secrets.ts'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const provisioner = section('The service that provisions phones', {
  provisioning_url: Type.Optional(
    Type.String({
      pattern: '^https?://',
      maxLength: 2048,
      ...secretUrl,
      description: 'Receives every created, changed or removed phone; absent: nothing is sent',
    }),
  ),
  authorization_header: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, ...secret, description: 'Sent as it is' }),
  ),
  timeout_ms: wholeNumber(
    { minimum: 1, maximum: 60_000, default: 10_000 },
    'How long the service is waited for',
  ),
})

export const provisioningSettings = settingsDocument('provisioner', provisioner)
