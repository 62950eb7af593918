import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  closed,
  either,
  flag,
  list,
  must,
  open,
  text,
} from '../../../lib/schema.ts'

/** Digest methods of user name and password. */
export const digestMethods = ['md5', 'sha'] as const

/** The credentials of a user; the account is found by phone number, realm, name or ID. */
export const UserAuth = open(
  {
    credentials: must(
      text(1, 64, { description: 'Hex digest of `username:password`, the user name lower-cased' }),
    ),
    method: choice(digestMethods, {
      default: 'md5',
      description: 'Also accepted next to `data`, or in the query',
    }),
    account_name: text(1, 128),
    account_realm: text(4, 253, { pattern: '^[.\\w_-]+$' }),
    realm: text(4, 253, { pattern: '^[.\\w_-]+$', description: 'Another name of account_realm' }),
    phone_number: text(1, 64),
    account_id: text(32, 32),
    multi_factor_response: anyText({
      description: 'Code of the second factor, a recovery code, or the response of a passkey as JSON text',
    }),
  },
  { title: 'User sign-in' },
)
export type UserAuth = Static<typeof UserAuth>

export const ApiAuth = closed({ api_key: must(text(64, 64)) }, { title: 'API key sign-in' })

/** The data of a sign-in; the token is `auth_token` of the envelope. */
export const LoginResult = open(
  {
    account_id: must(anyText()),
    owner_id: anyText(),
    account_name: anyText(),
    reseller_id: anyText(),
    is_reseller: flag(),
    is_master_account: flag(),
    language: anyText(),
    apps: list(anyObject()),
    capabilities: anyObject(),
    cluster_id: anyText(),
    ui_config: anyObject(),
    user_info: anyObject(),
    scope: anyText({
      description: 'Scopes of the token, separated by spaces; absent: no limit',
    }),
    recovery_codes: list(anyText(), {
      description: 'Returned with the first code of a second factor: each replaces a code once',
    }),
  },
  { title: 'Login result' },
)

/** The QR code's address, or what a sign-in answers once the first code is right. */
export const Enrolment = either([
  list(open({ qr_url: must(anyText({ description: 'An otpauth:// address' })) })),
  LoginResult,
])

export const TokenInfo = open({ token: anyText() }, { title: 'A token to inspect' })

export const RecoveryRequest = open(
  {
    username: must(text(1, 254)),
    ui_url: must(
      text(14, 2000, {
        format: 'uri',
        description: 'URL of the link in the email; `recovery=<id>` is added',
      }),
    ),
    account_name: text(1, 64),
    account_realm: text(1, 64),
    realm: text(1, 64, { description: 'Another name of account_realm' }),
    phone_number: text(1, 64),
    account_id: text(32, 32),
  },
  { title: 'Password recovery' },
)

export const RecoveryAnswer = anyText({ description: 'The same message in every case' })

export const Redemption = open(
  { reset_id: must(text(40, 250, { pattern: '^[a-fA-F0-9]{40,250}$' })) },
  { title: 'A reset id from a mail' },
)
