import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyone } from '../src/auth/policies.ts'
import type { Route } from '../src/http/route.ts'
import type { Json } from '../src/lib/json.ts'
import { eventually } from './support/run/eventually.ts'
import { createRewind } from './support/servers/store-rewind.ts'
import { createAuthenticator } from './support/world/authenticator.ts'
import type { Answer, Client } from './support/world/client.ts'
import {
  nameOf,
  type PathIds,
  pathWith,
  requestFor,
  sampleApps,
  variablesOf,
} from './support/world/route-samples.ts'
import { inParallel, walkLimitMs, walkOf } from './support/world/walk.ts'
import { describeAnyEngine, type TestAccount, useWorld, type World } from './support/world/world.ts'

// An account never sees or changes a record of an account that is not itself or below it. Every tenant's
// records carry a word that no other tenant can know; the test calls every route with foreign ids in every
// place.

/** A tenant: its account, its records by path variable, and its marker word. */
interface Tenant {
  account: TestAccount
  ids: PathIds
  word: string
}

interface Attack {
  title: string
  by: Client
  /** The attacker's own account. */
  home: Tenant
  victim: Tenant
}

const wordOf = (account: TestAccount) => `planted-${account.id.slice(-12)}`

/** One record of each kind in an account, each with the account's word in a field that lists do not show. */
const plant = async (world: World, account: TestAccount): Promise<Tenant> => {
  const { operator } = world
  const word = wordOf(account)
  await operator.patch(account.path, { announcement: word, flags: [word] })
  const email = `${word}@mail.test`
  const user = await world.user(account, { last_name: word, timezone: 'Europe/Berlin', custom: word, email })
  await world.deliverMail()
  const sent = await operator.get(`${account.path}/notifications/smtplog`)
  const phone = await world.device(account, { name: word, owner_id: user.id, custom: word })
  const number = `+1415${String(Number.parseInt(account.id.slice(-6), 16) % 8_000_000).padStart(7, '2')}`
  await operator.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, { custom: word })
  const provider = { name: word, provider_name: 'otp', enabled: false }
  const { data: factor } = await operator.put(`${account.path}/multi_factor`, provider)
  const apiKey = await operator.put(`${account.path}/api_keys`, { name: word, scopes: ['devices:read'] })
  const receiver = { name: word, uri: 'https://receiver.invalid/', hook: 'sms', custom: word }
  const webhook = await operator.put(`${account.path}/webhooks`, receiver)
  const gateways = [{ server: 'carrier.test', username: 'u', custom: word }]
  const carrier = await operator.put(`${account.path}/resources`, { name: word, gateways, rules: ['.'] })
  const trunk = await operator.put(`${account.path}/connectivity`, { name: word, custom: word })
  await world.configure('passkeys', { rp_id: 'localhost', origins: ['http://localhost'] })
  const credential = createAuthenticator().create((await user.put(`${user.path}/passkeys/options`, {})).data)
  const passkey = await user.put(`${user.path}/passkeys`, { name: word, credential })
  const list = { order: 'allow,deny', cidrs: ['203.0.113.0/24'], user_agent: word }
  await operator.post(`${account.path}/access_lists`, list)
  await operator.post(`${phone.path}/access_lists`, list)
  // Accounts below may read these settings of accounts above.
  const theme = account.id === world.acme.id || account.id === world.rival.id ? word : 'from above'
  await operator.post(`${account.path}/notifications/password_recovery`, { subject: theme })
  await operator.post(`${account.path}/configs/portal`, { theme })
  await operator.post(`${account.path}/configs/default`, { theme })
  await operator.post(`${user.path}/photo`, undefined, {
    headers: { 'content-type': 'image/png' },
    body: Buffer.from(`\x89PNG\r\n\x1a\n${word}`, 'latin1'),
  })
  const domain = `${account.id.slice(-12)}.brand.test`
  await operator.put(`${account.path}/whitelabel`, { domain })
  const sender = await operator.put(`${account.path}/whitelabel/emails`, { email: `${word}@sender.test` })
  await world.anonymous.put('/v2/user_auth', { credentials: '0'.repeat(32), account_name: account.name })
  const attempts = await eventually(
    () => operator.get(`${account.path}/security/attempts`),
    ({ data }) => data.length > 0,
  )
  const { data: alert } = await operator.put(`${account.path}/alerts`, {
    title: word,
    message: word,
    from: [{ type: 'account', value: account.id }],
    to: [{ type: account.id, value: 'all' }],
  })
  const flow = { module: 'user', data: { id: user.id } }
  const callflow = await operator.put(`${account.path}/callflows`, { name: word, numbers: ['100'], flow })
  const group = await operator.put(`${account.path}/groups`, {
    name: word,
    endpoints: { [user.id]: { type: 'user' } },
  })
  await world.configure('apps_store', { apps: sampleApps })
  await operator.put(`${account.path}/apps_store/sample-app`, {
    allowed_users: 'specific',
    users: [{ id: user.id }],
  })
  await operator.post(`${account.path}/apps_store/blacklist`, { blacklist: [word] })
  const leg = {
    // Part of its id, which responses repeat to the caller.
    call_id: `leg-of-${account.id}`,
    channel_created_time: world.clock.now() * 1000,
    hangup_cause: word,
    custom_channel_vars: { account_id: account.id, owner_id: user.id },
  }
  await operator.put('/v2/cdrs', [leg])
  const [call] = (await operator.get(`${account.path}/cdrs`)).data
  // Started tasks stay queued: a running task would change the compared data.
  await world.configure('tasks', { max_running: 0 })
  const listing = `category=number_management&action=list&file_name=${word}`
  const task = await operator.put(`${account.path}/tasks?${listing}`)
  return {
    account,
    word,
    ids: {
      task_id: String(task.body.metadata.id),
      account_id: account.id,
      user_id: user.id,
      device_id: phone.id,
      provider_id: factor.id,
      attempt_id: attempts.data[0].id,
      config_id: 'portal',
      section: 'default',
      schema_name: 'users',
      migration_id: 'recount_services',
      number: '+14155550100',
      key_id: '0'.repeat(32),
      phone_number: number,
      rate_id: 'none',
      domain,
      email_id: String(sender.body.metadata.id),
      notification_id: 'password_recovery',
      smtplog_id: sent.data[0].id,
      alert_id: alert.id,
      callflow_id: callflow.data.id,
      group_id: group.data.id,
      app_id: 'sample-app',
      index: '0',
      api_key_id: apiKey.data.id,
      webhook_id: webhook.data.id,
      resource_id: carrier.data.id,
      connectivity_id: trunk.data.id,
      passkey_id: passkey.data.id,
      cdr_id: call.id,
      // A leg's id names its interaction too; an unknown interaction has no legs, for any caller.
      interaction_id: call.id,
      auth_token: 'none',
    },
  }
}

