import { Type } from 'typebox'
import { section } from '../../settings/keys.ts'

const apiKeys = section('Named API keys', {
  last_used_every_s: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 300,
    description: 'Seconds for which a use of an API key is not written down again',
  }),
})

export const apiKeySettings = { api_keys: apiKeys }

type Owned = typeof apiKeySettings

declare module '../../settings/documents.ts' {
  interface SettingsDocuments extends Owned {}
}
