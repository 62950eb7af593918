import type { UserRecord } from '../../../auth/identity.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { whitelabelArea } from '../../brand/whitelabel/area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { accountsArea } from '../accounts/area.ts'
import { apiKeysArea } from '../api-keys/area.ts'
import { loginAttemptsArea } from '../login-attempts/area.ts'
import { multiFactorArea } from '../multi-factor/area.ts'
import { securityArea } from '../security/area.ts'
import { usersArea } from '../users/area.ts'
import { userBeginsAnew, userDeleted, userToWelcome } from '../users/signals.ts'
import { createLogin } from './login.ts'
import { createKnownNetworks } from './networks.ts'
import { newUserNotice, passwordRecoveryNotice } from './notices.ts'
import { createImpersonate, createSignIn } from './operations.ts'
import { createRecovery, createResets } from './recovery.ts'
import { recoveryRoutes, signInRoutes } from './routes.ts'
import { firstLink } from './rules.ts'
import { ApiAuth, UserAuth } from './schema.ts'
import { createWelcome } from './welcome.ts'

export const signInArea = area({
  name: 'signIn',
  kinds: {
    key_grant: 'replies to servers that join the store',
    key_request: 'servers that join the store',
    password_reset: 'links for a new password',
    revoked_token: 'tokens that were signed out',
    server_key: 'the key of the store',
    sign_in_networks: 'sign-in networks of a user',
    signing_key: 'keys that sign tokens',
    token_identity: 'the secret of all tokens',
  },
  events: {
    'sign_in.new_address':
      'Extra: a user signs in from a network (/24 of IPv4, /64 of IPv6) that is not among the last 100 of that user. Record: `user`. `after`: `client_address`, `network`, `is_first` (the first network of the user)',
  },
  describes: {
    api_auth: 'Sign-in with an API key.',
    auth: 'Tokens: renewal, inspection, end of sessions, signing keys.',
    token_auth: 'The token of the request.',
    user_auth: 'Sign-in with a password, and password recovery.',
  },
  needs: {
    accounts: accountsArea,
    phoneNumbers: phoneNumbersArea,
    users: usersArea,
    multiFactor: multiFactorArea,
    security: securityArea,
    apiKeys: apiKeysArea,
    attempts: loginAttemptsArea,
    brands: whitelabelArea,
  },
  notices: [newUserNotice, passwordRecoveryNotice],
  create(
    tools,
    { accounts, phoneNumbers, users, multiFactor, security: { security, lock }, apiKeys, attempts, brands },
  ) {
    const { tokens } = tools
    const { accountOf: accountOfNumber } = phoneNumbers.identity
    const resets = createResets(tools)
    const signIn = createSignIn({ ...tools, accounts, security, apiKeys, accountOfNumber })
    const networks = createKnownNetworks(tools)
    const login = createLogin({ ...tools, ...multiFactor, users, signIn, security, lock, attempts, networks })
    const impersonate = createImpersonate({ ...tools, signIn, attempts })
    const recovery = createRecovery({ ...tools, resets, users, signIn, security, attempts, brands })
    const welcome = createWelcome({ ...tools, resets, users, brands })
    return {
      offers: {
        ...signIn,
        admitsPassword: login.admitsPassword,

        /** Adds a reset ID for the first user; the terminal shows it. */
        addFirstLink: (set: ChangeSet, user: UserRecord) => resets.addTo(set, user, firstLink),
      },
      routes: [
        ...signInRoutes({ signIn, login, impersonate, tokens, accounts, users }),
        ...recoveryRoutes(recovery),
      ],
      jobs: [recovery.job, welcome.job],
      hears: [
        on(userDeleted, resets.removeWith),
        on(userDeleted, networks.removeWith),
        on(userBeginsAnew, resets.removeWith),
        on(userToWelcome, welcome.addTo),
      ],
      schemas: { api_auth: ApiAuth, user_auth: UserAuth },
    }
  },
})
