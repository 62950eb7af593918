import { area } from '../../area.ts'
import { createTokenRestrictions } from './operations.ts'
import { tokenRestrictionRoutes } from './routes.ts'
import { TokenRestrictions } from './schema.ts'
import { tokenRestrictionSettings } from './settings.ts'

export const tokenRestrictionsArea = area({
  name: 'tokenRestrictions',
  kinds: { token_restrictions: 'what tokens may be used for' },
  describes: { token_restrictions: 'Limits of tokens.' },
  settings: [tokenRestrictionSettings],
  create(tools) {
    const restrictions = createTokenRestrictions(tools)
    return {
      offers: restrictions,
      routes: tokenRestrictionRoutes(restrictions),
      schemas: { token_restrictions: TokenRestrictions },
      adoptions: { token_restrictions: restrictions.adoption },
    }
  },
})
