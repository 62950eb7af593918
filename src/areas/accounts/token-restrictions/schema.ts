import type { Static } from 'typebox'
import { anyText, choice, keyed, list, must, open } from '../../../lib/schema.ts'

const AllowedMethods = list(choice(['GET', 'PUT', 'POST', 'PATCH', 'DELETE', '_']), {
  description: '`_` is any method',
})

const AccountRules = open({
  allowed_accounts: list(anyText(), {
    description: 'Account ids, `_` (any), `{AUTH_ACCOUNT_ID}`, `{DESCENDANT_ACCOUNT_ID}`; absent: any',
  }),
  rules: must(
    keyed(AllowedMethods, {
      description: 'By pattern of arguments: `/` none, `*` one, `#` any number, else the exact text',
    }),
  ),
})

const byEndpoint = keyed(list(AccountRules), { description: 'By endpoint, `_` for any other' })
const byPrivLevel = keyed(byEndpoint, { description: 'By privilege level, `_` for any other' })

export const TokenRestrictions = open({
  restrictions: must(keyed(byPrivLevel, { description: 'By authentication method, `_` for any other' })),
})

export type TokenRestrictions = Static<typeof TokenRestrictions>
