import { adoptingInto } from '../adoption.ts'
import { area } from '../area.ts'
import { createTokenRestrictions } from './operations.ts'
import { tokenRestrictionRoutes } from './routes.ts'
import { TokenRestrictions } from './schema.ts'
import { tokenRestrictionSettings } from './settings.ts'
import { createRestrictionStore } from './store.ts'

/** What tokens may be used for. */
export const tokenRestrictionsArea = area({
  name: 'tokenRestrictions',
  describes: { token_restrictions: 'What tokens may be used for.' },
  settings: [tokenRestrictionSettings],
  create(tools) {
    const restrictions = createTokenRestrictions(tools)
    const adopting = adoptingInto<TokenRestrictions, object>(
      createRestrictionStore(tools.store),
      ({ doc }) => ({ doc: doc as TokenRestrictions, hidden: {} }),
    )
    return {
      offers: restrictions,
      routes: tokenRestrictionRoutes(restrictions),
      schemas: { token_restrictions: TokenRestrictions },
      adoptions: { token_restrictions: { schema: TokenRestrictions, ...adopting } },
    }
  },
})