const recordVariables = [
  'user_id',
  'device_id',
  'provider_id',
  'attempt_id',
  'smtplog_id',
  'email_id',
  'task_id',
  'cdr_id',
  'interaction_id',
  'phone_number',
  'alert_id',
  'callflow_id',
  'group_id',
  'api_key_id',
  'webhook_id',
  'resource_id',
  'connectivity_id',
  'passkey_id',
]

/** The rows of the store that are a tenant's. */
const rowsOf = async (world: World, { account }: Tenant) => {
  const snapshot = await world.snapshot()
  return Object.values(snapshot)
    .flat()
    .filter((row) => row.includes(`"account_id":"${account.id}"`))
}

const attacksIn = async (world: World): Promise<Attack[]> => {
  const master = await plant(world, world.master)
  const reseller = await plant(world, world.reseller)
  const acme = await plant(world, world.acme)
  const rival = await plant(world, world.rival)
  const rivalKey = await world.keyHolder(world.rival)
  return [
    { title: 'the admin of acme on its rival', by: world.ada, home: acme, victim: rival },
    { title: "its rival's API key on acme", by: rivalKey, home: rival, victim: acme },
    { title: 'the admin of acme on its reseller', by: world.ada, home: acme, victim: reseller },
    { title: 'the API key of acme on its reseller', by: world.acmeKey, home: acme, victim: reseller },
    { title: 'a user of acme on the master account', by: world.uli, home: acme, victim: master },
    { title: 'the reseller on the master account', by: world.ross, home: reseller, victim: master },
  ]
}

