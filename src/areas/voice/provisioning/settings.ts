import { Type } from 'typebox'
import { secret, secretUrl } from '../../../lib/secrets.ts'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const provisioner = section('Service that provisions phones', {
  provisioning_url: Type.Optional(
    Type.String({
      pattern: '^https?://',
      maxLength: 2048,
      ...secretUrl,
      description: 'URL that receives each created, changed or removed phone; absent: none',
    }),
  ),
  authorization_header: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      ...secret,
      description: 'Value of the header Authorization',
    }),
  ),
  timeout_ms: wholeNumber({ minimum: 1, maximum: 60_000, default: 10_000 }, 'Timeout of the service'),
})

export const provisioningSettings = settingsDocument('provisioner', provisioner)
