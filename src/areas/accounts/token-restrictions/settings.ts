import { Type } from 'typebox'
import { anyObject } from '../../../lib/schema.ts'
import { dataByName, section, settingsDocument } from '../../../settings/keys.ts'

const tokenRestrictions = section(
  'Token restrictions of accounts without separate ones',
  {
    // An object schema with properties, even an empty one, would add a default that hides the values at the top
    // level.
    restrictions: Type.Optional(
      anyObject({
        description:
          'Restrictions by sign-in method, privilege level and endpoint; `_` is any other. This key may be omitted: the section then contains the restrictions',
      }),
    ),
  },
  dataByName,
)

export const tokenRestrictionSettings = settingsDocument('crossbar.token_restrictions', tokenRestrictions)
