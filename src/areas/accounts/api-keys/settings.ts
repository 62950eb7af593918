import { Type } from 'typebox'
import { section, settingsDocument } from '../../../settings/keys.ts'

const apiKeys = section('Named API keys', {
  last_used_every_s: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 300,
    description: 'Seconds for which a use of an API key is not written down again',
  }),
})

export const apiKeySettings = settingsDocument('api_keys', apiKeys)
