// A tree of accounts with users, created for each round: the records of each tenant contain their own texts.
import { type Api, credentialsOf } from './api.ts'
import { brandHostOf, type Persona, planted, realmOf, type Tenant } from './model.ts'

/** Hosts of the system's carrier. */
export const carrierHosts = ['gate.carrier.test', '198.51.100.7'] as const

export interface Stage {
  tenants: readonly Tenant[]
  personas: readonly Persona[]
  /** Tenants that no authorized caller changes. */
  victims: readonly Tenant[]
}

export interface Operator {
  api: Api
  token: string
  masterId: string
  userId: string
}

const bossPassword = 'Boss-secret-1!'

/** Must not appear in any response or log line. */
const passwordOf = (tenant: Tenant) => `${planted(tenant, 'secr')}-Aa1!`

const shared: Record<string, string[]> = {
  config_id: ['portal', 'unknown'],
  section: ['default'],
  schema_name: ['users', 'devices', 'nothing'],
  migration_id: ['recount_services'],
  number: ['+14155550100', '4155550100'],
  month: ['202601'],
  source: ['sample', 'payments'],
  service_category: ['devices', 'phone_numbers'],
  notification_id: ['password_recovery', 'new_user'],
  kind: ['task', 'migration', 'job'],
  id: ['0'.repeat(32)],
  auth_token: ['none'],
}

/**
 * Sub-accounts know the callers of an account above by name, which ledger entries contain, and by address, which the log of
 * their mail contains.
 */
const known = (tenant: Tenant, username: string) => ({
  last_name: planted(tenant, 'name'),
  email: `${planted(tenant, 'name')}.${username}@mail.test`,
})

const isoNow = () => Math.floor(Date.now() / 1000) + 62_167_219_200

interface Making {
  parent: Tenant
  title: string
  is?: Partial<Pick<Tenant, 'isReseller' | 'isPlayground' | 'isSpare'>>
}

/** Makes accounts, and counts them: no two of a run share a text. */
export class Builder {
  readonly #operator: Operator
  #made = 0
  readonly tenants = new Map<number, Tenant>()

  constructor(operator: Operator) {
    this.#operator = operator
  }

