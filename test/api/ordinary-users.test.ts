// What an ordinary user (`priv_level` user) may do with the own account's powers, with other accounts and with people.
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import {
  credentialsOf,
  describeAnyEngine,
  type Person,
  type TestAccount,
  useWorld,
} from '../support/world.ts'

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

  it('make no admins beside themselves, and do not change or remove one', async () => {
    const olaf = await world.user(world.master)
    const people = `${world.master.path}/users`
    const admin = { first_name: 'A', last_name: 'B', priv_level: 'admin' }
    const attempts = await world.unchanged(() =>
      Promise.all([
        olaf.put(people, admin),
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

  it('of an account above are told nothing of a realm, while its admins are', async () => {
    const rita = await world.user(world.reseller)
    const asked = `/v2/edge?realm=${world.acme.realm}`
    expect((await rita.get(asked)).data).not.toHaveProperty('account_id')
    expect((await world.ross.get(asked)).data).toMatchObject({ account_id: world.acme.id })
  })

  it('work within their own account, in the master account as elsewhere', async () => {
    for (const account of [world.acme, world.reseller, world.master]) {
      const person = await world.user(account)
      expect(await person.get(account.path)).toSucceed()
      expect(await person.put(`${account.path}/devices`, { name: 'Mine' })).toSucceed(201)
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

  it('do not say who may sign in, and do not take the way in of somebody else', async () => {
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

  it('change their own password, name and address', async () => {
    const one = await world.user(world.acme)
    const username = `${one.username}-new`
    expect(
      await one.patch(one.path, { username, email: 'one@acme.test', password: 'one-secret' }),
    ).toSucceed()
    const login = { credentials: credentialsOf(username, 'one-secret'), account_realm: world.acme.realm }
    expect(await world.anonymous.put('/v2/user_auth', login)).toSucceed(201)
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
    title: `${field} of a device`,
    field,
    keeping,
    make: async (owner) => (await world.device(owner, fields)).path,
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
