import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const passkeys = section('Passkeys', {
  rp_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Domain of the passkeys; absent: the host of the request, if it is in hosts',
    }),
  ),
  rp_name: Type.String({
    default: 'Crosspoint',
    minLength: 1,
    maxLength: 64,
    description: 'Shown by browsers',
  }),
  origins: Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
    default: [],
    maxItems: 50,
    description:
      'Web origins that use the passkeys of rp_id (https://console.example.com); empty: https at rp_id',
  }),
  hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 1000,
    description: 'Further hosts of this server, each with separate passkeys',
  }),
  challenge_s: wholeNumber({ minimum: 30, maximum: 3600, default: 300 }, 'Validity of a challenge'),
  most_per_user: wholeNumber(
    { minimum: 1, maximum: 50, default: 20, unit: 'passkeys' },
    'Maximum passkeys of a user',
  ),
})

export const passkeySettings = settingsDocument('passkeys', passkeys)