  get #api() {
    return this.#operator.api
  }

  master(): Tenant {
    const known = this.tenants.get(0)
    if (known) return known
    const master: Tenant = {
      key: 0,
      title: 'master',
      id: this.#operator.masterId,
      parent: undefined,
      isReseller: true,
      isMaster: true,
      ids: { ...shared, account_id: [this.#operator.masterId], user_id: [this.#operator.userId] },
      isPlayground: false,
      isSpare: false,
    }
    this.tenants.set(0, master)
    return master
  }

  /** Creates the system's carrier, whose hosts are forbidden destinations. */
  async carrier() {
    const { data } = await this.#api.call('GET', '/v2/resources')
    if (data.length > 0) return
    const gateways = carrierHosts.map((server) => ({ server }))
    await this.#api.call('PUT', '/v2/resources', { name: 'Carrier', rules: ['.'], gateways })
  }

  async tenant({ parent, title, is = {} }: Making): Promise<Tenant> {
    this.#made += 1
    const tenant: Tenant = {
      key: this.#made,
      title: `${title} ${this.#made}`,
      id: '',
      parent,
      isReseller: false,
      isMaster: false,
      ids: {},
      isPlayground: false,
      isSpare: false,
      ...is,
    }
    const name = planted(tenant, 'name')
    const { data } = await this.#api.call('PUT', `/v2/accounts/${parent.id}`, {
      name,
      realm: realmOf(tenant),
      announcement: planted(tenant, 'priv'),
      // Shown in lists of accounts.
      flags: [name],
    })
    tenant.id = data.id
    tenant.ids = { ...shared, account_id: [tenant.id] }
    if (tenant.isReseller) await this.#api.call('PUT', `/v2/accounts/${tenant.id}/reseller`, {})
    this.tenants.set(tenant.key, tenant)
    return tenant
  }

  /** A user with a password, not signed in. */
  async user(tenant: Tenant, username: string, fields: Record<string, unknown> = {}) {
    const word = planted(tenant, 'priv')
    const { data } = await this.#api.call('PUT', `/v2/accounts/${tenant.id}/users`, {
      first_name: 'Some',
      last_name: word,
      username,
      email: `${word}.${username}@mail.test`,
      custom: word,
      ...fields,
    })
    const id: string = data.id
    tenant.ids.user_id = [...(tenant.ids.user_id ?? []), id]
    return id
  }

  /** A record of each kind. */
  async plant(tenant: Tenant, users: number) {
    const api = this.#api
    const place = `/v2/accounts/${tenant.id}`
    const word = planted(tenant, 'priv')
    const ids = tenant.ids
    const userIds: string[] = []
    for (let count = 0; count < users; count += 1) userIds.push(await this.user(tenant, `prop${count}`))
    const [userId] = userIds
    const device = async (name: string) => {
      const sip = { username: `${name}${tenant.key}`, password: `${word}pw` }
      const { data } = await api.call('PUT', `${place}/devices`, {
        name: `${word} ${name}`,
        owner_id: userId,
        sip,
      })
      return data.id as string
    }
    ids.device_id = [await device('first'), await device('second')]
    const number = `+1415${String(2_000_000 + tenant.key)}`
    await api.call('PUT', `${place}/phone_numbers/${encodeURIComponent(number)}`, { custom: word })
    ids.phone_number = [number]
    // Only the numbers of a trunk have a failover.
    const auth = { auth_user: `pbx${tenant.key}`, auth_password: `${word}pw` }
    const trunk = { servers: [{ auth, DIDs: { [number]: {} } }] }
    ids.connectivity_id = [(await api.call('PUT', `${place}/connectivity`, trunk)).data.id]
    const provider = { name: word, provider_name: 'otp', enabled: false }
    ids.provider_id = [(await api.call('PUT', `${place}/multi_factor`, provider)).data.id]
    const list = { order: 'allow,deny', cidrs: ['203.0.113.0/24'], user_agent: word }
    await api.call('POST', `${place}/access_lists`, list)
    await api.call('POST', `${place}/devices/${ids.device_id[0]}/access_lists`, list)
    await api.call('POST', `${place}/notifications/password_recovery`, { subject: planted(tenant, 'conf') })
    await api.call('POST', `${place}/configs/portal`, { theme: planted(tenant, 'conf') })
    await api.upload(
      `${place}/users/${userId}/photo`,
      'image/png',
      Buffer.from(`\x89PNG\r\n\x1a\n${word}`, 'latin1'),
    )
    const domain = brandHostOf(tenant)
    await api.call('PUT', `${place}/whitelabel`, { domain, company_name: planted(tenant, 'publ') })
    ids.domain = [domain]
    const sender = await api.call('PUT', `${place}/whitelabel/emails`, { email: `${word}@sender.test` })
    ids.email_id = [String(sender.metadata.id)]
    const alert = {
      title: word,
      message: word,
      from: [{ type: 'account', value: tenant.id }],
      to: [{ type: tenant.id, value: 'all' }],
    }
    ids.alert_id = [(await api.call('PUT', `${place}/alerts`, alert)).data.id]
    // An account without users and without events.
    const hook = { name: word, uri: 'https://receiver.invalid/', hook: 'sms' }
    ids.webhook_id = [(await api.call('PUT', `${place}/webhooks`, hook)).data.id]
    const task = await api.call(
      'PUT',
      `${place}/tasks?category=number_management&action=list&file_name=${word}`,
    )
    ids.task_id = [String(task.metadata.id)]
    const entry = {
      source: { service: 'sample', id: word },
      usage: { type: 'a', quantity: 1, unit: 'b' },
      description: word,
      amount: 10,
    }
    await api.call('PUT', `${place}/ledgers/credit`, entry)
    const attempts = await api.call('GET', `${place}/security/attempts`)
    ids.attempt_id = attempts.data.map(({ id }: { id: string }) => id)
    await this.#plantCalls(tenant, userId as string)
    if (tenant.isReseller) {
      const plan = { name: planted(tenant, 'plan'), plan: {} }
      ids.service_plan_id = [(await api.call('PUT', `${place}/service_plans`, plan)).data.id]
      ids.plan_id = ids.service_plan_id
    }
  }

  async #plantCalls(tenant: Tenant, ownerId: string) {
    const word = planted(tenant, 'priv')
    const at = isoNow()
    const legs = Array.from({ length: 20 }, (_, index) => ({
      call_id: `leg-${index}-of-${tenant.id}`,
      interaction_id: `${at}-${tenant.key}`,
      timestamp: at - index,
      channel_created_time: (at - index - 62_167_219_200) * 1_000_000,
      duration_seconds: index,
      hangup_cause: word,
      caller_id_number: '+14155550100',
      custom_channel_vars: { account_id: tenant.id, owner_id: ownerId },
    }))
    await this.#api.call('PUT', '/v2/cdrs', legs)
    const { data } = await this.#api.call('GET', `/v2/accounts/${tenant.id}/cdrs`)
    tenant.ids.cdr_id = data.map(({ id }: { id: string }) => id)
    tenant.ids.interaction_id = [`${at}-${tenant.key}`]
  }

  async signIn(tenant: Tenant, username: string): Promise<string> {
    const credentials = credentialsOf(username, passwordOf(tenant))
    const { auth_token } = await this.#api.call(
      'PUT',
      '/v2/user_auth',
      { credentials, account_realm: realmOf(tenant) },
      '',
    )
    return auth_token
  }

  /** A user of an account as whom the operator signs in: a session without the cost of a password. */
  async figure(tenant: Tenant, username: string, kind: 'admin' | 'user') {
    const props = tenant.ids.user_id ?? []
    const userId = await this.user(tenant, username, { ...known(tenant, username), priv_level: kind })
    tenant.ids.user_id = props
    tenant.ids.person_id = [...(tenant.ids.person_id ?? []), userId]
    const acting = { action: 'impersonate_user' }
    const path = `/v2/accounts/${tenant.id}/users/${userId}/user_auth`
    const { auth_token } = await this.#api.call('PUT', path, {}, undefined, acting)
    return { userId, token: auth_token, kind, tenant, username }
  }

  /** A signed-in user of an account. */
  async person(tenant: Tenant, username: string, kind: 'admin' | 'user') {
    // A persona's own record is never a target: changing its password would end its session.
    const props = tenant.ids.user_id ?? []
    const userId = await this.user(tenant, username, {
      ...known(tenant, username),
      priv_level: kind,
      password: passwordOf(tenant),
    })
    tenant.ids.user_id = props
    tenant.ids.person_id = [...(tenant.ids.person_id ?? []), userId]
    return { userId, token: await this.signIn(tenant, username), kind, tenant, username }
  }
}

