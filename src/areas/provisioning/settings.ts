import { Type } from 'typebox'
import { secret } from '../../lib/secrets.ts'
import { section } from '../../settings/keys.ts'

const provisioner = section({
  provisioning_url: Type.Optional(
    Type.String({
      pattern: '^https?://',
      maxLength: 2048,
      description: 'Is told of every phone that is made, changed or removed; absent: nobody is',
    }),
  ),
  authorization_header: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, ...secret, description: 'Sent as it is' }),
  ),
  timeout_ms: Type.Integer({ minimum: 1, maximum: 60_000, default: 10_000 }),
})

export const provisioningSettings = { provisioner }

type Owned = typeof provisioningSettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
