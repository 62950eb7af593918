// Rights of an ordinary user (`priv_level` user) in its own account, in other accounts and for other users.
import { describe, expect, it } from 'vitest'
import { adminCallFields } from '../../src/auth/policies.ts'
import type { Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { Answer } from '../support/world/client.ts'
import {
  credentialsOf,
  describeAnyEngine,
  type Person,
  type TestAccount,
  useWorld,
} from '../support/world/world.ts'

/** The same record with another value at a path; undefined: without the key. */
const withValue = (record: Json, path: string, value: unknown): Json => {
  const [key = '', ...rest] = path.split('.')
  const { [key]: before, ...others } = record
  if (rest.length > 0) return { ...others, [key]: withValue((before ?? {}) as Json, rest.join('.'), value) }
  return value === undefined ? others : { ...others, [key]: value }
}

describeAnyEngine('ordinary users', (engine) => {
  const world = useWorld(engine)

  it('do not make themselves admins, not even in the master account', async () => {
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account)
      const answer = await world.unchanged(() => person.patch(person.path, { priv_level: 'admin' }))
      expect(answer).toFailWith(400, 'validation error', {
        priv_level: { forbidden: { message: 'Only an admin may create or change an admin', cause: 'admin' } },
      })
    }
  })

  it('create no users, whose calls would not have their restrictions', async () => {
    const forward = { enabled: true, number: '+14155550199' }
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account, { call_restriction: { international: { action: 'deny' } } })
      const name = { first_name: 'A', last_name: 'B' }
      for (const fields of [{}, { call_forward: forward }, { priv_level: 'admin' }]) {
        const act = () => person.put(`${account.path}/users`, { ...name, ...fields })
        expect(await world.refused(act)).toFailWith(403, 'forbidden')
      }
    }
  })

  it('do not change or remove an admin', async () => {
    const olaf = await world.user(world.master)
    const attempts = await world.unchanged(() =>
      Promise.all([
        olaf.patch(world.operator.path, { first_name: 'Mine' }),
        olaf.delete(world.operator.path),
      ]),
    )
    for (const answer of attempts) expect(answer).toBreak({ priv_level: ['forbidden'] })
  })

  it('have no power over other accounts: admins of their account have it', async () => {
    const olaf = await world.user(world.master)
    const rita = await world.user(world.reseller)
    const attempts = await world.unchanged(async () => {
      const answers = []
      for (const person of [olaf, rita]) {
        answers.push(
          await person.get(world.acme.path),
          await person.patch(world.acme.path, { enabled: false }),
          await person.get(`${world.acme.path}/users`),
          await person.patch(world.uli.path, { password: 'another-one' }),
          await person.put(`${world.acme.path}/ledgers/credit`, {}),
        )
      }
      answers.push(
        await olaf.get('/v2/about'),
        await olaf.get('/v2/system_configs'),
        await olaf.get(`${world.master.path}/api_key`),
        await olaf.put('/v2/auth', {}, { envelope: { action: 'reset_signature_secret' } }),
        await olaf.put('/v2/cdrs', []),
        await olaf.put(`${world.acme.path}/reseller`, {}),
        await olaf.put(`${world.uli.path}/user_auth`, {}, { envelope: { action: 'impersonate_user' } }),
      )
      return answers
    })
    for (const answer of attempts) expect(answer).toFailWith(403, 'forbidden')
  })

  it('of an account above see nothing of a realm, while its admins do', async () => {
    const rita = await world.user(world.reseller)
    const asked = `/v2/edge?realm=${world.acme.realm}`
    expect((await rita.get(asked)).data).not.toHaveProperty('account_id')
    expect((await world.ross.get(asked)).data).toMatchObject({ account_id: world.acme.id })
  })

  it('work within their own account, in the master account as elsewhere', async () => {
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account)
      expect(await person.get(account.path)).toSucceed()
      expect(await person.put(`${account.path}/groups`, { name: 'Mine', endpoints: {} })).toSucceed(201)
      expect(await person.patch(person.path, { first_name: 'New' })).toSucceed()
    }
  })

  it('of the master account are bound by token restrictions', async () => {
    const olaf = await world.user(world.master)
    const restrictions = { _: { user: { users: [{ rules: { '#': ['GET'] } }] } } }
    await world.operator.post(`${world.master.path}/token_restrictions`, { restrictions })
    expect(await olaf.get(olaf.path)).toSucceed()
    expect(await olaf.get(`${world.master.path}/devices`)).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      cause: 'access denied by token restrictions',
    })
    expect(await world.operator.get(`${world.master.path}/devices`)).toSucceed()
    await world.operator.delete(`${world.master.path}/token_restrictions`)
  })

  const refusedFor = async (by: Person, of: Person, data: Record<string, unknown>) => {
    const answer = await world.unchanged(() => by.patch(of.path, data))
    const field = Object.keys(data)[0] ?? ''
    expect(answer).toFailWith(400, 'validation error', {
      [field]: { forbidden: { message: 'Only an admin may change this', cause: field } },
    })
  }

  it('do not decide who may sign in, and cannot take the sign-in name of another user', async () => {
    const [one, other] = [
      await world.user(world.acme),
      await world.user(world.acme, { email: 'o@acme.test' }),
    ]
    for (const data of [
      { password: 'another-one' },
      { credentials: credentialsOf('x', 'y') },
      { email: 'mine@acme.test' },
      { enabled: false },
      { require_password_update: true },
      { scope_restrictions: ['*'] },
      { sync: true },
    ])
      await refusedFor(one, other, data)
    await refusedFor(one, one, { scope_restrictions: ['*'] })
    await refusedFor(one, one, { enabled: false })
    expect(await one.patch(other.path, { last_name: 'Changed', email: 'o@acme.test' })).toSucceed()
    expect(await world.ada.patch(other.path, { email: 'new@acme.test' })).toSucceed()
  })

  it('can delete only themselves', async () => {
    const [one, other] = [await world.user(world.acme), await world.user(world.acme)]
    const answer = await world.unchanged(() => one.delete(other.path))
    expect(answer).toFailWith(400, 'validation error', {
      user: { forbidden: { message: 'Only an admin may delete another user', cause: other.id } },
    })
    expect(await world.ada.delete(other.path)).toSucceed()
    expect(await one.delete(one.path)).toSucceed()
  })

  it('do not delete themselves while they have restrictions, which calls from their devices would lose', async () => {
    const one = await world.user(world.acme, { call_restriction: { international: { action: 'deny' } } })
    expect(await world.refused(() => one.delete(one.path))).toFailWith(400, 'validation error', {
      call_restriction: {
        forbidden: {
          message: 'Only an admin may delete a user with restrictions',
          cause: 'call_restriction',
        },
      },
    })
    expect(await world.ada.delete(one.path)).toSucceed()
  })

  it.each<[readonly string[] | 'all']>([['all'], [['device']], [['callflow', 'vmbox']]])(
    'delete nothing that they own with themselves: %j',
    async (objectTypes) => {
      const one = await world.user(world.acme)
      await world.device(world.acme, { owner_id: one.id })
      const cause = objectTypes === 'all' ? expect.any(Array) : objectTypes
      const inQuery = objectTypes === 'all' ? objectTypes : JSON.stringify(objectTypes)
      for (const act of [
        () => one.delete(one.path, { object_types: objectTypes }),
        () => one.delete(one.path, undefined, { query: { object_types: inQuery } }),
      ])
        expect(await world.refused(act)).toFailWith(400, 'validation error', {
          object_types: { forbidden: { message: 'Only an admin may delete what a user owns', cause } },
        })
      expect(await one.delete(one.path, { object_types: [] })).toSucceed()
    },
  )

  it('change their own password, name and address', async () => {
    const one = await world.user(world.acme)
    const username = `${one.username}-new`
    expect(
      await one.patch(one.path, { username, email: 'one@acme.test', password: 'one-secret' }),
    ).toSucceed()
    const login = { credentials: credentialsOf(username, 'one-secret'), account_realm: world.acme.realm }
    expect(await world.anonymous.put('/v2/user_auth', login)).toSucceed(201)
  })

  it.each<[string, Json]>([
    ['restrictions that inherit', { call_restriction: { international: { action: 'inherit' } } }],
    ['empty lists', { call_recording: {}, flags: [], formatters: {} }],
    ['an empty caller ID', { caller_id: { external: { name: '', number: '' }, internal: {} } }],
  ])('send %s without effect, which are stored', async (_, fields) => {
    const one = await world.user(world.acme)
    expect(await one.patch(one.path, fields)).toSucceed()
    const { data } = await one.get(one.path)
    expect(await one.post(one.path, data)).toSucceed()
  })

  it('move no numbers of accounts below, in tasks and by name', async () => {
    const rita = await world.user(world.reseller)
    const number = '+14155557171'
    await world.operator.put(`${world.acme.path}/phone_numbers/${encodeURIComponent(number)}`, {})
    const identify = `phone_numbers/${encodeURIComponent(number)}/identify`
    expect(await rita.get(`${world.reseller.path}/${identify}`)).toFailWith(404, 'bad_identifier')
    expect(await world.ross.get(`${world.reseller.path}/${identify}`)).toSucceedWith({
      account_id: world.acme.id,
      number,
    })
  })

  interface Guarded {
    /** The record and the field. */
    title: string
    field: string
    /** Creates the record with a value in the field, for an ordinary user of the account. Returns its path. */
    make(account: TestAccount, caller: Person): Promise<string>
    /** Requests that change the record. Default: POST and PATCH. */
    methods?: readonly ('post' | 'patch')[]
    /** Values with which a request leaves the field as it is. Undefined: a POST without the field. */
    keeping?: readonly unknown[]
  }

  const none = [undefined, null]

  const otherUser = (field: string, value: unknown): Guarded => ({
    title: `${field} of another user`,
    field,
    make: async (account) => (await world.user(account, { [field]: value })).path,
  })

  const ownUser = (field: string, value: unknown): Guarded => ({
    title: `their ${field}`,
    field,
    async make(_account, caller) {
      expect(await world.operator.patch(caller.path, { [field]: value })).toSucceed()
      return caller.path
    },
  })

  const account = (field: string, value: unknown, keeping: readonly unknown[] = []): Guarded => ({
    title: `${field} of the account`,
    field,
    keeping,
    async make({ path }) {
      if (value !== undefined) expect(await world.operator.patch(path, { [field]: value })).toSucceed()
      return path
    },
  })

  const brand = (field: string): Guarded => ({
    title: `${field} of the brand`,
    field,
    methods: ['post'],
    async make({ path, realm }) {
      const data = { company_name: 'Brand', [field]: `portal.${realm}` }
      expect(await world.operator.put(`${path}/whitelabel`, data)).toSucceed()
      return `${path}/whitelabel`
    },
  })

  const phone = (field: string, fields: Json, keeping: readonly unknown[] = []): Guarded => ({
    title: `${field} of their device`,
    field,
    keeping,
    make: async (owner, caller) => (await world.device(owner, { ...fields, owner_id: caller.id })).path,
  })

  const proxies = ['127.0.0.0/8']
  const scopes = ['users:write', 'accounts:write', 'devices:write']

  const guarded: readonly Guarded[] = [
    otherUser('username', 'guarded.name'),
    otherUser('email', 'guarded@mail.test'),
    otherUser('enabled', false),
    otherUser('require_password_update', true),
    otherUser('scope_restrictions', scopes),
    otherUser('allowed_proxy_ips', proxies),
    ownUser('scope_restrictions', scopes),
    ownUser('allowed_proxy_ips', proxies),
    account('allowed_proxy_ips', proxies),
    account('realm', undefined, [...none, '']),
    account('lends_bookkeepers_to', ['0'.repeat(32)], none),
    account('trial_expires', 64_000_000_000, none),
    brand('domain'),
    brand('conference_public_domain'),
    phone('device_type', { device_type: 'softphone' }, none),
    phone('mobile.mdn', { device_type: 'mobile', mobile: { mdn: '+14155557272' } }),
  ]

  describe('do not change or remove', () => {
    it.each(guarded.map((one) => [one.title, one] as const))('%s', async (_title, one) => {
      const { field, make, methods = ['post', 'patch'], keeping = [] } = one
      const home = await world.account(world.reseller)
      const caller = await world.user(home)
      const path = await make(home, caller)
      const record: Json = (await caller.get(path)).data
      const inField = (found: Json) => memberOf(found, ...field.split('.'))
      const value = inField(record)
      // Otherwise the value could not get lost.
      expect([undefined, null, '']).not.toContain(value)
      const losses = methods.flatMap((method) =>
        (method === 'post' ? [undefined, null, ''] : [null, '']).map((loss) => [method, loss] as const),
      )
      for (const [method, loss] of losses) {
        const data = withValue(method === 'post' ? record : {}, field, loss)
        const send = () => caller[method](path, data)
        if (keeping.includes(loss)) expect(await send()).toSucceed()
        else
          expect(await world.refused(send)).toFailWith(400, 'validation error', {
            [field]: expect.any(Object),
          })
        expect(inField((await caller.get(path)).data)).toEqual(value)
      }
      expect(await caller.post(path, { ...record, custom: 'changed' })).toSucceed()
      expect((await caller.get(path)).data.custom).toBe('changed')
    })
  })

  const restrictions: Json = {
    call_limits: { max_concurrent: 1 },
    call_recording: { any: { any: { enabled: true } } },
    call_restriction: { international: { action: 'deny' } },
    caller_id: {
      asserted: { number: '+14155550101' },
      emergency: { number: '+14155550102' },
      external: { number: '+14155550103' },
    },
    caller_id_options: { format: { all: { prefix: '+' } }, type: 'external' },
    flags: ['marked'],
    formatters: { to: { prefix: '9' } },
  }
  const list = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
  const counters = { registrations: 1, invites: 1, total_packets: 1 }
  const limits = { per_minute: counters, per_second: counters }

  interface Restricted {
    title: string
    path(home: TestAccount, caller: Person): Promise<string> | string
    /** What an admin sets, in addition to `restrictions`. */
    more: Json
    fields: readonly string[]
    /** What the user changes, in addition to fields that all records have. */
    changes?: Json
  }

  const reach: Json = {
    call_failover: { enabled: true, number: '4711' },
    call_forward: { enabled: true, number: '4711' },
    dial_plan: { '^(\\d+)$': { prefix: '9' } },
    do_not_disturb: { enabled: true },
    metaflows: { binding_digit: '#' },
  }
  const undisturbed = { do_not_disturb: { enabled: true } }

  const restricted: readonly Restricted[] = [
    {
      title: 'themselves',
      path: (_home, caller) => caller.path,
      more: { feature_level: 'basic' },
      fields: ['feature_level'],
      changes: undisturbed,
    },
    {
      title: 'other users',
      path: async (home) => (await world.user(home)).path,
      more: {
        ...reach,
        feature_level: 'basic',
        hotdesk: { enabled: true, id: '77' },
      },
      fields: [...Object.keys(reach), 'feature_level', 'hotdesk'],
    },
    {
      title: 'their devices',
      path: async (home, caller) => (await world.device(home, { owner_id: caller.id })).path,
      more: {
        access_lists: list,
        hotdesk: { users: { ['e'.repeat(32)]: {} } },
        outbound_flags: ['marked'],
        rate_limits: limits,
      },
      fields: ['access_lists', 'hotdesk', 'outbound_flags', 'rate_limits'],
      changes: undisturbed,
    },
    {
      title: 'their account',
      path: ({ path }) => path,
      more: {
        ...reach,
        access_lists: list,
        blacklists: ['b'.repeat(32)],
        preflow: { always: 'c'.repeat(32) },
        call_recording: { account: { any: { any: { enabled: true } } } },
        rate_limits: { account: limits, device: limits },
      },
      fields: [...Object.keys(reach), 'access_lists', 'blacklists', 'preflow', 'rate_limits'],
    },
  ]

  it.each(restricted.map((one) => [one.title, one] as const))(
    'neither restrict %s nor lift a restriction, and change the rest',
    async (_title, { path: pathOf, more, fields: further, changes: own = {} }) => {
      const home = await world.account(world.reseller)
      const caller = await world.user(home)
      const path = await pathOf(home, caller)
      const fields = [...adminCallFields, ...further]
      const values = { ...restrictions, ...more }
      const only = (value: (field: string) => unknown) =>
        fields.reduce<Json>((data, field) => withValue(data, field, value(field)), {})
      const isRefused = async (act: () => Promise<Answer>) =>
        expect(await world.refused(act)).toFailWith(
          400,
          'validation error',
          Object.fromEntries(
            fields.map((field) => [
              field,
              { forbidden: { message: 'Only an admin may change this', cause: field } },
            ]),
          ),
        )

      await isRefused(() => caller.patch(path, values))
      expect(await world.operator.patch(path, values)).toSucceed()
      const record: Json = (await caller.get(path)).data
      await isRefused(() =>
        caller.patch(
          path,
          only(() => null),
        ),
      )
      const without = fields.reduce((data, field) => withValue(data, field, undefined), record)
      await isRefused(() => caller.post(path, without))

      expect(await caller.post(path, { ...record, custom: 'replaced' })).toSucceed()
      const changes = { ...own, timezone: 'Europe/Berlin', custom: 'changed' }
      expect(await caller.patch(path, changes)).toSucceed()
      expect((await caller.get(path)).data).toMatchObject({ ...values, ...changes })
    },
  )

  it('do not enable, disable or give away their devices', async () => {
    const home = await world.account(world.reseller)
    const [caller, other] = [await world.user(home), await world.user(home)]
    const device = await world.device(home, { owner_id: caller.id, enabled: false })
    for (const [field, value] of [
      ['enabled', true],
      ['enabled', null],
      ['owner_id', other.id],
      ['owner_id', null],
    ] as const)
      expect(await world.refused(() => caller.patch(device.path, { [field]: value }))).toFailWith(
        400,
        'validation error',
        { [field]: { forbidden: { message: 'Only an admin may change this', cause: field } } },
      )
  })

  it('change and use their own devices, read all, and create and delete none', async () => {
    const home = await world.account(world.reseller)
    const [caller, other] = [await world.user(home), await world.user(home)]
    const own = await world.device(home, { owner_id: caller.id, name: 'Mine' })
    const foreign = [await world.device(home, { owner_id: other.id }), await world.device(home)]
    const counted = { ...limits }
    const devices = `${home.path}/devices`
    for (const { path } of foreign) {
      const record: Json = (await caller.get(path)).data
      const attempts = await world.refused(() =>
        Promise.all([
          caller.patch(path, { name: 'Taken' }),
          caller.patch(path, { owner_id: caller.id }),
          caller.post(path, record),
          caller.put(path, { data: { event: 'check-sync' } }, { query: { action: 'notify' } }),
          caller.post(`${path}/sync`),
          caller.get(`${path}/quickcall/100`),
          caller.post(`${path}/quickcall/100`),
        ]),
      )
      for (const answer of attempts) expect(answer).toFailWith(403, 'forbidden')
    }
    const forAdmins = await world.refused(() =>
      Promise.all([
        caller.put(devices, { name: 'New', owner_id: caller.id }),
        caller.put(`${caller.path}/devices`, { name: 'New' }),
        caller.get(`${other.path}/quickcall/100`),
        caller.delete(`${home.path}/registrations`),
        caller.delete(`${home.path}/registrations/desk`),
        ...[own, ...foreign].map(({ path }) => caller.delete(path)),
        ...[home, own, ...foreign].flatMap(({ path }) => [
          caller.post(`${path}/access_lists`, list),
          caller.delete(`${path}/access_lists`),
          caller.post(
            `${path}/rate_limits`,
            path === home.path ? { account: counted, device: counted } : counted,
          ),
          caller.delete(`${path}/rate_limits`),
        ]),
      ]),
    )
    for (const answer of forAdmins) expect(answer).toFailWith(403, 'forbidden')

    const changes = { name: 'Desk', call_forward: { enabled: true, number: '4711' } }
    expect(await caller.patch(own.path, changes)).toSucceed()
    expect(await caller.post(own.path, (await caller.get(own.path)).data)).toSucceed()
    expect((await caller.get(own.path)).data).toMatchObject(changes)
    for (const path of [own.path, caller.path])
      expect((await caller.get(`${path}/quickcall/100`)).status).toBe(501)
    expect((await caller.post(`${own.path}/sync`)).status).toBe(501)
    expect((await caller.get(devices)).data).toHaveLength(3)
    expect(await caller.get(`${own.path}/access_lists`)).toSucceed()
  })

  it('do not take the rights of an admin away', async () => {
    const home = await world.account(world.reseller)
    const [caller, boss] = [await world.user(home), await world.admin(home)]
    const record: Json = (await caller.get(boss.path)).data
    for (const loss of [undefined, null, '', 'user']) {
      const answer = await world.refused(() => caller.post(boss.path, withValue(record, 'priv_level', loss)))
      expect(answer.status).toBe(400)
    }
    for (const loss of [null, '', 'user'])
      expect((await world.refused(() => caller.patch(boss.path, { priv_level: loss }))).status).toBe(400)
  })
})