type Person = Awaited<ReturnType<Builder['person']>>

const bearing = (token: string) => ({ 'x-auth-token': token })

const personaOf = (title: string, person: Person, more: Partial<Persona> = {}): Persona => ({
  title,
  headers: bearing(person.token),
  actor: { tenant: person.tenant, kind: person.kind, userId: person.userId, isRestricted: false },
  home: person.tenant,
  oneIn: 1,
  ...more,
})

/** Changes claims and leaves the signature. */
const forged = (token: string, claims: Record<string, unknown>) => {
  const [head = '', body = '', signature = ''] = token.split('.')
  const known: Record<string, unknown> = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
  const text = JSON.stringify({ ...known, ...claims })
  return `${head}.${Buffer.from(text).toString('base64url')}.${signature}`
}

const unsigned = (token: string) =>
  `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${token.split('.')[1]}.`

const endingSessions = { action: 'reset_signature_secret' }

interface Boss {
  api: Api
  /** The user's path. */
  place: string
  token: string
}

/** Requests that end the impersonation sessions created by an admin of the master account. */
const endsOfBosses: readonly (readonly [title: string, end: (boss: Boss) => Promise<unknown>])[] = [
  ['has logged out', ({ api, token }) => api.call('DELETE', '/v2/token_auth', undefined, token)],
  ['was demoted', ({ api, place }) => api.call('PATCH', place, { priv_level: 'user' })],
  ['was disabled', ({ api, place }) => api.call('PATCH', place, { enabled: false })],
  ['was deleted', ({ api, place }) => api.call('DELETE', place)],
  ['has a new password', ({ api, place }) => api.call('PATCH', place, { password: `${bossPassword}new` })],
  [
    'has a new signature secret',
    ({ api, place }) => api.call('PUT', `${place}/auth`, {}, undefined, endingSessions),
  ],
]

/** Impersonation sessions by what has ended the session of their creator. */
const endedImpersonations = async (build: Builder, api: Api, tenant: Tenant) => {
  const master = build.master()
  const acted = await build.figure(tenant, 'acted', 'user')
  const path = `/v2/accounts/${tenant.id}/users/${acted.userId}/user_auth`
  const actBehind = async (
    title: string,
    username: string,
    end: (boss: Boss) => Promise<unknown>,
  ): Promise<[string, string]> => {
    const { data } = await api.call('PUT', `/v2/accounts/${master.id}/users`, {
      first_name: 'Boss',
      last_name: 'Master',
      username,
      password: bossPassword,
      priv_level: 'admin',
    })
    const credentials = credentialsOf(username, bossPassword)
    const { auth_token: token } = await api.call(
      'PUT',
      '/v2/user_auth',
      { credentials, account_name: 'master' },
      '',
    )
    const acting = await api.call('PUT', path, {}, token, { action: 'impersonate_user' })
    await end({ api, place: `/v2/accounts/${master.id}/users/${data.id}`, token })
    return [title, acting.auth_token]
  }
  return Promise.all(
    endsOfBosses.map(([title, end], index) => actBehind(title, `boss${tenant.key}x${index}`, end)),
  )
}

