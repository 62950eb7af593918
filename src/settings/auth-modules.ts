import type { Static } from 'typebox'
import type { Problems } from '../lib/failure.ts'
import { memberOf } from '../lib/member.ts'
import { closed, flag, integer, list, open, text } from '../lib/schema.ts'
import { scope } from '../lib/scopes.ts'

export const authModuleNames = ['cb_user_auth', 'cb_api_auth'] as const
export type AuthModuleName = (typeof authModuleNames)[number]

const MultiFactor = closed(
  {
    enabled: flag({ description: 'Whether a second factor is asked for' }),
    configuration_id: text(1, 64, { description: 'The provider; absent: the nearest one above' }),
    account_id: text(32, 32, { description: 'The account that holds the provider' }),
    include_subaccounts: flag({ description: 'Also for the accounts below' }),
  },
  { description: 'The second factor' },
)

const AuthModule = open({
  enabled: flag({ description: 'Whether one may sign in this way' }),
  log_failed_attempts: flag({ description: 'Keep refused sign-ins' }),
  log_successful_attempts: flag({ description: 'Keep sign-ins' }),
  token_auth_expiry_s: integer({
    description: 'How long a token is good; not positive: tokens do not expire',
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
  cb_api_auth: authModule('API keys, named ones too'),
  cb_user_auth: authModule('User name and password, passkeys, acting as a user'),
} satisfies Record<AuthModuleName, typeof AuthModule>

export const AuthModules = closed(modules, {
  default: {},
  description: 'Settings by sign-in method',
})
export type AuthModules = Static<typeof AuthModules>

/** What of the settings by way to sign in the schema cannot say. */
export const moduleProblems = (modules: unknown): Problems => {
  if (memberOf(modules, 'cb_api_auth', 'multi_factor', 'enabled') !== true) return {}
  const message = 'API keys cannot answer a second factor'
  return { 'auth_modules.cb_api_auth.multi_factor.enabled': { invalid: { message, value: true } } }
}