// Every caller may read public data of an account, such as its logo.
const isIn = (route: Route) => route.path.includes('{account_id}') && route.spec.allow !== anyone
const isRead = ({ method }: Route) => method === 'GET'

const withoutTally = (rows: readonly string[]) => rows.map((row) => row.replace(/"tally":\d+/, ''))

/** Ids in the path below another account. */
const foreignPaths = [
  ({ victim }: Attack): PathIds => victim.ids,
  ({ home, victim }: Attack): PathIds => ({ ...home.ids, account_id: victim.account.id }),
]

const listQueries = [
  ({ account }: Tenant) => ({ account_id: account.id }),
  ({ account }: Tenant) => ({ filter_account_id: account.id, filter_pvt_account_id: account.id }),
  ({ ids }: Tenant) => ({ owner_id: ids.user_id, filter_owner_id: ids.user_id }),
  ({ ids }: Tenant) => ({ filter_id: ids.device_id, paginate: 'false' }),
  ({ ids }: Tenant) => ({
    start_key: Buffer.from(JSON.stringify(['', ids.user_id])).toString('base64url'),
    ascending: 'true',
  }),
  () => ({ full_docs: 'true', fields: '["id","pvt_account_id","custom","hidden"]' }),
  ({ ids }: Tenant) => ({ id: ids.user_id, user_id: ids.user_id }),
] as ((victim: Tenant) => Record<string, string>)[]

/** Bodies that point at the victim. */
const lures: ((victim: Tenant) => Json)[] = [
  ({ ids }) => ({ id: ids.user_id, _id: ids.user_id, user_id: ids.user_id }),
  ({ ids }) => ({ id: ids.device_id, device_id: ids.device_id }),
  ({ account }) => ({ id: account.id, account_id: account.id, _id: account.id }),
  ({ account }) => ({ pvt_account_id: account.id, pvt_tree: [account.id], pvt_account_db: account.id }),
  ({ account: { id } }) => ({ reseller_id: id, tree: [id], parent: id, parent_id: id }),
  ({ ids }) => ({ owner_id: ids.user_id }),
  () => ({ _rev: '1-a', revision: '1', pvt_type: 'account', kind: 'account' }),
  ({ account }) => ({ metadata: { account_id: account.id }, hidden: { tree: [account.id] } }),
  () => ({ enabled: true, superduper_admin: true, is_reseller: true, wnm_allow_additions: true }),
  ({ account }) => ({ to: account.id }),
]