/** Replaces the account's API key. The session of the old one, and the new key. */
const sessionOfReplacedKey = async (api: Api, tenant: Tenant, data: object) => {
  const place = `/v2/accounts/${tenant.id}/api_key`
  const { data: key } = await api.call('GET', place)
  const { auth_token: token } = await api.call('PUT', '/v2/api_auth', key, '')
  const { data: made } = await api.call('PUT', place, data)
  return { token, newKey: made.api_key as string }
}

/** A caller whose API key was replaced while its session stays. */
const replacedKeyHolder = async (api: Api, tenant: Tenant): Promise<Persona> => {
  const { token, newKey } = await sessionOfReplacedKey(api, tenant, {})
  return {
    title: 'a session of an API key that was replaced',
    headers: bearing(token),
    actor: { tenant, kind: 'key', userId: undefined, isRestricted: false, newKey },
    home: tenant,
    oneIn: 2,
  }
}

/** Those whose session has ended, or never was one. */
const ghosts = async (
  build: Builder,
  { api, token, masterId }: Operator,
  { acme, brief, wiped }: Record<'acme' | 'brief' | 'wiped', Tenant>,
) => {
  const ghost = (title: string, headers: Record<string, string>): Persona => ({
    title,
    headers,
    actor: undefined,
    home: acme,
    oneIn: headers.authorization === undefined ? 3 : 100,
  })
  const place = `/v2/accounts/${acme.id}`
  // Made first: it runs out while the others are made.
  await api.call('POST', `/v2/accounts/${brief.id}/security`, {
    auth_modules: { cb_user_auth: { token_auth_expiry_s: 1 } },
  })
  const expired = await build.person(brief, 'brief', 'admin')
  const [gone, disabled, reset, deleted, rekeyed] = await Promise.all([
    build.person(acme, 'gone', 'admin'),
    build.person(acme, 'disabled', 'admin'),
    build.person(acme, 'reset', 'admin'),
    build.figure(acme, 'deleted', 'admin'),
    build.figure(acme, 'rekeyed', 'admin'),
  ])
  await api.call('DELETE', '/v2/token_auth', undefined, gone.token)
  await api.call('PATCH', `${place}/users/${disabled.userId}`, { enabled: false })
  await api.call('PUT', `${place}/users/${reset.userId}/auth`, {}, undefined, endingSessions)
  await api.call('DELETE', `${place}/users/${deleted.userId}`)
  await api.call('PATCH', `${place}/users/${rekeyed.userId}`, { password: passwordOf(acme) })
  const acting = await endedImpersonations(build, api, acme)
  const ended = await build.figure(wiped, 'ended', 'admin')
  await api.call('PUT', `/v2/accounts/${wiped.id}/auth`, {}, undefined, endingSessions)
  const replaced = await sessionOfReplacedKey(api, brief, { end_sessions: true })
  return [
    ghost('nobody', {}),
    ghost('a token that was ended', bearing(gone.token)),
    ghost('a token of a disabled user', bearing(disabled.token)),
    ghost('a token of a user whose secret was reset', bearing(reset.token)),
    ghost('a token of a deleted user', bearing(deleted.token)),
    ghost('a token of a user with a new password', bearing(rekeyed.token)),
    ghost('a token of an account whose secret was reset', bearing(ended.token)),
    ...acting.map(([title, acted]) => ghost(`an impersonation whose creator ${title}`, bearing(acted))),
    ghost('a session of an API key whose sessions were ended', bearing(replaced.token)),
    ghost('a token that ran out', bearing(expired.token)),
    ghost('a token without a signature', bearing(unsigned(token))),
    ghost('a token with another account in it', bearing(forged(gone.token, { account_id: masterId }))),
    ghost('a wrong password', { authorization: `Basic ${btoa(`${acme.id}:${'0'.repeat(32)}`)}` }),
  ]
}

