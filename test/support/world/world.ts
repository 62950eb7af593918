import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, inject } from 'vitest'
import type { Area } from '../../../src/areas/area.ts'
import { areas } from '../../../src/areas/index.ts'
import { type KeyLayer, keyLayers } from '../../../src/auth/credentials.ts'
import { openDatabase, type RunningServer, startServer } from '../../../src/compose.ts'
import type { Config } from '../../../src/config/config.ts'
import type { Json } from '../../../src/lib/json.ts'
import { settingsKind } from '../../../src/settings/settings.ts'
import { ChangeSet, systemScope } from '../../../src/storage/change-set.ts'
import { createCollection } from '../../../src/storage/collection.ts'
import type { Database } from '../../../src/storage/db.ts'
import type { StoredRecord } from '../../../src/storage/records.ts'
import { createAnswerChecks } from '../matchers/answer-checks.ts'
import { createTestClock } from '../run/clock.ts'
import { createTestLog } from '../run/log.ts'
import { copyPlace, type Engine, makePlace, type Place, sharedBySuite } from '../servers/databases.ts'
import { testConnections } from '../servers/postgres.ts'
import { type Answer, Client, clientWithToken, createTransport, type Send } from './client.ts'
import '../matchers/matchers.ts'
import { countTraces, createSnapshots, differenceOf } from '../matchers/snapshot.ts'
import { sharePlace } from '../run/shared-places.ts'

export { describeAnyEngine, describeEngines, describeOnce } from '../servers/databases.ts'

export interface TestAccount {
  id: string
  name: string
  realm: string
  /** `/v2/accounts/{id}` */
  path: string
}

/** A user that sends requests, with its account and id. */
export class Person extends Client {
  readonly id: string
  readonly account: TestAccount
  readonly username: string
  /** Undefined: this person cannot sign in and was given a token. */
  readonly password: string | undefined
  readonly token: string
  /** `/v2/accounts/{account_id}/users/{id}` */
  readonly path: string

  constructor(send: Send, facts: Pick<Person, 'id' | 'account' | 'username' | 'password' | 'token'>) {
    super(send, { 'x-auth-token': facts.token })
    this.id = facts.id
    this.account = facts.account
    this.username = facts.username
    this.password = facts.password
    this.token = facts.token
    this.path = `${facts.account.path}/users/${facts.id}`
  }
}

/** A caller with the API key of an account. */
export class KeyHolder extends Client {
  readonly token: string

  constructor(send: Send, token: string) {
    super(send, { 'x-auth-token': token })
    this.token = token
  }
}

/** What a client sends as `credentials`. */
export const credentialsOf = (username: string, password: string, algorithm: 'md5' | 'sha1' = 'md5') =>
  createHash(algorithm).update(`${username.toLowerCase()}:${password}`).digest('hex')

const must = (answer: Answer): Answer => {
  if (answer.status < 300) return answer
  throw new Error(
    `the world could not be built: ${answer.request.method} ${answer.request.path}: ${answer.text}`,
  )
}

const accountOf = ({ data }: Answer): TestAccount => ({
  id: data.id,
  name: data.name,
  realm: data.realm,
  path: `/v2/accounts/${data.id}`,
})

const configOf = (dataDir: string, databaseUrl: string | undefined): Config => ({
  host: '127.0.0.1',
  port: 0,
  dataDir,
  databaseUrl,
  databaseConnections: testConnections,
  httpThreads: 1,
  callArchive: undefined,
  masterAccount: 'master',
  masterRealm: 'master.localhost',
  adminUsername: 'operator',
  adminPassword: 'operator-secret',
  smtpUrl: undefined,
  // No server listens there: tests never ask public name servers.
  dnsServers: ['127.0.0.1:9'],
  logLevel: 'info',
  logFormat: 'json',
  logColors: false,
  logsAccess: false,
  otlpEndpoint: undefined,
  serviceName: 'crosspoint',
  drainSeconds: 0,
})

const settingsDefinition = {
  kind: settingsKind,
  sortKey: (_doc: object, id: string) => id,
  row: () => ({}),
}

type SettingsDocument = StoredRecord<Json, Json>
type SettingsDocuments = Map<string, SettingsDocument>

const contentOf = (document: SettingsDocument | undefined) =>
  document && document.docText + document.hiddenText

