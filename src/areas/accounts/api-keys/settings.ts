import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const apiKeys = section('Named API keys', {
  last_used_every_s: wholeNumber(
    { minimum: 1, maximum: 86_400, default: 300 },
    'Minimum time between two records of the last use of an API key',
  ),
})

export const apiKeySettings = settingsDocument('api_keys', apiKeys)