/** Named keys of an account: two with little to do, one that was revoked. */
const namedKeys = async ({ api }: Operator, tenant: Tenant): Promise<Persona[]> => {
  const place = `/v2/accounts/${tenant.id}/api_keys`
  const make = async (name: string, scopes: readonly string[]) =>
    (await api.call('PUT', place, { name, scopes })).data as { id: string; key: string }
  const persona = (title: string, scopes: readonly string[], headers: Record<string, string>): Persona => ({
    title,
    headers,
    actor: { tenant, kind: 'key', userId: undefined, isRestricted: false, scopes },
    home: tenant,
    oneIn: 1,
  })
  const [reading, writing] = [['devices:read'], ['users:write', 'devices:read', 'api_keys:read']]
  const reader = await make('reader', reading)
  const writer = await make('writer', writing)
  const revoked = await make('revoked', ['*'])
  await api.call('DELETE', `${place}/${revoked.id}`)
  const { auth_token: session } = await api.call('PUT', '/v2/api_auth', { api_key: writer.key }, '')
  tenant.ids.api_key_id = [reader.id, writer.id]
  return [
    persona('a key that reads devices', reading, { authorization: `Bearer ${reader.key}` }),
    persona('a session of a key that writes users', writing, bearing(session)),
    {
      title: 'a key that was revoked',
      headers: { authorization: `Bearer ${revoked.key}` },
      actor: undefined,
      home: tenant,
      oneIn: 2,
    },
  ]
}

const restrictions = { restrictions: { _: { _: { users: [{ rules: { '#': ['GET'], '/': ['GET'] } }] } } } }

/** Master, two resellers, and below the first a customer to play with, its sub-accounts, and a neighbour. */
export const setStage = async (build: Builder, operator: Operator): Promise<Stage> => {
  const { api } = operator
  // Numbers of the stage have no carrier: with this they may have a failover.
  await api.call('PUT', '/v2/system_configs/number_manager', { default: { local_feature_override: true } })
  const master = build.master()
  await build.carrier()
  const reseller = await build.tenant({ parent: master, title: 'reseller', is: { isReseller: true } })
  const otherReseller = await build.tenant({
    parent: master,
    title: 'other reseller',
    is: { isReseller: true },
  })
  const acme = await build.tenant({ parent: reseller, title: 'acme', is: { isPlayground: true } })
  await api.call('PATCH', `/v2/accounts/${acme.id}`, { wnm_allow_additions: true })
  const vault = await build.tenant({ parent: reseller, title: 'neighbour' })
  const rival = await build.tenant({ parent: otherReseller, title: 'rival' })
  const child = await build.tenant({ parent: acme, title: 'child', is: { isPlayground: true } })
  const bound = await build.tenant({ parent: reseller, title: 'bound' })
  const brief = await build.tenant({ parent: reseller, title: 'brief' })
  const wiped = await build.tenant({ parent: reseller, title: 'wiped' })
  const spares = await Promise.all(
    Array.from({ length: 8 }, () =>
      build.tenant({ parent: acme, title: 'spare', is: { isPlayground: true, isSpare: true } }),
    ),
  )
  const lost = await ghosts(build, operator, { acme, brief, wiped })
  const replacedKey = await replacedKeyHolder(api, brief)
  await Promise.all([
    ...[acme, child].map((tenant) => build.plant(tenant, 6)),
    ...[vault, rival, reseller, otherReseller, bound].map((tenant) => build.plant(tenant, 1)),
    ...spares.map((tenant) => build.plant(tenant, 1)),
  ])
  const [ada, uli, chad, vera, rex, ross, rosa, otto, resa, uma, mia] = await Promise.all([
    build.person(acme, 'ada', 'admin'),
    build.person(acme, 'uli', 'user'),
    build.figure(child, 'chad', 'admin'),
    build.person(vault, 'vera', 'admin'),
    build.figure(rival, 'rex', 'admin'),
    build.person(reseller, 'ross', 'admin'),
    build.figure(reseller, 'rosa', 'user'),
    build.figure(otherReseller, 'otto', 'admin'),
    build.person(bound, 'resa', 'user'),
    build.figure(vault, 'uma', 'user'),
    masterUser(build, operator, master),
  ])
  await api.call('POST', `/v2/accounts/${bound.id}/token_restrictions`, restrictions)
  const { data: key } = await api.call('GET', `/v2/accounts/${acme.id}/api_key`)
  const { auth_token: keyToken } = await api.call('PUT', '/v2/api_auth', key, '')
  const basic = (person: Person) => {
    const credentials = credentialsOf(person.username, passwordOf(person.tenant))
    return { authorization: `Basic ${btoa(`${person.tenant.id}:${credentials}`)}` }
  }
  const personas: Persona[] = [
    personaOf('an admin', ada),
    personaOf('an ordinary user', uli),
    personaOf('an admin with a password in each request', ada, { headers: basic(ada), oneIn: 10 }),
    personaOf('an ordinary user with a bearer token', uli, {
      headers: { authorization: `Bearer ${uli.token}` },
    }),
    {
      title: 'an API key',
      headers: bearing(keyToken),
      actor: { tenant: acme, kind: 'key', userId: undefined, isRestricted: false },
      home: acme,
      oneIn: 1,
    },
    personaOf('the admin of a sub-account', chad),
    personaOf('the admin of a neighbour', vera),
    personaOf("a neighbour's ordinary user", uma),
    personaOf("the admin of another reseller's customer", rex),
    personaOf('the admin of the reseller', ross),
    personaOf("the reseller's ordinary user", rosa),
    personaOf('the admin of another reseller', otto),
    personaOf('a user with restrictions', resa, {
      actor: { tenant: bound, kind: 'user', userId: resa.userId, isRestricted: true },
    }),
    personaOf("the master account's ordinary user", mia),
    {
      title: 'the operator',
      headers: bearing(operator.token),
      actor: { tenant: master, kind: 'admin', userId: operator.userId, isRestricted: false },
      home: acme,
      oneIn: 1,
    },
    ...(await namedKeys(operator, acme)),
    replacedKey,
    ...lost,
  ]
  const tenants = [master, reseller, otherReseller, acme, vault, rival, child, bound, ...spares]
  return { tenants, personas, victims: [vault, rival, bound, otherReseller] }
}