/** Settings of administrators, written without the API: they apply to the next request. */
const createSettingsAccess = ({ store }: RunningServer) => {
  const documents = createCollection<Json, Json>(store, settingsDefinition)

  /** All documents by name. */
  const settings = async (): Promise<SettingsDocuments> => {
    const all = await documents.page({ accountId: systemScope, limit: 1000, descending: false })
    return new Map(all.map((document) => [document.id, document]))
  }

  return {
    settings,

    async configure(name: string, values: Json) {
      const set = new ChangeSet({ requestId: 'test' })
      const before = await documents.find(systemScope, name)
      const doc = { ...before?.doc, default: { ...(before?.doc.default as Json | undefined), ...values } }
      if (before) documents.replace(set, before, documents.revise(before, { doc }))
      else documents.insert(set, documents.draft(systemScope, { doc, hidden: {} }, name))
      await store.commit(set)
    },

    /** Puts back what has changed since, and removes what is new. */
    async restoreSettings(earlier: SettingsDocuments) {
      const now = await settings()
      const changed = [...new Set([...earlier.keys(), ...now.keys()])].filter(
        (name) => contentOf(earlier.get(name)) !== contentOf(now.get(name)),
      )
      if (changed.length === 0) return
      const set = new ChangeSet({ requestId: 'test' })
      for (const name of changed) {
        const [before, current] = [earlier.get(name), now.get(name)]
        const content = before && { doc: before.doc, hidden: before.hidden }
        if (current && content) documents.replace(set, current, documents.revise(current, content))
        else if (current) documents.remove(set, current)
        else if (content) documents.insert(set, documents.draft(systemScope, content, name))
      }
      await store.commit(set)
    },
  }
}

const tally = (made = 0) => {
  let last = made
  return () => {
    last += 1
    return last
  }
}

/**
 * Tokens of people last a hundred years: tests that share a world move its clock by months, and run in any order. A test of the
 * end of a token takes one from `tokenOf`.
 */
const lastingTerms = { lifetimeSeconds: 100 * 365 * 24 * 3600 }

/** Makes accounts, people and phones of which a test needs its own. */
const createMakers = ({ areas }: RunningServer, send: Send, operator: Client, next: () => number) => {
  const openSession = async (
    account: TestAccount,
    userId: string,
    terms: { lifetimeSeconds?: number } = {},
  ) => {
    const record = await areas.accounts.get(account.id)
    const user = await areas.users.get(account.id, userId)
    return (await areas.signIn.openSession(record, user, terms)).token
  }

  return {
    /** A token as a sign-in gives it, without the price of a sign-in. It ends after an hour, unless settings say otherwise. */
    tokenOf: (account: TestAccount, userId: string) => openSession(account, userId),

    /** A sub-account, of the master account unless a parent is given. */
    async account(parent?: TestAccount, fields: Json = {}): Promise<TestAccount> {
      const number = String(next()).padStart(4, '0')
      const data = { name: `Account ${number}`, realm: `account${number}.test`, ...fields }
      return accountOf(must(await operator.put(parent?.path ?? '/v2/accounts', data)))
    },

    /** Accounts each below the one before, the first below `root`. */
    async chain(length: number, root: TestAccount): Promise<[TestAccount, ...TestAccount[]]> {
      const first = await this.account(root)
      return length > 1 ? [first, ...(await this.chain(length - 1, first))] : [first]
    },

    /** An ordinary user. Without a password, which costs time, they cannot sign in: they have a token. */
    async user(account: TestAccount, fields: Json = {}): Promise<Person> {
      const data = { first_name: 'Some', last_name: 'Body', username: `user${next()}`, ...fields }
      const made = must(await operator.put(`${account.path}/users`, data)).data
      const password = typeof fields.password === 'string' ? fields.password : undefined
      const token = await openSession(account, made.id, lastingTerms)
      return new Person(send, { id: made.id, account, username: made.username, password, token })
    },

    /** A user with `priv_level` admin. */
    admin(account: TestAccount, fields: Json = {}): Promise<Person> {
      return this.user(account, { priv_level: 'admin', ...fields })
    },

    /** A phone; its record as the API answers it. */
    async device(account: TestAccount, fields: Json = {}): Promise<Json & { id: string; path: string }> {
      const made = must(
        await operator.put(`${account.path}/devices`, { name: `Phone ${next()}`, ...fields }),
      ).data
      return { ...made, path: `${account.path}/devices/${made.id}` }
    },

    /** The same person with a token as a sign-in gives it now: browsers renew it by its age. */
    async again({ id, account, username, password }: Person): Promise<Person> {
      return new Person(send, { id, account, username, password, token: await openSession(account, id) })
    },

    /** A caller with the account's API key. */
    async keyHolder(account: TestAccount): Promise<KeyHolder> {
      const key = areas.accounts.apiKeyOf(await areas.accounts.get(account.id))
      return new KeyHolder(send, (await areas.signIn.byApiKey(key, '127.0.0.1')).token)
    },
  }
}

