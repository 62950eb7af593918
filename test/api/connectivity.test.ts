import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { createTrunks } from '../../src/areas/voice/connectivity/operations.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const md5 = (text: string) => createHash('md5').update(text).digest('hex')
const unique = (message: string, cause: string) => ({ unique: { message, cause } })

const author = { requestId: 'test' }

let made = 0

describeEngines('trunks', (engine) => {
  const world = useWorld(engine)

  const pathOfNumber = (account: TestAccount, number: string) =>
    `${account.path}/phone_numbers/${encodeURIComponent(number)}`

  /** A number that the account has in service. */
  const numberOf = async (account: TestAccount) => {
    made += 1
    const number = `+1415555${String(made).padStart(4, '0')}`
    const answer = await world.operator.put(pathOfNumber(account, number), {})
    expect(answer.status, answer.text).toBe(201)
    return number
  }

  const useOf = async (account: TestAccount, number: string) => {
    const { _read_only: shown, used_by } = (await world.operator.get(pathOfNumber(account, number))).data
    return used_by ?? shown?.used_by
  }

  const server = (fields: Json = {}, auth: Json = {}) => ({
    auth: { auth_user: `pbx${++made}`, auth_password: 'trunk-secret', ...auth },
    ...fields,
  })

  const byAddress = (ip: string, fields: Json = {}) => ({ auth: { auth_method: 'IP', ip }, ...fields })

  const make = async (
    account: TestAccount,
    servers: readonly Json[],
    more: Json = {},
    by: Client = world.operator,
  ) => {
    const answer = await by.put(`${account.path}/connectivity`, { servers, ...more })
    expect(answer.status, answer.text).toBe(201)
    return { id: String(answer.data.id), path: `${account.path}/connectivity/${answer.data.id}` }
  }

  const trunkFor = (number: string) => world.server.areas.connectivity.trunkFor(number)

  const edge = async (query: Record<string, string>) => {
    const answer = await world.operator.get('/v2/edge', { query })
    expect(answer.status, answer.text).toBe(200)
    const { access_lists: _lists, rate_limits: _limits, max_age_s: _age, ...rest } = answer.data
    return rest
  }

  /** Trunks without the validation of requests. */
  const equipped = () => {
    const { store, areas } = world.server
    return createTrunks({
      store,
      numbers: areas.phoneNumbers.numbers,
      accounts: areas.accounts,
      destinations: areas.resources.destinations,
      sip: areas.devices.claims,
    })
  }

  it('are created with the defaults of the schema, and their list has their ids', async () => {
    const account = await world.account(world.reseller)
    const ada = await world.admin(account)
    const number = await numberOf(account)
    const data = {
      name: 'Head office',
      account: { auth_realm: account.realm.toUpperCase(), trunks: 4 },
      servers: [
        {
          server_name: 'PBX',
          auth: { auth_user: 'pbx', auth_password: 'trunk-secret' },
          DIDs: { [number.slice(2)]: { failover: { e164: '+14155559999' } } },
          options: { media_handling: 'bypass' },
          server_type: 'asterisk',
        },
      ],
    }
    const answer = await ada.put(`${account.path}/connectivity`, data)
    const { id } = answer.data
    const record = {
      id,
      name: 'Head office',
      account: { trunks: 4 },
      servers: [
        {
          server_name: 'PBX',
          auth: { auth_method: 'Password', auth_user: 'pbx', auth_password: 'trunk-secret' },
          DIDs: { [number]: { failover: { e164: '+14155559999' } } },
          options: { enabled: true, inbound_format: 'npan', delay: 0, media_handling: 'bypass' },
          server_type: 'asterisk',
        },
      ],
    }
    const path = `${account.path}/connectivity/${id}`
    expect(answer).toSucceedWith(record)
    expect(answer.headers.location).toBe(path)
    expect(await ada.get(path)).toSucceedWith(record)
    const { id: empty } = await make(account, [], { name: 'z' })
    expect(await ada.get(`${account.path}/connectivity`, { query: { ascending: true } })).toSucceedWith([
      id,
      empty,
    ])
    expect(await ada.patch(path, { name: null, account: null })).toSucceedWith({
      id,
      servers: record.servers,
    })
    expect(await ada.post(path, { name: 'Anew' })).toSucceedWith({ id, name: 'Anew', servers: [] })
    expect(await ada.delete(path)).toSucceedWith({ id, name: 'Anew', servers: [] })
    expect(await ada.get(path)).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: id })
  })

  it('are for admins of the account and those above', async () => {
    const { uli, rex, ross, acme } = world
    const { path } = await make(acme, [], {}, ross)
    const refused = await world.unchanged(async () => [
      await uli.get(`${acme.path}/connectivity`),
      await uli.patch(path, { name: 'Mine' }),
      await rex.get(path),
      await rex.put(`${acme.path}/connectivity`, {}),
      await rex.delete(path),
    ])
    for (const answer of refused) expect(answer).toFailWith(403, 'forbidden')
    expect((await ross.delete(path)).status).toBe(200)
  })

  it('say of numbers that they lead to them, and no longer when they let go of them', async () => {
    const account = await world.account()
    const [one, two, three] = [await numberOf(account), await numberOf(account), await numberOf(account)]
    const pbx = server({ DIDs: { [one]: {}, [two]: {} } })
    const { path } = await make(account, [pbx])
    const uses = async () => [
      await useOf(account, one),
      await useOf(account, two),
      await useOf(account, three),
    ]
    expect(await uses()).toEqual(['trunkstore', 'trunkstore', undefined])
    await world.operator.patch(path, { servers: [{ ...pbx, DIDs: { [two]: {}, [three]: {} } }] })
    expect(await uses()).toEqual([undefined, 'trunkstore', 'trunkstore'])
    await world.operator.delete(path)
    expect(await uses()).toEqual([undefined, undefined, undefined])
  })

  it('have no numbers of others, and none that lead elsewhere', async () => {
    const { acme, rival, operator, server: running } = world
    const [foreign, flow, listed] = [await numberOf(rival), await numberOf(acme), await numberOf(acme)]
    const { numbers } = running.areas.phoneNumbers
    await numbers.commit(
      await numbers.plan.use(numbers.view(), {
        author,
        accountId: acme.id,
        number: flow,
        usedBy: 'callflow',
      }),
    )
    const phone = await world.device(acme, { device_type: 'mobile', mobile: { mdn: '+14155550771' } })
    const { path } = await make(acme, [server({ DIDs: { [listed]: {} } })])
    const attempt = (DIDs: Json) => operator.put(`${acme.path}/connectivity`, { servers: [server({ DIDs })] })
    const at = (number: string) => `servers.0.DIDs.${number}`
    const [unauthorized, unknown, ...others] = await world.unchanged(async () => [
      await attempt({ [foreign]: {} }),
      await attempt({ '+14155559998': {} }),
      await attempt({ [flow]: {}, '+14155550771': {}, [listed]: {} }),
    ])
    expect(unauthorized).toFailWith(403, 'forbidden', {
      message: `unauthorized to use ${foreign}`,
      cause: foreign,
    })
    expect(unknown).toFailWith(403, 'forbidden', {
      message: 'unauthorized to use +14155559998',
      cause: '+14155559998',
    })
    expect(others[0]?.data).toEqual({
      [at(flow)]: unique('The phone number is used by callflow', flow),
      [at('+14155550771')]: unique('The phone number is used by mobile', '+14155550771'),
      [at(listed)]: unique('The phone number is assigned to another trunk. Remove it there first', listed),
    })
    await operator.delete(path)
    await operator.delete(phone.path)
  })

  it('cannot take a number that was moved elsewhere after their validation', async () => {
    const trunks = equipped()
    const { acme, rival, server: running } = world
    const { numbers } = running.areas.phoneNumbers
    const [flow, gone] = [await numberOf(acme), await numberOf(rival)]
    const account = await running.areas.accounts.get(acme.id)
    const usedBy = 'callflow'
    await numbers.commit(
      await numbers.plan.use(numbers.view(), { author, accountId: acme.id, number: flow, usedBy }),
    )
    await world.unchanged(async () => {
      await expect(
        trunks.create({ author, account }, { servers: [server({ DIDs: { [flow]: {} } })] }),
      ).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
      await expect(
        trunks.create({ author, account }, { servers: [server({ DIDs: { [gone]: {} } })] }),
      ).rejects.toMatchObject({ kind: { name: 'forbidden' } })
    })
  })

  it('lose a number that has gone, in the same write', async () => {
    const account = await world.account(world.reseller)
    const heir = await world.account(world.reseller)
    const [number, kept] = [await numberOf(account), await numberOf(account)]
    const { path } = await make(account, [server({ DIDs: { [number]: {}, [kept]: {} } })])
    await world.operator.delete(pathOfNumber(account, number))
    expect((await world.operator.get(path)).data.servers[0].DIDs).toEqual({ [kept]: {} })
    await world.operator.put(pathOfNumber(heir, number), {})
    expect(await trunkFor(number)).toBeUndefined()
    const { id } = await make(heir, [server({ DIDs: { [number]: {} } })])
    expect(await trunkFor(number)).toMatchObject({ trunk_id: id, account_id: heir.id })
    expect(await world.operator.delete(path)).toMatchObject({ status: 200 })
    expect(await useOf(heir, number)).toBe('trunkstore')
    expect(await useOf(account, kept)).toBeUndefined()
  })

  it('follow a number that is written otherwise', async () => {
    const account = await world.account(world.reseller)
    const reconcile_regex = '^\\+?\\d{5,15}$'
    await world.configure('number_manager', { e164_converters: {}, reconcile_regex })
    await world.operator.put(pathOfNumber(account, '0301234568'), {})
    const failover = { e164: '+14155559999' }
    const { id, path } = await make(account, [server({ DIDs: { '0301234568': { failover } } })])
    await world.configure('number_manager', { e164_converters: { '^0(\\d{4,})$': { prefix: '+49' } } })
    await world.ross.post(`${account.path}/migrations/normalise_numbers`, { perform_migration: 'now' })
    const written = '+49301234568'
    expect((await world.operator.get(path)).data.servers[0].DIDs).toEqual({ [written]: { failover } })
    expect(await useOf(account, written)).toBe('trunkstore')
    expect(await trunkFor(written)).toMatchObject({ trunk_id: id, failover: { number: '+14155559999' } })
    await world.configure('number_manager', { e164_converters: undefined, reconcile_regex: undefined })
  })

  it('get a number only once when requests compete for it', async () => {
    const account = await world.account()
    const number = await numberOf(account)
    const attempts = await Promise.all(
      Array.from({ length: 6 }, () =>
        world.operator.put(`${account.path}/connectivity`, { servers: [server({ DIDs: { [number]: {} } })] }),
      ),
    )
    expect(attempts.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400, 400, 400])
    expect((await world.operator.get(`${account.path}/connectivity`)).data).toHaveLength(1)
    expect(await useOf(account, number)).toBe('trunkstore')
  })

  it('share user names and addresses with no device and no other trunk, even when requests compete', async () => {
    const { operator } = world
    const [one, other] = [await world.account(world.reseller), await world.account(world.reseller)]
    const ip = '203.0.113.40'
    await world.device(one, { sip: { username: 'front' } })
    await world.device(one, { sip: { username: 'own', realm: 'pbx.example' } })
    await world.device(other, { sip: { method: 'ip', ip: '203.0.113.41' } })
    await make(one, [server({}, { auth_user: 'Trunk' }), byAddress(ip)])
    await make(one, [server({}, { auth_user: 'far' })], { account: { auth_realm: 'pbx.example' } })
    const attempt = async (account: TestAccount, servers: readonly Json[], more: Json = {}) => {
      const [answer] = await world.unchanged(async () => [
        await operator.put(`${account.path}/connectivity`, { servers, ...more }),
      ])
      return answer?.data
    }
    const message = 'SIP credentials already in use'
    const user = 'servers.0.auth.auth_user'
    const far = { account: { auth_realm: 'PBX.example' } }
    expect(await attempt(one, [server({}, { auth_user: 'FRONT' })])).toEqual({
      [user]: unique(message, 'FRONT'),
    })
    expect(await attempt(one, [server({}, { auth_user: 'trunk' })])).toEqual({
      [user]: unique(message, 'trunk'),
    })
    expect(await attempt(other, [server({}, { auth_user: 'own' })], far)).toEqual({
      [user]: unique(message, 'own'),
    })
    expect(await attempt(other, [server({}, { auth_user: 'FAR' })], far)).toEqual({
      [user]: unique(message, 'FAR'),
    })
    const address = 'SIP IP already in use'
    expect(await attempt(other, [byAddress(ip)])).toEqual({ 'servers.0.auth.ip': unique(address, ip) })
    expect(await attempt(one, [byAddress('203.0.113.41')])).toEqual({
      'servers.0.auth.ip': unique(address, '203.0.113.41'),
    })
    expect(await attempt(other, [server()], { account: { auth_realm: one.realm } })).toEqual({
      'account.auth_realm': unique(
        'The host name, a parent domain or a subdomain belongs to another account',
        one.realm,
      ),
    })
    const devices = await world.unchanged(async () => [
      await operator.put(`${one.path}/devices`, { name: 'x', sip: { username: 'trunk' } }),
      await operator.put(`${other.path}/devices`, { name: 'x', sip: { method: 'ip', ip } }),
    ])
    expect(devices[0]).toBreak({ 'sip.username': ['unique'] })
    expect(devices[1]).toBreak({ 'sip.ip': ['unique'] })
    await make(other, [server({}, { auth_user: 'trunk' })])
    const racers = await Promise.all(
      [one, other, one, other].map((account) =>
        operator.put(`${account.path}/connectivity`, { servers: [byAddress('203.0.113.42')] }),
      ),
    )
    expect(racers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400])
  })

  it('are refused with everything that is wrong with them, and nothing changes', async () => {
    const { operator, ada, acme } = world
    const path = `${acme.path}/connectivity`
    const number = await numberOf(acme)
    const carrier = await operator.put('/v2/resources', {
      name: 'Carrier',
      gateways: [{ server: '198.51.100.7' }],
      rules: ['.'],
    })
    const wrong: [Json, Record<string, string[]>][] = [
      [{ servers: [{}] }, { 'servers.0.auth': ['required'] }],
      [{ servers: [{ auth: { auth_method: 'Trust' } }] }, { 'servers.0.auth.auth_method': ['enum'] }],
      [{ servers: [{ auth: {} }] }, { 'servers.0.auth.auth_user': ['required'] }],
      [{ servers: [{ auth: { auth_method: 'IP' } }] }, { 'servers.0.auth.ip': ['required'] }],
      [{ servers: [byAddress('pbx.test')] }, { 'servers.0.auth.ip': ['wrong_format'] }],
      [{ servers: [byAddress('198.51.100.7')] }, { 'servers.0.auth.ip': ['forbidden'] }],
      [{ servers: [server({ options: { ip: 'a b' } })] }, { 'servers.0.options.ip': ['wrong_format'] }],
      [
        { servers: [byAddress('203.0.113.60', { options: { inbound_format: 'username' } })] },
        { 'servers.0.auth.auth_user': ['required'] },
      ],
      [
        { servers: [server({ options: { failover: { sip: 'mailto:x' }, sip_headers: [{ Via: 'x' }] } })] },
        {
          'servers.0.options.failover.sip': ['wrong_format'],
          'servers.0.options.sip_headers.0.Via': ['forbidden'],
        },
      ],
      [
        {
          servers: [
            server({ DIDs: { [number]: {} } }, { auth_user: 'twin' }),
            server({ DIDs: { [number.slice(2)]: {} } }, { auth_user: 'TWIN' }),
            byAddress('2001:db8::9'),
            byAddress('2001:DB8:0::9'),
          ],
        },
        {
          'servers.1.auth.auth_user': ['unique'],
          [`servers.1.DIDs.${number.slice(2)}`]: ['unique'],
          'servers.3.auth.ip': ['unique'],
        },
      ],
    ]
    for (const [data, rules] of wrong) {
      const [answer] = await world.unchanged(async () => [await operator.put(path, data)])
      expect(answer).toBreak(rules)
    }
    const [inside] = await world.unchanged(async () => [
      await ada.put(path, {
        servers: [
          byAddress('127.0.0.1', {
            options: { ip: '10.0.0.1', failover: { sip: 'sip:x@[::1]:5080' } },
            DIDs: { [number]: { failover: { sip: 'sips:10.0.0.2' } } },
          }),
        ],
      }),
    ])
    expect(inside).toBreak({
      'servers.0.auth.ip': ['forbidden'],
      'servers.0.options.ip': ['forbidden'],
      'servers.0.options.failover.sip': ['forbidden'],
      [`servers.0.DIDs.${number}.failover.sip`]: ['forbidden'],
    })
    await operator.delete(`/v2/resources/${carrier.data.id}`)
  })

  it('are known to edges by the user name of a server in its realm, with the hash for digest authentication', async () => {
    const account = await world.account(world.reseller)
    const { id, path } = await make(account, [
      byAddress('203.0.113.90'),
      server({ server_name: 'Two' }, { auth_user: 'Two' }),
    ])
    const far = await make(account, [server({}, { auth_user: 'far' })], {
      account: { auth_realm: 'far.example' },
    })
    const asked = { realm: account.realm, username: 'two' }
    const known = { account_id: account.id, trunk_id: id, server: 'Two' }
    expect(await edge(asked)).toEqual(known)
    const ha1 = md5(`two:${account.realm}:trunk-secret`)
    const told = await world.operator.get('/v2/edge', { query: { ...asked, credentials: 'true' } })
    expect(told.data).toMatchObject({ ...known, ha1 })
    expect(told.text).not.toContain('trunk-secret')
    expect(await edge({ realm: 'far.example', username: 'FAR' })).toEqual({
      account_id: account.id,
      trunk_id: far.id,
      server: '0',
    })
    expect(await edge({ realm: account.realm, username: 'far' })).toEqual({ account_id: account.id })
    expect(await edge({ realm: account.realm, username: 'nobody' })).toEqual({ account_id: account.id })
    const address = '192.0.2.200'
    const { servers } = (await world.operator.get(path)).data
    await world.operator.patch(path, {
      servers: [servers[0], { ...servers[1], options: { enabled: false } }],
    })
    expect(await edge({ ...asked, address })).toEqual({ ...known, allowed: false, reason: 'trunk_disabled' })
    await world.operator.delete(path)
    expect(await edge(asked)).toEqual({ account_id: account.id })
  })

  it('are known to edges by their address, as devices are, unless a realm or a carrier takes precedence', async () => {
    const { operator, rival } = world
    const account = await world.account(world.reseller)
    const [address, ofPhone] = ['203.0.113.91', '203.0.113.92']
    const { id } = await make(account, [byAddress(address, { server_name: 'PBX' })])
    const phone = await world.device(account, { sip: { method: 'ip', ip: ofPhone } })
    const list = { allowed: true, reason: 'no_access_list' }
    const known = { account_id: account.id, trunk_id: id, server: 'PBX', method: 'ip', ...list }
    expect(await edge({ realm: 'edge.example', username: '4155550100', address })).toEqual(known)
    expect(await edge({ realm: account.realm, address, credentials: 'true' })).toEqual(known)
    expect(await edge({ realm: 'edge.example', address: ofPhone })).toEqual({
      account_id: account.id,
      device_id: phone.id,
      method: 'ip',
      ...list,
    })
    expect(await edge({ realm: rival.realm, address })).toEqual({ account_id: rival.id, ...list })
    expect(await edge({ realm: 'edge.example', address: '203.0.113.93' })).toEqual({
      allowed: false,
      reason: 'unknown_realm',
    })
    const carrier = await operator.put('/v2/resources', {
      name: 'Carrier',
      gateways: [{ server: address, force_port: true }],
      inbound_ips: [ofPhone],
      rules: ['.'],
    })
    for (const taken of [address, ofPhone])
      expect(await edge({ realm: 'edge.example', address: taken })).toEqual({
        allowed: false,
        reason: 'unknown_realm',
      })
    await operator.delete(`/v2/resources/${carrier.data.id}`)
    expect(await edge({ realm: 'edge.example', address })).toEqual(known)
  })

  it('receive calls to their numbers at their address or at their registration', async () => {
    const account = await world.account(world.reseller)
    const [one, two, three] = [await numberOf(account), await numberOf(account), await numberOf(account)]
    const { id, path } = await make(account, [
      {
        ...byAddress('2001:db8::7', {
          server_name: 'A',
          DIDs: { [one]: { failover: { e164: '4155559999' } } },
          options: {
            inbound_format: 'e164',
            port: 5080,
            delay: 2,
            timeout: 20,
            progress_timeout: 6,
            failover: { sip: 'sip:x@pbx.test' },
            sip_headers: [{ 'X-One': '1' }, { 'X-Two': '2' }],
          },
        }),
      },
      server({ DIDs: { [two]: {} } }, { auth_user: 'registered' }),
      server(
        {
          DIDs: { [three]: {} },
          options: { ip: 'pbx.test', inbound_format: 'username', failover: { sip: 'sip:x@pbx.test' } },
        },
        { auth_user: 'fixed' },
      ),
    ])
    const common = { type: 'trunk', trunk_id: id, account_id: account.id }
    expect(await trunkFor(one.slice(1))).toEqual({
      ...common,
      server: 'A',
      number: one,
      uri: 'sip:[2001:db8::7]:5080',
      delay_s: 2,
      timeout_s: 20,
      progress_timeout_s: 6,
      headers: { 'X-One': '1', 'X-Two': '2' },
      failover: { number: '+14155559999' },
    })
    expect(await trunkFor(two)).toEqual({
      ...common,
      server: '1',
      number: two.slice(2),
      username: 'registered',
      realm: account.realm,
      delay_s: 0,
    })
    expect(await trunkFor(three)).toEqual({
      ...common,
      server: '2',
      isRenamed: true,
      number: 'fixed',
      uri: 'sip:pbx.test',
      delay_s: 0,
      failover: { uri: 'sip:pbx.test', user: 'x' },
    })
    expect(await trunkFor('+14155559997')).toBeUndefined()
    await world.operator.patch(path, {
      servers: [server({ DIDs: { [one]: {} }, options: { enabled: false } })],
    })
    expect(await trunkFor(one)).toBe('disabled')
    expect(await trunkFor(two)).toBeUndefined()
  })

  it('are gone with their account, and their names are free', async () => {
    const account = await world.account(world.reseller)
    await make(account, [byAddress('203.0.113.95')])
    expect(await world.operator.delete(account.path)).toMatchObject({ status: 200 })
    await make(await world.account(world.reseller), [byAddress('203.0.113.95')])
  })

  it('leave no password in rows, audit, events and refusals', async () => {
    const { ada, acme, server: running } = world
    const { id, path } = await make(acme, [server({}, { auth_password: 'never-written' })], {}, ada)
    await ada.patch(path, { servers: [server({}, { auth_password: 'nor-this-one' })] })
    const refused = await ada.patch(path, { servers: [{ auth: { auth_password: 'nor-that-one' } }] })
    expect(refused).toBreak({ 'servers.0.auth.auth_user': ['required'] })
    const rows = await running.store.all('SELECT * FROM records WHERE id = $1', [id])
    const audit = await running.store.all('SELECT * FROM audit_log WHERE record_id = $1', [id])
    const events = await ada.get(`${acme.path}/events`, { query: { record_id: id } })
    const shown = await ada.get(`${path}/audit`)
    expect([rows.length, audit.length, events.data.length]).toEqual([1, 2, 2])
    expect((await ada.get(path)).data.servers[0].auth.auth_password).toBe('nor-this-one')
    for (const told of [rows, audit, events.body, shown.body, refused.body, world.logEntries])
      expect(JSON.stringify(told)).not.toMatch(/never-written|nor-this-one|nor-that-one/)
  })
})
