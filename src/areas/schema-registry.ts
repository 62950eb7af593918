import type { TSchema } from 'typebox'
import { settingsSchemas } from '../settings/documents.ts'
import { AccessList } from './access-lists/schema.ts'
import { Account } from './accounts/schema.ts'
import { Device } from './devices/schema.ts'
import { AccountRateLimits, DeviceRateLimits } from './rate-limits/schema.ts'
import { ApiAuth, UserAuth } from './sign-in/schema.ts'
import { TokenRestrictions } from './token-restrictions/schema.ts'
import { User } from './users/schema.ts'

const settings = Object.entries(settingsSchemas).map(([name, schema]) => [`system_config.${name}`, schema])

/** The shapes of what clients write, by the names that clients know. A new record joins with a line. */
export const schemaRegistry: Readonly<Record<string, TSchema>> = {
  access_lists: AccessList,
  accounts: Account,
  api_auth: ApiAuth,
  device_rate_limits: DeviceRateLimits,
  devices: Device,
  rate_limits: AccountRateLimits,
  token_restrictions: TokenRestrictions,
  user_auth: UserAuth,
  users: User,
  ...Object.fromEntries(settings),
}