type Makers = ReturnType<typeof createMakers>

const signInOperator = async (server: RunningServer, send: Send) => {
  const record = await server.areas.accounts.byRealm('master.localhost')
  if (!record) throw new Error('there is no master account')
  const [user] = await server.areas.users.page({
    accountId: record.id,
    limit: 1,
    descending: false,
  })
  if (!user) throw new Error('the master account has no admin')
  const { token } = await server.areas.signIn.openSession(record, user, lastingTerms)
  const { name, realm } = record.doc
  const master: TestAccount = { id: record.id, name, realm, path: `/v2/accounts/${record.id}` }
  const facts = { id: user.id, account: master, username: 'operator', password: 'operator-secret', token }
  return new Person(send, facts)
}

/** Master, a reseller below it, and below that two customers who are rivals. */
const populate = async (make: Makers, operator: Person) => {
  const reseller = await make.account(operator.account, { name: 'Reseller', realm: 'reseller.test' })
  must(await operator.put(`${reseller.path}/reseller`, {}))
  const [acme, rival] = await Promise.all([
    make.account(reseller, { name: 'Acme', realm: 'acme.test' }),
    make.account(reseller, { name: 'Rival', realm: 'rival.test' }),
  ])
  const named = (username: string, last_name: string) => ({
    first_name: username.charAt(0).toUpperCase() + username.slice(1),
    last_name,
    username,
    password: `${username}-secret`,
  })
  // One after the other: lists of what happened in an account show them in this order.
  const ofAcme = async () => {
    const ada = await make.admin(acme, named('ada', 'Admin'))
    return { ada, uli: await make.user(acme, named('uli', 'User')) }
  }
  const [ross, { ada, uli }, rex, acmeKey] = await Promise.all([
    make.admin(reseller, named('ross', 'Reseller')),
    ofAcme(),
    make.admin(rival, named('rex', 'Rival')),
    make.keyHolder(acme),
  ])
  return { reseller, acme, rival, ross, ada, uli, rex, acmeKey }
}

type People = Awaited<ReturnType<typeof populate>> & { operator: Person }

export type World = Awaited<ReturnType<typeof buildWorld>>

/** Settings of the process with the servers of the test: DNS and SMTP. */
export type Outside = () => Promise<Partial<Config>>

/**
 * As many layers of sign-in keys as there are, each as cheap as scrypt can be: at what they cost elsewhere, the people of a
 * world would take as long to make as all of its tests.
 */
export const quickLayers: readonly KeyLayer[] = keyLayers.map((layer) => ({ ...layer, N: 2 }))

/** Parts that a test replaces in the server, or adds to it. */
interface Changed {
  /** Further areas. */
  more?: readonly Area[]
  /** A layer between the server and its database. */
  over?: (db: Database) => Database
  /** Settings, by document, that apply before the first sign-in. */
  settings?: Readonly<Record<string, Json>>
  /**
   * The cost of sign-in keys: `keyLayers` where that matters, or where another process signs users in at the
   * same store.
   */
  layers?: readonly KeyLayer[]
  /**
   * Runs the scheduled jobs of the server as time passes. Other tests call `server.scheduler.runNow` for work
   * without a request.
   */
  hasTimedJobs?: boolean
}

type Parts = Required<Omit<Changed, 'settings'>>

const usualParts: Parts = { more: [], over: (db) => db, layers: quickLayers, hasTimedJobs: false }

