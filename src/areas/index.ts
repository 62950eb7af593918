import type { Keyring } from '../auth/keyring.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Dns } from '../dns/dns.ts'
import type { Route } from '../http/route.ts'
import type { Afterwards } from '../jobs/afterwards.ts'
import type { Leases } from '../jobs/leases.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Round, Rounds } from '../jobs/rounds.ts'
import type { Problems } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import type { Log } from '../lib/log.ts'
import type { Mail } from '../mail/mail.ts'
import type { Outgoing } from '../outgoing/client.ts'
import { createGateways } from '../payment/gateways.ts'
import type { Settings } from '../settings/settings.ts'
import type { Store } from '../storage/store.ts'
import type { MediaSwitch } from '../switch/media-switch.ts'
import { aboutRoutes } from './about/routes.ts'
import { createAccessLists } from './access-lists/operations.ts'
import { accessListRoutes } from './access-lists/routes.ts'
import { createAccounts } from './accounts/operations.ts'
import { accountRoutes } from './accounts/routes.ts'
import { createBalanceWatch } from './alerts/balance/operations.ts'
import { createGeneratedAlerts } from './alerts/generated/operations.ts'
import { createAlerts } from './alerts/operations.ts'
import { alertRoutes } from './alerts/routes.ts'
import { createCallBilling } from './cdrs/billing/operations.ts'
import { createFreeswitchIntake } from './cdrs/freeswitch/operations.ts'
import { createIntake } from './cdrs/intake/operations.ts'
import { cdrIntakeRoutes } from './cdrs/intake/routes.ts'
import { createCdrMonths } from './cdrs/months/operations.ts'
import { createCdrs } from './cdrs/operations.ts'
import { createCdrRebuild } from './cdrs/rebuild/operations.ts'
import { cdrRoutes } from './cdrs/routes.ts'
import { createCallStats } from './cdrs/stats/operations.ts'
import { createCdrTasks } from './cdrs/tasks.ts'
import { createAccountConfigs } from './configs/operations.ts'
import { accountConfigRoutes } from './configs/routes.ts'
import { createDevices } from './devices/operations.ts'
import { deviceRoutes } from './devices/routes.ts'
import { createEdge } from './edge/operations.ts'
import { edgeRoutes } from './edge/routes.ts'
import { createAllotments } from './limits/allotments/operations.ts'
import { allotmentRoutes } from './limits/allotments/routes.ts'
import { createLimits } from './limits/operations.ts'
import { limitRoutes } from './limits/routes.ts'
import { createLoginAttempts } from './login-attempts/operations.ts'
import { loginAttemptRoutes } from './login-attempts/routes.ts'
import { migrationsOf } from './migrations/catalogue.ts'
import { createMigrations } from './migrations/operations.ts'
import { migrationRoutes } from './migrations/routes.ts'
import { createFactors } from './multi-factor/factors.ts'
import { createProviders } from './multi-factor/operations.ts'
import { multiFactorRoutes } from './multi-factor/routes.ts'
import { createNotifications } from './notifications/operations.ts'
import { notificationRoutes } from './notifications/routes.ts'
import { createPhoneNumberArea } from './phone-numbers/area.ts'
import { createPhonebook } from './phone-numbers/carriers/phonebook.ts'
import { createCarriers } from './phone-numbers/carriers/registry.ts'
import { storedOnly } from './phone-numbers/features/providers.ts'
import { createLocalities } from './phone-numbers/localities/operations.ts'
import { createNumberSearch } from './phone-numbers/search/operations.ts'
import { numberSearchRoutes } from './phone-numbers/search/routes.ts'
import { createNumberTasks } from './phone-numbers/tasks.ts'
import { createProvisioning } from './provisioning/operations.ts'
import { createQuickcalls } from './quickcalls/operations.ts'
import { quickcallRoutes } from './quickcalls/routes.ts'
import { createRateLimits } from './rate-limits/operations.ts'
import { rateLimitRoutes } from './rate-limits/routes.ts'
import { createRates } from './rates/operations.ts'
import { rateRoutes } from './rates/routes.ts'
import { createRateTasks } from './rates/tasks.ts'
import { schemaRegistry } from './schema-registry.ts'
import { createSchemas } from './schemas/operations.ts'
import { schemaRoutes } from './schemas/routes.ts'
import { createSearch } from './search/operations.ts'
import { searchRoutes } from './search/routes.ts'
import { createLoginLock } from './security/login-lock.ts'
import { createSecurity } from './security/operations.ts'
import { securityRoutes } from './security/routes.ts'
import { createServiceArea } from './services/area.ts'
import { createQuantityBook } from './services/quantities/operations.ts'
import { createServiceTasks } from './services/tasks.ts'
import { createImpersonation } from './sign-in/impersonation.ts'
import { createLogin } from './sign-in/login.ts'
import { createSignIn } from './sign-in/operations.ts'
import { createRecovery } from './sign-in/recovery/operations.ts'
import { createResets } from './sign-in/recovery/resets.ts'
import { recoveryRoutes } from './sign-in/recovery/routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { createSystemConfigs, type Validate } from './system-configs/operations.ts'
import { systemConfigRoutes } from './system-configs/routes.ts'
import { createTasks } from './tasks/operations.ts'
import { taskRoutes } from './tasks/routes.ts'
import { createTokenRestrictions } from './token-restrictions/operations.ts'
import { tokenRestrictionRoutes } from './token-restrictions/routes.ts'
import { userFileRoutes } from './users/file-routes.ts'
import { createKeyRenewal } from './users/key-renewal.ts'
import { createUsers } from './users/operations.ts'
import { createPhotos } from './users/photo.ts'
import { userRoutes } from './users/routes.ts'
import { createWhitelabelDomains } from './whitelabel/domains/operations.ts'
import { whitelabelDomainRoutes } from './whitelabel/domains/routes.ts'
import { createSenderEmails } from './whitelabel/emails/operations.ts'
import { senderEmailRoutes } from './whitelabel/emails/routes.ts'
import { createBrandSenders } from './whitelabel/emails/senders.ts'
import { createBrandFiles } from './whitelabel/files/operations.ts'
import { brandFileRoutes } from './whitelabel/files/routes.ts'
import { createWhitelabels } from './whitelabel/operations.ts'
import { whitelabelRoutes } from './whitelabel/routes.ts'

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
  dns: Dns
  outgoing: Outgoing
  afterwards: Afterwards
  leases: Leases
  rounds: Rounds
  queue: Queue
  log: Log
}

