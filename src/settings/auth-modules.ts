import type { Static } from 'typebox'
import type { Problems } from '../lib/failure.ts'
import { memberOf } from '../lib/member.ts'
import { closed, flag, integer, list, open, text } from '../lib/schema.ts'
import { scope } from '../lib/scopes.ts'

export const authModuleNames = ['cb_user_auth', 'cb_api_auth'] as const
export type AuthModuleName = (typeof authModuleNames)[number]

const MultiFactor = closed(
  {
    enabled: flag({ description: 'Require a second factor' }),
    configuration_id: text(1, 64, {
      description: 'ID of the provider; absent: the provider of the nearest parent account',
    }),
    account_id: text(32, 32, { description: 'Account of the provider' }),
    include_subaccounts: flag({ description: 'Also apply to sub-accounts' }),
  },
  { description: 'Second factor' },
)

const AuthModule = open({
  enabled: flag({ description: 'Allow this sign-in method' }),
  log_failed_attempts: flag({ description: 'Store failed sign-in attempts' }),
  log_successful_attempts: flag({ description: 'Store successful sign-ins' }),
  token_auth_expiry_s: integer({
    description: 'Lifetime of a token; 0 or less: it does not expire',
  }),
  scopes: list(scope, {
    maxItems: 200,
    description:
      'Scopes of tokens from this sign-in method, as for named API keys; empty: all. They do not apply to the master account',
  }),
  multi_factor: MultiFactor,
})
export type AuthModule = Static<typeof AuthModule>

const authModule = (description: string) => ({ ...AuthModule, description })

const modules = {
  cb_api_auth: authModule('API keys, including named ones'),
  cb_user_auth: authModule('User name and password, passkeys, sign-in as another user'),
} satisfies Record<AuthModuleName, typeof AuthModule>

export const AuthModules = closed(modules, {
  default: {},
  description: 'Settings by sign-in method',
})
export type AuthModules = Static<typeof AuthModules>

/** Rules of the settings by sign-in method that the schema cannot express. */
export const moduleProblems = (modules: unknown): Problems => {
  if (memberOf(modules, 'cb_api_auth', 'multi_factor', 'enabled') !== true) return {}
  const message = 'API keys cannot answer a second factor'
  return { 'auth_modules.cb_api_auth.multi_factor.enabled': { invalid: { message, value: true } } }
}