const openServer = async (
  place: Place,
  outside: Partial<Config>,
  { more, over, layers, hasTimedJobs }: Parts,
  given?: Database,
) => {
  const clock = createTestClock()
  const { log, entries, errors } = createTestLog()
  const config = { ...configOf(place.dataDir, place.databaseUrl), ...outside }
  const parts = {
    list: [...areas, ...more] as const,
    db: over(given ?? (await openDatabase(config))),
    layers,
    onlyWokenJobs: !hasTimedJobs,
  }
  const server = await startServer(config, { clock, log }, parts)
  const transport = createTransport(server.port)
  const check = createAnswerChecks(server.routes)
  const send: Send = async (raw) => {
    const answer = await transport.send(raw)
    check(raw, answer)
    return answer
  }
  return { clock, entries, errors, config, server, transport, send, ...createSettingsAccess(server) }
}

type OpenServer = Awaited<ReturnType<typeof openServer>>

/** Makes the people of a server that has none yet. */
const settlePeople = async (
  { server, send, configure }: OpenServer,
  settings: Readonly<Record<string, Json>>,
) => {
  await configure('crossbar', { token_costs: 0 })
  for (const [name, values] of Object.entries(settings)) await configure(name, values)
  const operator = await signInOperator(server, send)
  const next = tally()
  const make = createMakers(server, send, operator, next)
  const people: People = { operator, ...(await populate(make, operator)) }
  return { people, make, made: next() }
}

const makePeopledPlace = async (engine: Engine) => {
  const place = await makePlace(engine, { isUpgraded: true })
  sharePlace(inject('runFolder'), place)
  const opened = await openServer(place, {}, usualParts)
  const { people, made } = await settlePeople(opened, {})
  opened.transport.close()
  await opened.server.stop()
  return { place, people, made }
}

const peopledPlaces = new Map<Engine, ReturnType<typeof makePeopledPlace>>()

/** The store of a stopped server with the people of a world, to be copied: making them takes longer than most tests. */
const peopledPlace = (engine: Engine) => {
  const known = peopledPlaces.get(engine) ?? makePeopledPlace(engine)
  peopledPlaces.set(engine, known)
  return known
}

/** The same people as callers of another server. */
const peopleAt = (send: Send, { operator, ross, ada, uli, rex, acmeKey, ...accounts }: People): People => {
  const at = (person: Person) => new Person(send, person)
  return {
    ...accounts,
    operator: at(operator),
    ross: at(ross),
    ada: at(ada),
    uli: at(uli),
    rex: at(rex),
    acmeKey: new KeyHolder(send, acmeKey.token),
  }
}

const openCopy = async (engine: Engine, outside: Partial<Config>, parts: Parts) => {
  const { place: original, people: known, made } = await peopledPlace(engine)
  const { place, db } = await copyPlace(original)
  const opened = await openServer(place, outside, parts, db)
  const people = peopleAt(opened.send, known)
  const make = createMakers(opened.server, opened.send, people.operator, tally(made))
  return { place, opened, people, make }
}

const openNew = async (
  engine: Engine,
  outside: Partial<Config>,
  settings: Readonly<Record<string, Json>>,
  parts: Parts,
) => {
  const place = await makePlace(engine, { isUpgraded: true })
  const opened = await openServer(place, outside, parts)
  return { place, opened, ...(await settlePeople(opened, settings)) }
}

// They have an effect on the first start, which copies share. A test with a mail server may expect the first mail there.
const settingsOfFirstStart: readonly (keyof Config)[] = [
  'adminPassword',
  'adminUsername',
  'host',
  'masterAccount',
  'masterRealm',
  'smtpUrl',
]

// Citus copies no databases.
const canCopy = (engine: Engine) => engine === 'sqlite' || inject('postgresTemplate') !== undefined