/** The master account keeps its people from round to round, and its first one plants no texts. */
const masterUser = async (build: Builder, { api, token }: Operator, master: Tenant): Promise<Person> => {
  const username = `mia${build.tenants.size}`
  const password = 'Mia-secret-1!'
  const { data } = await api.call(
    'PUT',
    `/v2/accounts/${master.id}/users`,
    {
      first_name: 'Mia',
      last_name: 'Master',
      username,
      password,
      priv_level: 'user',
    },
    token,
  )
  const credentials = credentialsOf(username, password)
  const signedIn = await api.call('PUT', '/v2/user_auth', { credentials, account_name: 'master' }, '')
  return { userId: data.id, token: signedIn.auth_token, kind: 'user', tenant: master, username }
}

/** Fields that change without a request. */
const volatile = new Set(['descendants_count', 'last_used', 'node'])

const stable = (_key: string, value: unknown) => (volatile.has(_key) ? undefined : value)

/**
 * The records of a tenant as the operator reads them: the same text as long as no request changed them. Values
 * inherited from parent accounts are left out.
 */
export const digestOf = async (api: Api, tenant: Tenant): Promise<Record<string, string>> => {
  const place = `/v2/accounts/${tenant.id}`
  const { ids } = tenant
  const paths = [
    place,
    `${place}/users?paginate=false`,
    ...[...(ids.user_id ?? []), ...(ids.person_id ?? [])].map((id) => `${place}/users/${id}`),
    `${place}/devices?paginate=false`,
    ...(ids.device_id ?? []).map((id) => `${place}/devices/${id}`),
    `${place}/access_lists`,
    `${place}/devices/${ids.device_id?.[0]}/access_lists`,
    `${place}/phone_numbers`,
    `${place}/phone_numbers/${encodeURIComponent(ids.phone_number?.[0] ?? '')}`,
    `${place}/multi_factor/${ids.provider_id?.[0]}`,
    `${place}/whitelabel`,
    `${place}/whitelabel/emails`,
    `${place}/alerts`,
    `${place}/webhooks`,
    `${place}/ledgers`,
    `${place}/ledgers/sample`,
    `${place}/limits`,
    `${place}/limits/operator`,
    `${place}/services/manual`,
    `${place}/services/overrides`,
    `${place}/token_restrictions`,
    `${place}/security`,
    `${place}/api_key`,
    `${place}/rate_limits`,
    `${place}/cdrs/${encodeURIComponent(ids.cdr_id?.[0] ?? '')}`,
  ]
  const entries: [string, string][] = []
  for (const path of paths) {
    const { status, body } = await api.ask('GET', path)
    const answer = JSON.parse(body.toString('utf8'))
    entries.push([path, `${status} ${JSON.stringify(answer.data, stable)}`])
  }
  return Object.fromEntries(entries)
}
