import type { TSchema } from 'typebox'
import { Allotments, OperatorLimits } from '../lib/limit-shapes.ts'
import { settingsSchemas } from '../settings/documents.ts'
import { WhitelabelDomains } from '../settings/whitelabel-domains.ts'
import { AccessList } from './access-lists/schema.ts'
import { Account } from './accounts/schema.ts'
import { Alert } from './alerts/schema.ts'
import { Device } from './devices/schema.ts'
import { Limits } from './limits/schema.ts'
import { Notification } from './notifications/schema.ts'
import { PhoneNumber } from './phone-numbers/schema.ts'
import { FindNumbers } from './phone-numbers/search/schema.ts'
import { AccountRateLimits, DeviceRateLimits } from './rate-limits/schema.ts'
import { Rate } from './rates/schema.ts'
import { ApiAuth, UserAuth } from './sign-in/schema.ts'
import { TokenRestrictions } from './token-restrictions/schema.ts'
import { User } from './users/schema.ts'
import { SenderEmail } from './whitelabel/emails/schema.ts'
import { Whitelabel } from './whitelabel/schema.ts'

const settings = Object.entries(settingsSchemas).map(([name, schema]) => [`system_config.${name}`, schema])

/** The shapes of what clients write, by the names that clients know. A new record joins with a line. */
export const schemaRegistry: Readonly<Record<string, TSchema>> = {
  access_lists: AccessList,
  accounts: Account,
  alerts: Alert,
  allotments: Allotments,
  api_auth: ApiAuth,
  device_rate_limits: DeviceRateLimits,
  devices: Device,
  find_numbers: FindNumbers,
  limits: Limits,
  notifications: Notification,
  operator_limits: OperatorLimits,
  phone_numbers: PhoneNumber,
  rate_limits: AccountRateLimits,
  rates: Rate,
  token_restrictions: TokenRestrictions,
  user_auth: UserAuth,
  users: User,
  whitelabel: Whitelabel,
  whitelabel_domains: WhitelabelDomains,
  whitelabel_emails: SenderEmail,
  ...Object.fromEntries(settings),
}
