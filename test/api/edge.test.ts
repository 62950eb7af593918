import { hash } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { startEdgeServer } from '../support/servers/edge-server.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const accountLimits = {
  per_minute: { registrations: 100, invites: 200, total_packets: 2000 },
  per_second: { registrations: 20, invites: 50, total_packets: 100 },
}
const deviceLimits = {
  per_minute: { registrations: 20, invites: 100, total_packets: 1000 },
  per_second: { registrations: 2, invites: 5, total_packets: 20 },
}
const none = { registrations: -1, invites: -1, total_packets: -1 }
const nothing = { per_minute: none, per_second: none }
const both = (total: number) => ({
  per_minute: { total_packets: total },
  per_second: { total_packets: total },
})

const stranger = {
  access_lists: { realm: { order: 'allow,deny', cidrs: [] } },
  rate_limits: { account: nothing, device: nothing },
  max_age_s: 60,
}

describeEngines('what an edge asks', (engine) => {
  const world = useWorld(engine)

  const ask = (who: Client, query: Record<string, string>): Promise<Answer> => who.get('/v2/edge', { query })

  /** An account with a phone `bob`, and its realm. */
  const place = async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { sip: { username: 'bob' } })
    return { account, device, realm: account.realm }
  }

  it('is answered with the account, the device, their lists and the limits that hold', async () => {
    const { operator } = world
    const { account, device, realm } = await place()
    expect(await ask(operator, { realm: realm.toUpperCase(), username: 'BOB' })).toSucceedWith({
      account_id: account.id,
      device_id: device.id,
      access_lists: {},
      rate_limits: { account: accountLimits, device: deviceLimits },
      max_age_s: 60,
    })
    expect(await ask(operator, { realm, username: 'nobody' })).toSucceedWith({
      account_id: account.id,
      access_lists: {},
      rate_limits: { account: accountLimits, device: deviceLimits },
      max_age_s: 60,
    })
  })

  it('is decided by both lists when an address is given', async () => {
    const { operator } = world
    const { account, device, realm } = await place()
    const ofRealm = { order: 'deny,allow', cidrs: ['10.9.0.0/16'] }
    const ofDevice = { order: 'allow,deny', cidrs: ['10.0.0.0/8'], user_agent: '^Snom' }
    await operator.post(`${account.path}/access_lists`, ofRealm)
    await operator.post(`${device.path}/access_lists`, ofDevice)
    const decide = async (address: string, user_agent = '', username = 'bob') => {
      const { data } = await ask(operator, { realm, username, address, user_agent })
      return [data.allowed, data.reason]
    }
    expect(await decide('10.1.2.3', 'Snom 370')).toEqual([true, 'allowed_by_access_lists'])
    expect(await decide('10.9.2.3', 'Snom 370')).toEqual([false, 'realm_denies_address'])
    expect(await decide('10.1.2.3', 'Yealink')).toEqual([false, 'device_denies_user_agent'])
    expect(await decide('10.1.2.3')).toEqual([false, 'device_denies_user_agent'])
    expect(await decide('192.0.2.1', 'Snom 370')).toEqual([false, 'device_denies_address'])
    expect(await decide('::ffff:10.1.2.3', 'Snom 370')).toEqual([true, 'allowed_by_access_lists'])
    expect(await decide('192.0.2.1', '', 'nobody')).toEqual([true, 'allowed_by_access_lists'])
    const { data } = await ask(operator, { realm, username: 'bob' })
    expect(data.access_lists).toEqual({ realm: ofRealm, device: ofDevice })
    expect(data).not.toHaveProperty('allowed')
  })

  it('gets limits after fall-back: device, account, ancestor, system', async () => {
    const { operator, reseller } = world
    const { account, device, realm } = await place()
    const total = async () => {
      const { rate_limits: limits } = (await ask(operator, { realm, username: 'bob' })).data
      return [limits.account.per_second.total_packets, limits.device.per_second.total_packets]
    }
    expect(await total()).toEqual([100, 20])
    await world.configure('frontier', {
      rate_limits: { device: { per_second: { total_packets: 21 } } },
    })
    expect(await total()).toEqual([100, 21])
    await operator.post(`${reseller.path}/rate_limits`, { account: both(50), device: both(51) })
    expect(await total()).toEqual([50, 21])
    await operator.post(`${account.path}/rate_limits`, { account: both(60), device: both(61) })
    expect(await total()).toEqual([60, 61])
    await operator.post(`${device.path}/rate_limits`, both(71))
    expect(await total()).toEqual([60, 71])
    await operator.delete(`${account.path}/rate_limits`)
    expect(await total()).toEqual([50, 71])
    await operator.delete(`${reseller.path}/rate_limits`)
    expect(await total()).toEqual([100, 71])
  })

  it('is refused for an unknown realm, and for a foreign one in the very same words', async () => {
    const { ross, rex, operator } = world
    const { realm } = await place()
    const bob = { username: 'bob', address: '10.0.0.1' }
    const denied = { ...stranger, allowed: false, reason: 'unknown_realm' }
    expect(await ask(operator, { realm: 'nowhere.example', ...bob })).toSucceedWith(denied)
    expect(await ask(operator, { realm: 'nowhere.example' })).toSucceedWith(stranger)
    const unknown = await ask(rex, { realm: 'nowhere.example', ...bob })
    const foreign = await ask(rex, { realm: 'acme.test', ...bob })
    expect(unknown).toSucceedWith(denied)
    expect(foreign).toSucceedWith(denied)
    expect(foreign.headers.etag).toBe(unknown.headers.etag)
    expect((await ask(ross, { realm, ...bob })).data.allowed).toBe(true)
    expect(await ask(ross, { realm: 'master.localhost', ...bob })).toSucceedWith(denied)
  })

  it('is forbidden for the account itself, so that it cannot find out that it is blocked', async () => {
    const { ada, ross, uli, operator } = world
    const forbidden = { message: 'forbidden', cause: 'only parent accounts of a realm may query it' }
    for (const asker of [ada, uli, await world.keyHolder(world.acme)]) {
      expect(await ask(asker, { realm: 'acme.test' })).toFailWith(403, 'forbidden', forbidden)
      expect(await ask(asker, { realm: 'ACME.test', address: '10.0.0.1' })).toFailWith(
        403,
        'forbidden',
        forbidden,
      )
    }
    expect(await ask(ross, { realm: 'reseller.test' })).toFailWith(403, 'forbidden', forbidden)
    expect((await ask(operator, { realm: 'master.localhost' })).data.account_id).toBe(world.master.id)
  })

  it('says no for what is switched off, the widest first, whether or not an address is given', async () => {
    const { operator } = world
    const account = await world.account(world.reseller)
    const owner = await world.user(account)
    const device = await world.device(account, { sip: { username: 'bob' }, owner_id: owner.id })
    const decide = async (more: Record<string, string> = {}) => {
      const { data } = await ask(operator, { realm: account.realm, username: 'bob', ...more })
      return [data.allowed, data.reason]
    }
    const here = { address: '10.0.0.1' }
    expect(await decide(here)).toEqual([true, 'no_access_list'])
    expect(await decide()).toEqual([undefined, undefined])
    const steps: [string, string][] = [
      [device.path, 'device_disabled'],
      [owner.path, 'user_disabled'],
      [account.path, 'account_disabled'],
    ]
    for (const [path, reason] of steps) {
      await operator.patch(path, { enabled: false })
      expect(await decide(here)).toEqual([false, reason])
      expect(await decide()).toEqual([false, reason])
    }
    expect(await decide({ username: 'nobody' })).toEqual([false, 'account_disabled'])
    for (const [path] of steps) await operator.patch(path, { enabled: true })
    expect(await decide(here)).toEqual([true, 'no_access_list'])
  })

  it('says no below an account that is switched off', async () => {
    const { operator } = world
    const parent = await world.account()
    const account = await world.account(parent)
    await operator.patch(parent.path, { enabled: false })
    const { data } = await ask(operator, { realm: account.realm, address: '10.0.0.1' })
    expect([data.account_id, data.allowed, data.reason]).toEqual([account.id, false, 'account_disabled'])
  })

  it('uses the lists and limits of the records', async () => {
    const { operator } = world
    const { account, device, realm } = await place()
    const access_lists = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
    const rate_limits = { per_second: { invites: 3 } }
    expect(
      await operator.patch(account.path, { access_lists, rate_limits: { account: rate_limits } }),
    ).toSucceed()
    expect(await operator.patch(device.path, { rate_limits })).toSucceed()
    const { data } = await ask(operator, { realm, username: 'bob', address: '192.0.2.1' })
    expect(data).toMatchObject({
      access_lists: { realm: access_lists },
      allowed: false,
      reason: 'realm_denies_address',
    })
    const { account: ofAccount, device: ofDevice } = data.rate_limits
    expect([ofAccount.per_second.invites, ofDevice.per_second.invites]).toEqual([3, 3])
    expect(ofAccount.per_minute).toEqual(accountLimits.per_minute)
    expect(ofDevice.per_minute).toEqual(deviceLimits.per_minute)
  })

  it('is open to the API key of an ancestor', async () => {
    const { realm } = await place()
    const key = await world.keyHolder(world.reseller)
    expect((await ask(key, { realm, address: '10.0.0.1' })).data.allowed).toBe(true)
  })

  it('needs a token, a realm, and an address that is one', async () => {
    const { anonymous, operator } = world
    expect(await ask(anonymous, { realm: 'acme.test' })).toFailWith(401, 'invalid_credentials')
    expect(await ask(operator, {})).toBreak({ realm: ['required'] })
    expect(await ask(operator, { realm: '', address: '10.0.0.300' })).toBreak({
      realm: ['required'],
      address: ['wrong_format'],
    })
    expect(await ask(operator, { realm: 'acme.test\0', username: '\0' })).toSucceedWith(stranger)
  })

  it('may be kept for a minute, and is asked again by its tag', async () => {
    const { operator } = world
    const { device, realm } = await place()
    const query = { realm, username: 'bob' }
    const first = await ask(operator, query)
    expect(first.headers['cache-control']).toBe('private, max-age=60')
    const headers = { 'if-none-match': String(first.headers.etag) }
    const same = await operator.get('/v2/edge', { query, headers })
    expect(same.status).toBe(304)
    expect(same.headers['cache-control']).toBe('private, max-age=60')
    await operator.post(`${device.path}/access_lists`, { order: 'allow,deny', cidrs: [] })
    const changed = await operator.get('/v2/edge', { query, headers })
    expect(changed).toSucceed()
    expect(changed.data.access_lists).toEqual({ device: { order: 'allow,deny', cidrs: [] } })
  })

  it('returns the hash of a device’s password only to the operator and only on request, and never the password', async () => {
    const { operator, ross, ada } = world
    const account = await world.account(world.reseller)
    const sip = { username: 'bob', password: 'correct-horse', expire_seconds: 360 }
    const device = await world.device(account, { sip })
    const { realm } = account
    const plain = { realm, username: 'bob' }
    const asked = { ...plain, credentials: 'true' }
    const without = await ask(operator, plain)
    const told = await ask(operator, asked)
    const ha1 = hash('md5', `bob:${realm}:correct-horse`, 'hex')
    expect(told).toSucceedWith({ ...without.data, ha1, expires_s: 360 })
    expect(told.headers).toMatchObject({
      'cache-control': 'private, max-age=60',
      vary: expect.stringContaining('X-Auth-Token, Authorization'),
    })
    expect(told.headers.etag).not.toBe(without.headers.etag)
    expect(without.data).not.toHaveProperty('ha1')
    expect(without.data).not.toHaveProperty('expires_s')
    expect(told.text).not.toContain('correct-horse')
    for (const other of [ross, ada, await world.keyHolder(world.reseller)]) {
      const headers = { 'if-none-match': String(told.headers.etag) }
      expect(await other.get('/v2/edge', { query: asked, headers })).toFailWith(403, 'forbidden', {
        message: 'forbidden',
        cause: 'only the keys of operators may read credentials',
      })
    }
    const key = await world.keyHolder(world.master)
    expect((await ask(key, asked)).data.ha1).toBe(ha1)
    const typed = { realm: realm.toUpperCase(), username: 'BOB', credentials: 'true' }
    const asTyped = hash('md5', `BOB:${realm.toUpperCase()}:correct-horse`, 'hex')
    expect((await ask(operator, typed)).data.ha1).toBe(asTyped)
    await operator.patch(device.path, { sip: { password: 'another-horse' } })
    const changed = await ask(operator, asked)
    expect(changed.data.ha1).toBe(hash('md5', `bob:${realm}:another-horse`, 'hex'))
  })

  it('has no credentials for devices that are known by their address, that have no password or that do not exist', async () => {
    const { operator } = world
    const account = await world.account(world.reseller)
    await world.device(account, {
      sip: { username: 'desk', password: 'secret', method: 'ip', ip: '192.0.2.7' },
    })
    await world.device(account, { sip: { username: 'bare' } })
    for (const username of ['desk', 'bare', 'nobody']) {
      const { data } = await ask(operator, { realm: account.realm, username, credentials: 'true' })
      expect(data.account_id).toBe(account.id)
      expect(data).not.toHaveProperty('ha1')
    }
    expect(await ask(operator, { realm: 'nowhere.example', credentials: 'true' })).toSucceedWith(stranger)
  })

  it('follows the account to another realm, and the device to another name', async () => {
    const { operator } = world
    const { account, device, realm } = await place()
    const found = async (where: string, username: string) => {
      const { account_id, device_id } = (await ask(operator, { realm: where, username })).data
      return [account_id, device_id]
    }
    expect(await found(realm, 'bob')).toEqual([account.id, device.id])
    expect(await operator.patch(account.path, { realm: `new-${realm}` })).toSucceed()
    expect(await found(realm, 'bob')).toEqual([undefined, undefined])
    expect(await found(`new-${realm}`, 'bob')).toEqual([account.id, device.id])
    expect(await operator.patch(device.path, { sip: { username: 'alice' } })).toSucceed()
    expect(await found(`new-${realm}`, 'bob')).toEqual([account.id, undefined])
    expect(await found(`new-${realm}`, 'alice')).toEqual([account.id, device.id])
    const heir = await world.account(undefined, { realm })
    const bob = await world.device(heir, { sip: { username: 'bob' } })
    expect(await found(realm, 'bob')).toEqual([heir.id, bob.id])
    expect(await operator.delete(bob.path)).toSucceed()
    expect(await found(realm, 'bob')).toEqual([heir.id, undefined])
    expect(await operator.delete(heir.path)).toSucceed()
    expect(await found(realm, 'bob')).toEqual([undefined, undefined])
  })

  it('finds a device with a separate realm, until an account has that realm', async () => {
    const { operator, ross, rex } = world
    const { account, realm } = await place()
    const own = `own-${realm}`
    const device = await world.device(account, { sip: { username: 'trunk', realm: own } })
    const query = { realm: own, username: 'TRUNK' }
    for (const above of [operator, ross]) {
      const { data } = await ask(above, query)
      expect([data.account_id, data.device_id]).toEqual([account.id, device.id])
    }
    expect(await ask(rex, query)).toSucceedWith(stranger)
    expect((await ask(operator, { realm, username: 'trunk' })).data).not.toHaveProperty('device_id')
    const owner = await world.account(undefined, { realm: own })
    const { data } = await ask(operator, query)
    expect(data.account_id).toBe(owner.id)
    expect(data).not.toHaveProperty('device_id')
  })

  it('costs no throttling tokens, unless a price is set for it', async () => {
    const { operator } = world
    const asks = async (token_costs: unknown) => {
      await world.configure('crossbar', { token_costs })
      const { body } = await ask(operator, { realm: 'acme.test' })
      return body.tokens?.consumed
    }
    expect(await asks(1)).toBe(0)
    expect(await asks({})).toBe(0)
    expect(await asks({ edge: 3 })).toBe(3)
    expect(await asks(0)).toBe(0)
  })

  it('becomes stale with changes, of which the edge is notified by realm', async () => {
    const edge = await startEdgeServer()
    onTestFinished(() => edge.close())
    const realms = () => edge.told('htable.seti').map(([, realm]) => realm)
    const notified = (realm: string) => eventually(realms, (all) => all.includes(realm))
    const { account, device, realm } = await place()
    // Changes of earlier tests happen before the edge is known: some of them concern every realm.
    await world.server.feed.settled()
    await world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls: [edge.url], timeout_ms: 1000 },
    })
    const following = world.server.scheduler.runNow('edge_generations')
    await notified('*')
    edge.calls.length = 0

    await world.operator.patch(device.path, { sip: { username: 'bob', realm: 'own.edge.test' } })
    await world.operator.patch(account.path, { realm: `new.${realm}` })
    for (const one of [realm, `new.${realm}`, 'own.edge.test']) await notified(one)
    expect(realms()).not.toContain('*')

    await world.configure('switch', { adapter: 'none' })
    await following
  })
})
