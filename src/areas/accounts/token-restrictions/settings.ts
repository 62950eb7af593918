import { Type } from 'typebox'
import { anyObject } from '../../../lib/schema.ts'
import { dataByName, section, settingsDocument } from '../../../settings/keys.ts'

const tokenRestrictions = section(
  'Token restrictions of accounts without their own',
  {
    // An object schema with properties, even an empty one, would add a default that hides the values at the top
    // level.
    restrictions: Type.Optional(
      anyObject({
        description:
          'By way of signing in, privilege level and endpoint; `_` stands for any other. It may also stand in the section itself, without this key',
      }),
    ),
  },
  dataByName,
)

export const tokenRestrictionSettings = settingsDocument('crossbar.token_restrictions', tokenRestrictions)
