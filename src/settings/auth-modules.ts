import type { Static } from 'typebox'
import { anyText, closed, flag, integer, list, open, text } from '../lib/schema.ts'

/** The ways to sign in that have settings of their own. */
export const authModuleNames = [
  'cb_api_auth',
  'cb_auth',
  'cb_conference_auth',
  'cb_desktop_auth',
  'cb_ip_auth',
  'cb_user_auth',
] as const
export type AuthModuleName = (typeof authModuleNames)[number]

const MultiFactor = closed(
  {
    enabled: flag(),
    configuration_id: text(1, 64, { description: 'The provider; absent: the nearest one above' }),
    account_id: text(32, 32, { description: 'The account that holds the provider' }),
    include_subaccounts: flag({ description: 'Also for the accounts below' }),
  },
  { description: 'The second factor' },
)

const AuthModule = open({
  enabled: flag({ description: 'Whether one may sign in this way' }),
  log_failed_attempts: flag(),
  log_successful_attempts: flag(),
  token_auth_expiry_s: integer({ description: 'Seconds; not positive: tokens do not expire' }),
  scopes: list(anyText()),
  multi_factor: MultiFactor,
})
export type AuthModule = Static<typeof AuthModule>

const modules = {
  cb_api_auth: AuthModule,
  cb_auth: AuthModule,
  cb_conference_auth: AuthModule,
  cb_desktop_auth: AuthModule,
  cb_ip_auth: AuthModule,
  cb_user_auth: AuthModule,
} satisfies Record<AuthModuleName, typeof AuthModule>

/** Settings by way to sign in: of the system, and of accounts. */
export const AuthModules = closed(modules, { default: {} })
export type AuthModules = Static<typeof AuthModules>