/** A running server with people in it. The caller closes it; suites use `useWorld`. */
export const buildWorld = async (
  engine: Engine,
  outside: Outside = async () => ({}),
  { hasTimedJobs = false, ...changed }: Changed = {},
) => {
  const given = await outside()
  const isCopied =
    Object.keys(changed).length === 0 &&
    !settingsOfFirstStart.some((name) => name in given) &&
    canCopy(engine)
  const { settings: firstSettings = {}, ...changedParts } = changed
  const parts = { ...usualParts, ...changedParts, hasTimedJobs }
  const { place, opened, people, make } = isCopied
    ? await openCopy(engine, given, parts)
    : await openNew(engine, given, firstSettings, parts)
  const { clock, entries, errors, config, server, transport, send } = opened
  const { configure, settings, restoreSettings } = opened
  const { operator } = people
  const nextCredit = tally()
  let keyMade = clock.now()
  const takeSnapshot = createSnapshots(server.store, engine)
  // Settles earlier work first: counts, whose audit entries and charges are not those of the next requests, and
  // the rest of removed runs.
  const snapshot = async () => {
    const waiting = await server.store.all('SELECT id FROM quantity_moves LIMIT 1')
    if (waiting.length > 0) await server.scheduler.runNow('quantities')
    const removed = await server.store.all("SELECT DISTINCT kind FROM long_runs WHERE state = 'removed'")
    for (const { kind } of removed) await server.scheduler.runNow(`${kind} leftovers`)
    return takeSnapshot()
  }
  const world = {
    ...people,
    ...make,
    engine,
    /** Folders and settings of the server: for a second server of the same store. */
    place,
    config,
    clock,
    server,
    master: operator.account,
    /** A caller without credentials. */
    anonymous: new Client(send),
    /** A caller with these headers. */
    client: (headers: Record<string, string>) => new Client(send, headers),
    clientWithToken: (token: string) => clientWithToken(send, token),
    /** The same caller, whose answers are not checked against the rules: for faults made on purpose. */
    unchecked: ({ token }: Person) => clientWithToken(transport.send, token),
    /** Sets keys in the `default` section of a settings document. */
    configure,
    settings,
    restoreSettings,
    /** Dollars that an account has from now on. */
    async credit(account: TestAccount, amount: number) {
      const source = { service: 'payments', id: `credit ${nextCredit()}` }
      const usage = { type: 'credit', quantity: 1, unit: 'payment' }
      must(await operator.put(`${account.path}/ledgers/credit`, { source, usage, amount }))
    },
    /** Has charges of an account refused that its balance does not cover. */
    async prepay(account: Pick<TestAccount, 'path'>) {
      must(await operator.patch(`${account.path}/limits/operator`, { prepaid: true }))
    },
    /** Lets everything be mailed that waits for it. */
    async deliverMail() {
      await server.scheduler.runNow('password_recovery')
      await server.scheduler.runNow('new_user')
      await server.scheduler.runNow('mail')
    },
    /** The store's content without logs, to show that nothing changed. */
    snapshot,
    /** Does it, and shows that it changed nothing. */
    async unchanged<T>(act: () => Promise<T>): Promise<T> {
      const before = await snapshot()
      const result = await act()
      expect(differenceOf(before, await snapshot())).toEqual({ gone: [], new: [] })
      return result
    },
    /** Does it, and shows that it changed nothing, sent nothing and emitted no event. */
    async refused<T>(act: () => Promise<T>): Promise<T> {
      await snapshot()
      const before = await countTraces(server.store)
      const result = await world.unchanged(act)
      expect(await countTraces(server.store)).toEqual(before)
      return result
    },
    logEntries: entries,
    /** Errors logged since the last call. A test that causes an error on purpose removes it with this. */
    takeErrors() {
      const taken = errors()
      entries.splice(0)
      return taken
    },
    /** Gives `acmeKey` another token if the clock has moved: one of an API key lasts an hour. */
    async renewKey() {
      if (clock.now() === keyMade) return
      keyMade = clock.now()
      world.acmeKey = await make.keyHolder(people.acme)
    },
    async close() {
      transport.close()
      await server.stop()
      await place.remove()
    },
  }
  return world
}

/** A world for one suite. After each test it has logged no error, and its settings are those from before the test. */
export const useWorld = (
  engine: Engine,
  settle?: (world: World) => Promise<void>,
  outside?: Outside,
  changed?: Changed,
): World => {
  const world = sharedBySuite(
    async () => {
      const built = await buildWorld(engine, outside, changed)
      await settle?.(built)
      return built
    },
    (built) => built.close(),
  )
  let settings: SettingsDocuments
  beforeEach(async () => {
    settings = await world.settings()
    await world.renewKey()
  })
  afterEach(async () => {
    await world.restoreSettings(settings)
    expect(world.takeErrors()).toEqual([])
  })
  return world
}