/** The operations of all areas, and their routes. A new area is a line in each half. */
export const createAreas = (tools: AreaTools) => {
  const { store, settings, tokens } = tools
  const quantities = createQuantityBook(tools)
  const accounts = createAccounts({
    ...tools,
    attached: () => [phoneNumbers.upkeep.leaving, tasks, migrations.leaving, serviceArea.payments.leaving],
    changed(set, before, after) {
      serviceArea.payments.topups.changed(set, before, after)
      balanceWatch.changed(set, before, after)
    },
  })
  const accessLists = createAccessLists(tools)
  const rateLimits = createRateLimits(tools)
  const rates = createRates({
    ...tools,
    accounts,
    ratedeckOf: (account) => serviceArea.services.ratedeckOf(account),
  })
  const systemConfigs = createSystemConfigs(tools)
  const configs = createAccountConfigs({ ...tools, accounts, systemConfigs })
  const phonebook = createPhonebook(tools.outgoing, settings)
  const carriers = createCarriers({ store, settings, phonebook })
  const localities = createLocalities(store)
  const numberSearch = createNumberSearch({ ...tools, accounts, configs, carriers, localities, phonebook })
  const phoneNumbers = createPhoneNumberArea({
    ...tools,
    accounts,
    configs,
    carriers,
    search: numberSearch,
    quantities,
    provider: { ...storedOnly },
  })
  const devices = createDevices({
    ...tools,
    attached: [accessLists, rateLimits],
    mobileNumbers: phoneNumbers.mobile,
    provisioning: { changed: (set, before, after) => provisioning.changed(set, before, after) },
  })
  const factors = createFactors(tools)
  const photos = createPhotos(store)
  const resets = createResets(tools)
  const users = createUsers({
    ...tools,
    owned: { device: devices },
    attached: [factors, photos, resets, { removeWith: (set, owner) => alerts.removeWith(set, owner) }],
    passwordRules: async (account) => configs.read(await configs.subject(account, 'auth.password')),
  })
  const attempts = createLoginAttempts(tools)
  const providers = createProviders(tools)
  const security = createSecurity({ ...tools, providers })
  const lock = createLoginLock(tools)
  const signIn = createSignIn({
    ...tools,
    accounts,
    security,
    accountOfNumber: phoneNumbers.identity.accountOf,
  })
  const login = createLogin({ store, users, signIn, security, lock, providers, factors, attempts })
  const impersonation = createImpersonation({ signIn, attempts })
  const recovery = createRecovery({ ...tools, resets, users, signIn, security, attempts })
  const restrictions = createTokenRestrictions(tools)
  const classOf = async (number: string) => (await phoneNumbers.planning.classify(number)).name
  const intake = createIntake({
    ...tools,
    billing: {
      price: (legs) => callBilling.price(legs),
      book: (set, calls) => callBilling.book(set, calls),
    },
  })
  const cdrMonths = createCdrMonths({ ...tools, intake })
  const freeswitch = createFreeswitchIntake({ ...tools, accounts, intake })
  const brandFiles = createBrandFiles(store)
  const emails = createSenderEmails(tools)
  const whitelabels = createWhitelabels({ store, attached: [brandFiles, emails] })
  const senders = createBrandSenders({ store, whitelabels, emails })
  const notifications = createNotifications({ ...tools, senders })
  const numberTasks = createNumberTasks({
    ...tools,
    numbers: phoneNumbers.numbers,
    findAccount: accounts.find,
    repair: phoneNumbers.upkeep.fix,
  })
  const cdrs = createCdrs(tools)
  const tasks = createTasks({
    ...tools,
    actions: [
      ...createRateTasks(rates),
      ...createServiceTasks(accounts, quantities),
      ...numberTasks,
      ...createCdrTasks({ cdrs, clock: store.clock }),
    ],
  })
  const whitelabelDomains = createWhitelabelDomains({ ...tools, systemConfigs, whitelabels, senders })
  const serviceArea = createServiceArea({
    ...tools,
    accounts,
    quantities,
    gateways: createGateways({ ...tools, clock: store.clock }),
    overdraft: (account) => limits.overdraft(account),
    balanceMoved: (set, account) => balanceWatch.moved(set, account),
    counts: [
      accounts.counted,
      users.collection.counted,
      devices.collection.counted,
      phoneNumbers.counted,
      whitelabels.counted,
      (accountId) => limits.counted(accountId),
    ],
  })
  const limits = createLimits({ store, accounts, quantities, services: serviceArea.services })
  const { ledgers, payments } = serviceArea
  const balanceWatch = createBalanceWatch({
    ...tools,
    accounts,
    balance: ledgers.balance,
    awaitsTopup: payments.topups.awaits,
  })
  const generatedAlerts = createGeneratedAlerts({
    ...tools,
    limits,
    services: serviceArea.services,
    purse: {
      balance: ledgers.balance,
      threshold: payments.threshold,
      defaultToken: payments.defaultToken,
      isGood: serviceArea.services.isGood,
    },
    porting: phoneNumbers.porting,
  })
  const alerts = createAlerts({ ...tools, accounts, generated: generatedAlerts })
  const provisioning = createProvisioning({ ...tools, accounts, alerts })
  const allotments = createAllotments({ store, accounts, limits, classOf })
  const callBilling = createCallBilling({
    accounts,
    rates,
    limits,
    allotments,
    ledgers,
    classOf,
  })
  const migrations = createMigrations({
    ...tools,
    migrations: migrationsOf({
      renewSignInKeys: createKeyRenewal(store),
      recount: serviceArea.reconciliation.plan,
      normaliseNumbers: phoneNumbers.upkeep.renormalise,
      repairNumbers: phoneNumbers.upkeep.repair,
      rebuildCdrMonths: createCdrRebuild(store),
    }),
  })
  const routes: Route[] = [
    ...accountRoutes(accounts),
    ...userRoutes(users, devices),
    ...userFileRoutes(users, photos),
    ...deviceRoutes(devices, store.records),
    ...quickcallRoutes(createQuickcalls({ ...tools, devices }), devices, store.records),
    ...accessListRoutes(accessLists, devices),
    ...rateLimitRoutes(rateLimits, devices),
    ...rateRoutes(rates),
    ...edgeRoutes(createEdge({ accounts, devices, accessLists, rateLimits })),
    ...signInRoutes({ signIn, login, impersonation, tokens, accounts, users }),
    ...recoveryRoutes(recovery),
    ...securityRoutes(security, lock),
    ...loginAttemptRoutes({ attempts, settings, clock: store.clock }),
    ...multiFactorRoutes({ providers, factors, users }),
    ...tokenRestrictionRoutes(restrictions),
    ...systemConfigRoutes(systemConfigs),
    ...accountConfigRoutes(configs),
    ...whitelabelRoutes(whitelabels),
    ...whitelabelDomainRoutes(whitelabelDomains),
    ...brandFileRoutes({ whitelabels, files: brandFiles, accounts }),
    ...senderEmailRoutes(emails),
    ...schemaRoutes(createSchemas(schemaRegistry, tools.validate)),
    ...searchRoutes(createSearch(store)),
    ...notificationRoutes({ notifications, settings, clock: store.clock }),
    ...cdrIntakeRoutes(intake),
    ...cdrRoutes({ cdrs, stats: createCallStats(tools), store }),
    ...phoneNumbers.routes,
    ...numberSearchRoutes(numberSearch),
    ...taskRoutes(tasks),
    ...serviceArea.routes,
    ...limitRoutes(limits),
    ...allotmentRoutes({ allotments, limits }),
    ...alertRoutes(alerts),
    ...migrationRoutes(migrations),
    ...aboutRoutes(),
  ]
  // What areas have to do by themselves, now and then.
  const rounds: Round[] = [
    cdrMonths.retention,
    quantities.round,
    recovery.round,
    numberSearch.tidying,
    ...phoneNumbers.rounds,
    migrations.round,
    ...tasks.rounds,
    ...serviceArea.rounds,
    balanceWatch.round,
    alerts.round,
    provisioning.round,
  ]
  return {
    accounts,
    users,
    quantities,
    serviceArea,
    phoneNumbers,
    signIn,
    login,
    restrictions,
    senders,
    tasks,
    freeswitch,
    intake,
    cdrMonths,
    routes,
    rounds,
  }
}

export type Areas = ReturnType<typeof createAreas>