describeAnyEngine('an account and the accounts that are not below it', (engine) => {
  const world = useWorld(engine)
  let attacks: Attack[] = []

  beforeAll(async () => {
    attacks = await attacksIn(world)
  })

  const routes = () => world.server.routes

  const call = (by: Client, route: Route, ids: PathIds, query: Record<string, string> = {}) => {
    const { data, options } = requestFor(route)
    return by.request(route.method, pathWith(route, ids), data, {
      ...options,
      query: { ...(options.query as Record<string, string>), ...query },
    })
  }

  /** Refused with a response that reveals nothing. */
  const expectRefusal = (answer: Answer, { victim, title }: Attack, statuses = [401, 403, 404]) => {
    const told = `${title}: ${answer.request.method} ${answer.request.path}: ${answer.status} ${answer.text}`
    expect(statuses, told).toContain(answer.status)
    expect(answer.text, told).not.toContain(victim.word)
  }

  const expectSilence = (answer: Answer, { victim, title }: Attack) => {
    const told = `${title}: ${answer.request.method} ${answer.request.path}: ${answer.text.slice(0, 3000)}`
    expect(answer.body.message, told).not.toBe('unspecified_fault')
    expect(answer.text, told).not.toContain(victim.word)
  }

  it('answers to its owner where it refuses others, so that the refusals mean something', async () => {
    for (const { by, home } of attacks) {
      const answer = await by.get(`${home.account.path}/users/${home.ids.user_id}`)
      expect(answer).toSucceed()
      expect(answer.text).toContain(home.word)
    }
  })

  it(
    'refuses every route below another account, with records of either in the path',
    () =>
      world.unchanged(async () => {
        await inParallel(
          walkOf(routes().filter(isIn), attacks, foreignPaths),
          async ([route, attack, idsIn]) =>
            expectRefusal(await call(attack.by, route, idsIn(attack)), attack, [401, 403]),
        )
      }),
    walkLimitMs,
  )

  it(
    'does not find records of another account below its path',
    () =>
      world.unchanged(async () => {
        const places = routes()
          .filter(isIn)
          .flatMap((route) => variablesOf(route.path).map((variable) => ({ route, variable })))
          .filter(({ variable }) => recordVariables.includes(variable))
        await inParallel(walkOf(places, attacks), async ([{ route, variable }, attack]) => {
          const ids = { ...attack.home.ids, [variable]: attack.victim.ids[variable] as string }
          const statuses = [401, 403, 404, ...(isRead(route) ? [] : [400])]
          expectRefusal(await call(attack.by, route, ids), attack, statuses)
        })
      }),
    walkLimitMs,
  )

  it('does not find them where no account is in the path either', () =>
    world.unchanged(async () => {
      const elsewhere = routes().filter((route) => !isIn(route) && isRead(route))
      for (const [route, attack] of walkOf(elsewhere, attacks))
        expectSilence(await call(attack.by, route, attack.victim.ids), attack)
    }))

  it('refuses them by other ways to name a method or a path', () =>
    world.unchanged(async () => {
      for (const attack of attacks) {
        const { by, victim } = attack
        const path = `${victim.account.path}/users/${victim.ids.user_id}`
        for (const verb of ['GET', 'PUT', 'PATCH', 'DELETE', 'delete']) {
          expectRefusal(await by.post(path, {}, { envelope: { verb } }), attack, [401, 403, 405])
          expectRefusal(await by.post(path, {}, { query: { verb } }), attack, [401, 403, 405])
        }
        const odd = [
          `${path}/`,
          path.replace('/users/', '//users//'),
          path.replace('users', '%75sers'),
          path.replace(victim.account.id, victim.account.id.toUpperCase()),
          path.replace(victim.account.id, `${victim.account.id}%00`),
          path.replace(victim.account.id, `${attack.home.account.id}/../${victim.account.id}`),
          path.replace(victim.account.id, `${attack.home.account.id}%2F..%2F${victim.account.id}`),
          `/v2/account/users/${victim.ids.user_id}`,
          `/v2/account/../accounts/${victim.account.id}`,
        ]
        for (const one of odd) {
          for (const method of ['GET', 'DELETE', 'HEAD'])
            expectRefusal(await by.request(method, one), attack, [401, 403, 404, 405])
        }
      }
    }))

  it('does not believe headers that name another account', () =>
    world.unchanged(async () => {
      for (const attack of attacks) {
        const { by, home, victim } = attack
        const names = ['x-auth-account-id', 'x-account-id', 'x-kazoo-account-id', 'x-original-account-id']
        for (const name of names) {
          const headers = { [name]: victim.account.id }
          expectSilence(await by.get(`${home.account.path}/users`, { headers }), attack)
          expectRefusal(await by.get(`${victim.account.path}/users`, { headers }), attack)
        }
        const override = { 'x-http-method-override': 'DELETE' }
        expectRefusal(await by.post(victim.account.path, {}, { headers: override }), attack)
      }
    }))

  it(
    'shows no record of another account in lists, whatever the query asks',
    async () => {
      const walk = walkOf(attacks, routes().filter(isRead), listQueries)
      for (const [attack, ofAttack] of Map.groupBy(walk, ([by]) => by)) {
        const { by, home, victim } = attack
        const before = await rowsOf(world, victim)
        await inParallel(ofAttack, async ([, route, queryFor]) =>
          expectSilence(await call(by, route, home.ids, queryFor(victim)), attack),
        )
        expect(await rowsOf(world, victim)).toEqual(before)
      }
    },
    walkLimitMs,
  )

  it('finds nothing outside by search', () =>
    world.unchanged(async () => {
      for (const attack of attacks) {
        const { by, home, victim } = attack
        for (const query of [
          { t: 'account', q: 'name', v: victim.account.name },
          { t: 'account', q: 'realm', v: victim.account.realm },
          { t: 'account', q: 'id', v: victim.account.id },
          { t: 'user', q: 'name', v: victim.word },
          { t: 'device', q: 'name', v: victim.word },
        ]) {
          expect(await by.get('/v2/search', { query })).toSucceedWith([])
          expect(await by.get(`${home.account.path}/search`, { query })).toSucceedWith([])
        }
      }
    }))

  // A PostgreSQL store cannot be reset after each granted request.
  if (engine === 'postgres') return

  describe('whose ids are in a body of another account', () => {
    let store: ReturnType<typeof createRewind>

    beforeAll(() => {
      store = createRewind(join(world.place.dataDir, 'crosspoint.db'))
    })

    afterAll(() => store.close())

    /** Sends a body, resets the store if the request was granted, and checks that the victim is unchanged. */
    const lureWith = async (attack: Attack, route: Route, lure: Json, before: readonly string[]) => {
      const { by, home, victim, title } = attack
      const { data, options } = requestFor(route)
      const envelope = { ...options.envelope, account_id: victim.account.id, owner_id: victim.ids.user_id }
      const path = pathWith(route, home.ids)
      const answer = await by.request(route.method, path, { ...data, ...lure }, { ...options, envelope })
      const told = `${title}: ${nameOf(route)} ${JSON.stringify(lure)}: ${answer.status} ${answer.text}`
      expect(answer.text, told).not.toContain(victim.word)
      if (answer.status >= 300) return
      // Sub-accounts are counted in the accounts above: that number alone may move.
      expect(withoutTally(await rowsOf(world, victim)), told).toEqual(withoutTally(before))
      store.rewind()
    }

    it(
      'is not selected, not changed and not shown',
      async () => {
        const writing = routes().filter(
          (route) => !isRead(route) && (isIn(route) || route.spec.allow.needsToken !== false),
        )
        const walk = walkOf(attacks, writing, lures)
        for (const [attack, ofAttack] of Map.groupBy(walk, ([by]) => by)) {
          const before = await rowsOf(world, attack.victim)
          for (const [, route, lureTo] of ofAttack)
            await lureWith(attack, route, lureTo(attack.victim), before)
          // Refused requests changed nothing either.
          expect(await rowsOf(world, attack.victim), attack.title).toEqual(before)
        }
      },
      walkLimitMs,
    )

    it('gives no caller more rights', async () => {
      for (const { by, home } of attacks) {
        for (const method of ['POST', 'PATCH']) {
          const flags = {
            superduper_admin: true,
            is_reseller: true,
            wnm_allow_additions: true,
            reseller_id: home.account.id,
          }
          await by.request(method, home.account.path, { name: home.account.name, ...flags })
          const { data } = await world.operator.get(home.account.path)
          expect(data.superduper_admin).toBe(false)
          expect(data.wnm_allow_additions).toBe(false)
          store.rewind()
        }
      }
    })

    it('is no id of a new account', async () => {
      for (const { by, victim } of attacks) {
        const before = await rowsOf(world, victim)
        const answer = await by.put('/v2/accounts', { name: 'An impostor', id: victim.account.id })
        // An ordinary user cannot create accounts.
        if (by === world.uli) expect(answer).toFailWith(403, 'forbidden')
        else expect(answer).toFailWith(401, 'invalid_credentials')
        expect(await rowsOf(world, victim)).toEqual(before)
      }
    })
  })
})
