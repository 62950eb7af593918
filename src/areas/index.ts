import type { Keyring } from '../auth/keyring.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Route } from '../http/route.ts'
import type { Afterwards } from '../jobs/afterwards.ts'
import type { Leases } from '../jobs/leases.ts'
import type { Round, Rounds } from '../jobs/rounds.ts'
import type { Problems } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import type { Log } from '../lib/log.ts'
import type { Mail } from '../mail/mail.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../storage/store.ts'
import type { MediaSwitch } from '../switch/media-switch.ts'
import { aboutRoutes } from './about/routes.ts'
import { createAccessLists } from './access-lists/operations.ts'
import { accessListRoutes } from './access-lists/routes.ts'
import { createAccounts } from './accounts/operations.ts'
import { accountRoutes } from './accounts/routes.ts'
import { createAccountConfigs } from './configs/operations.ts'
import { accountConfigRoutes } from './configs/routes.ts'
import { createDevices } from './devices/operations.ts'
import { deviceRoutes } from './devices/routes.ts'
import { createEdge } from './edge/operations.ts'
import { edgeRoutes } from './edge/routes.ts'
import { createLoginAttempts } from './login-attempts/operations.ts'
import { loginAttemptRoutes } from './login-attempts/routes.ts'
import { createFactors } from './multi-factor/factors.ts'
import { createProviders } from './multi-factor/operations.ts'
import { multiFactorRoutes } from './multi-factor/routes.ts'
import { createQuickcalls } from './quickcalls/operations.ts'
import { quickcallRoutes } from './quickcalls/routes.ts'
import { createRateLimits } from './rate-limits/operations.ts'
import { rateLimitRoutes } from './rate-limits/routes.ts'
import { schemaRegistry } from './schema-registry.ts'
import { createSchemas } from './schemas/operations.ts'
import { schemaRoutes } from './schemas/routes.ts'
import { createSearch } from './search/operations.ts'
import { searchRoutes } from './search/routes.ts'
import { createLoginLock } from './security/login-lock.ts'
import { createSecurity } from './security/operations.ts'
import { securityRoutes } from './security/routes.ts'
import { createQuantityBook } from './services/quantities/operations.ts'
import { createImpersonation } from './sign-in/impersonation.ts'
import { createLogin } from './sign-in/login.ts'
import { createSignIn } from './sign-in/operations.ts'
import { createRecovery } from './sign-in/recovery/operations.ts'
import { createResets } from './sign-in/recovery/resets.ts'
import { recoveryRoutes } from './sign-in/recovery/routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { createSystemConfigs, type Validate } from './system-configs/operations.ts'
import { systemConfigRoutes } from './system-configs/routes.ts'
import { createTokenRestrictions } from './token-restrictions/operations.ts'
import { tokenRestrictionRoutes } from './token-restrictions/routes.ts'
import { userFileRoutes } from './users/file-routes.ts'
import { createUsers } from './users/operations.ts'
import { createPhotos } from './users/photo.ts'
import { userRoutes } from './users/routes.ts'

/** What areas are made of. */
export interface AreaTools {
  store: Store
  settings: Settings
  keyring: Keyring
  tokens: Tokens
  mediaSwitch: MediaSwitch
  /** The name of this process: the settings section that holds for it alone. */
  node: string
  validate: Validate
  /** What is wrong with the files that TLS settings name, by key. */
  tlsProblems(section: Json): Promise<Problems>
  mail: Mail
  afterwards: Afterwards
  leases: Leases
  rounds: Rounds
  log: Log
}

/** The operations of all areas, and their routes. A new area is a line in each half. */
export const createAreas = (tools: AreaTools) => {
  const { store, settings, tokens } = tools
  const quantities = createQuantityBook(tools)
  const accounts = createAccounts(tools)
  const accessLists = createAccessLists(tools)
  const rateLimits = createRateLimits(tools)
  const devices = createDevices({ ...tools, attached: [accessLists, rateLimits] })
  const factors = createFactors(tools)
  const photos = createPhotos(store)
  const resets = createResets(tools)
  const systemConfigs = createSystemConfigs(tools)
  const configs = createAccountConfigs({ ...tools, accounts, systemConfigs })
  const users = createUsers({
    ...tools,
    owned: { device: devices },
    attached: [factors, photos, resets],
    passwordRules: async (account) => configs.read(await configs.subject(account, 'auth.password')),
  })
  const attempts = createLoginAttempts(tools)
  const providers = createProviders(tools)
  const security = createSecurity({ ...tools, providers })
  const lock = createLoginLock(tools)
  const signIn = createSignIn({ ...tools, accounts, security })
  const login = createLogin({ store, users, signIn, security, lock, providers, factors, attempts })
  const impersonation = createImpersonation({ signIn, attempts })
  const recovery = createRecovery({ ...tools, resets, users, signIn, security, attempts })
  const restrictions = createTokenRestrictions(tools)
  const routes: Route[] = [
    ...accountRoutes(accounts),
    ...userRoutes(users, devices),
    ...userFileRoutes(users, photos),
    ...deviceRoutes(devices, store.records),
    ...quickcallRoutes(createQuickcalls({ ...tools, devices }), devices, store.records),
    ...accessListRoutes(accessLists, devices),
    ...rateLimitRoutes(rateLimits, devices),
    ...edgeRoutes(createEdge({ accounts, devices, accessLists, rateLimits })),
    ...signInRoutes({ signIn, login, impersonation, tokens, accounts, users }),
    ...recoveryRoutes(recovery),
    ...securityRoutes(security, lock),
    ...loginAttemptRoutes({ attempts, settings, clock: store.clock }),
    ...multiFactorRoutes({ providers, factors, users }),
    ...tokenRestrictionRoutes(restrictions),
    ...systemConfigRoutes(systemConfigs),
    ...accountConfigRoutes(configs),
    ...schemaRoutes(createSchemas(schemaRegistry, tools.validate)),
    ...searchRoutes(createSearch(store)),
    ...aboutRoutes(),
  ]
  // What areas have to do by themselves, now and then.
  const rounds: Round[] = [quantities.round]
  return { accounts, users, quantities, signIn, login, restrictions, routes, rounds }
}

export type Areas = ReturnType<typeof createAreas>
