import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const apiKeys = section('Named API keys', {
  last_used_every_s: wholeNumber(
    { minimum: 1, maximum: 86_400, default: 300 },
    'Seconds for which a use of an API key is not written down again',
  ),
})

export const apiKeySettings = settingsDocument('api_keys', apiKeys)
