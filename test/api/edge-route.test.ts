import { expect, it } from 'vitest'
import { accountsArea } from '../../src/areas/accounts/accounts/area.ts'
import { area } from '../../src/areas/area.ts'
import { limitsArea } from '../../src/areas/billing/limits/area.ts'
import { phoneNumbersArea } from '../../src/areas/numbers/phone-numbers/area.ts'
import { callflowsArea } from '../../src/areas/voice/callflows/area.ts'
import { devicesArea } from '../../src/areas/voice/devices/area.ts'
import { groupsArea } from '../../src/areas/voice/groups/area.ts'
import { resourcesArea } from '../../src/areas/voice/resources/area.ts'
import type { Resources } from '../../src/areas/voice/resources/operations.ts'
import { routingArea } from '../../src/areas/voice/routing/area.ts'
import { createRouting, type Routing } from '../../src/areas/voice/routing/operations.ts'
import type { Actor } from '../../src/auth/identity.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { createNumberSource, makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const out = { module: 'resources', data: {}, children: {} }

/** Routing of a server whose accounts have a carrier, and the requests to that carrier. */
const createCarried = () => {
  const carried: { asked: unknown[]; routing?: Routing } = { asked: [] }
  const carriers: Pick<Resources, 'targetsFor'> = {
    async targetsFor({ id }, number) {
      carried.asked.push([id, number])
      const uri = 'sip:carrier.test'
      const target = { resource_id: 'one', uri, number: number.number, progress_timeout_s: 6 }
      return [{ ...target, type: 'gateway', failover_codes: [503], global: true }]
    },
  }
  const defined = area({
    name: 'carried',
    needs: {
      accounts: accountsArea,
      devices: devicesArea,
      callflows: callflowsArea,
      groups: groupsArea,
      phoneNumbers: phoneNumbersArea,
      limits: limitsArea,
      routing: routingArea,
      resources: resourcesArea,
    },
    create(
      { store: { records }, settings },
      { phoneNumbers, limits, routing: { running }, resources, ...needs },
    ) {
      const { destinations } = resources
      const { numbers } = phoneNumbers
      const trunks = { trunkFor: async () => undefined }
      const tools = {
        ...needs,
        ...limits,
        records,
        settings,
        numbers,
        running,
        carriers,
        destinations,
        trunks,
      }
      carried.routing = createRouting(tools)
      return {}
    },
  })
  return { carried, defined }
}

describeAnyEngine('where an edge sends a call', (engine) => {
  const { carried, defined } = createCarried()
  const world = useWorld(engine, undefined, undefined, { more: [defined] })
  const nextNumber = createNumberSource('+1415552')

  const ask = (who: Client, query: Record<string, string>): Promise<Answer> =>
    who.get('/v2/edge/route', { query })

  const callflow = async (account: TestAccount, fields: Json) => {
    const answer = await world.operator.put(`${account.path}/callflows`, fields)
    expect(answer, answer.text).toSucceed()
    return answer.data as Json & { id: string }
  }

  const callsUser = (id: string, next?: Json) => ({
    module: 'user',
    data: { id },
    children: next ? { _: next } : {},
  })

  /** An account in which extension 100 and a number ring Ann, at her two phones. */
  const office = async () => {
    const account = await world.account(world.reseller)
    const ann = await world.user(account, { first_name: 'Ann', last_name: 'Office' })
    const desk = await world.device(account, { name: 'a', owner_id: ann.id, sip: { username: 'desk' } })
    const soft = await world.device(account, { name: 'b', owner_id: ann.id, sip: { username: 'soft' } })
    const number = nextNumber()
    await makeNumber(world, account, number)
    const flow = callsUser(ann.id)
    const { id } = await callflow(account, { numbers: ['100', number], flow })
    const target = (device: Json, username: string) => ({
      type: 'device',
      device_id: device.id,
      username,
      realm: account.realm,
      owner_id: ann.id,
      delay_s: 0,
      timeout_s: 20,
    })
    const targets = [target(desk, 'desk'), target(soft, 'soft')]
    return { account, realm: account.realm, ann, desk, soft, number, callflowId: id, targets }
  }

  const refusal = (reason: string, sip_code: number, sip_reason: string, more: Json = {}) => ({
    decision: 'refuse',
    targets: [],
    caller_id: {},
    limits: {},
    variables: {},
    left_out: [],
    reason,
    sip_code,
    sip_reason,
    ...more,
  })

  it('is to the phones of the called user, by extension and by number', async () => {
    const { operator } = world
    const { account, realm, ann, number, callflowId, targets } = await office()
    const phone = await world.device(account, { name: 'Hall', sip: { username: 'hall' } })
    const call = { realm: realm.toUpperCase(), from_device: phone.id, caller: '101' }
    const inside = {
      decision: 'ring',
      account_id: account.id,
      number: '100',
      targets,
      caller_id: { name: 'Hall', number: '101' },
      limits: {},
      variables: { authorizing_id: phone.id, authorizing_type: 'device', callflow_id: callflowId },
      left_out: [],
    }
    expect(await ask(operator, { ...call, number: '100' })).toSucceedWith(inside)
    expect(await ask(operator, { ...call, number: number.slice(2) })).toSucceedWith({ ...inside, number })
    expect(await ask(operator, { number, caller: '+33100000000' })).toSucceedWith({
      ...inside,
      number,
      caller_id: { number: '+33100000000' },
      variables: { authorizing_type: 'resource', callflow_id: callflowId },
    })
    expect(await ask(operator, { realm, number: '300' })).toSucceedWith(
      refusal('unknown_number', 404, 'Not Found', { account_id: account.id, number: '300' }),
    )
    await world.operator.patch(ann.path, { do_not_disturb: { enabled: true } })
    expect(await ask(operator, { realm, number: '100' })).toSucceedWith(
      refusal('do_not_disturb', 480, 'Temporarily Unavailable', {
        account_id: account.id,
        number: '100',
        variables: { callflow_id: callflowId },
        left_out: [{ type: 'user', id: ann.id, reason: 'do_not_disturb' }],
      }),
    )
  })

  it('follows each change of what it depends on', async () => {
    const { operator } = world
    const { account, realm, ann, desk, soft, callflowId } = await office()
    const rung = async () =>
      (await ask(operator, { realm, number: '100' })).data.targets.map(
        ({ device_id }: { device_id: string }) => device_id,
      )
    expect(await rung()).toEqual([desk.id, soft.id])
    await operator.patch(soft.path, { enabled: false })
    expect(await rung()).toEqual([desk.id])
    const guest = await world.device(account, { sip: { username: 'guest' } })
    await operator.patch(guest.path, { hotdesk: { users: { [ann.id]: {} } } })
    expect(await rung()).toEqual([desk.id, guest.id])
    const bob = await world.user(account)
    await operator.patch(desk.path, { hotdesk: { users: { [bob.id]: {} } } })
    expect(await rung()).toEqual([guest.id])
    await operator.patch(guest.path, { hotdesk: null })
    expect(await rung()).toEqual([])
    const group = (
      await operator.put(`${account.path}/groups`, {
        name: 'All',
        endpoints: { [bob.id]: { type: 'user' }, [soft.id]: { type: 'device' } },
      })
    ).data
    const endpoints = [{ endpoint_type: 'group', id: group.id }]
    const path = `${account.path}/callflows/${callflowId}`
    await operator.patch(path, { flow: { module: 'ring_group', data: { endpoints } } })
    expect(await rung()).toEqual([desk.id])
    await operator.patch(soft.path, { enabled: true })
    expect(await rung()).toEqual([desk.id, soft.id])
    await operator.patch(path, { numbers: ['101'], patterns: ['^1(\\d+)$'] })
    expect(await rung()).toEqual([desk.id, soft.id])
    await operator.patch(path, { patterns: [] })
    expect(await rung()).toEqual([])
    await operator.patch(path, { numbers: ['no_match'] })
    expect(await rung()).toEqual([desk.id, soft.id])
    await operator.delete(path)
    expect(await rung()).toEqual([])
  })

  it('says what needs a media server, and how a flow ends', async () => {
    const { operator } = world
    const { account, realm, ann, targets } = await office()
    await callflow(account, { numbers: ['200'], flow: { module: 'menu', data: { id: 'x' } } })
    const voicemail = { module: 'voicemail', data: {}, children: {} }
    await callflow(account, { numbers: ['201'], flow: callsUser(ann.id, voicemail) })
    const menu = (await ask(operator, { realm, number: '200' })).data
    expect([menu.reason, menu.module, menu.sip_code]).toEqual(['needs_media_server', 'menu', 501])
    const mailbox = (await ask(operator, { realm, number: '201' })).data
    expect(mailbox.targets).toEqual(targets)
    expect(mailbox.otherwise).toEqual({
      reason: 'needs_media_server',
      module: 'voicemail',
      sip_code: 501,
      sip_reason: 'Not Implemented',
    })
  })

  it('is nowhere while the account, the user or the device is disabled, the widest first', async () => {
    const { operator } = world
    const { account, realm, ann, desk, number } = await office()
    const reason = async (query: Record<string, string> = {}) =>
      (await ask(operator, { realm, number: '100', from_device: String(desk.id), ...query })).data.reason
    const steps: [string, string][] = [
      [desk.path, 'device_disabled'],
      [ann.path, 'user_disabled'],
      [account.path, 'account_disabled'],
    ]
    for (const [path, expected] of steps) {
      await operator.patch(path, { enabled: false })
      expect(await reason()).toBe(expected)
    }
    expect((await ask(operator, { number })).data.reason).toBe('account_disabled')
    expect(await reason({ number: '911' })).toBe('no_carrier')
    for (const [path] of steps) await operator.patch(path, { enabled: true })
    expect(await reason({ from_device: '0'.repeat(32) })).toBe('unknown_device')
  })

  it('is refused without credit and by the account’s limits, and without carriers', async () => {
    const { operator } = world
    const { account, realm } = await office()
    await callflow(account, { numbers: ['no_match'], flow: out })
    const told = async () => {
      const { reason, sip_code } = (await ask(operator, { realm, number: '+14155559999' })).data
      return [reason, sip_code]
    }
    expect(await told()).toEqual(['no_credit', 402])
    await world.credit(account, 10)
    expect(await told()).toEqual(['no_carrier', 503])
    await operator.patch(account.path, { call_restriction: { did_us: { action: 'deny' } } })
    expect(await told()).toEqual(['forbidden_classifier', 403])
    await operator.post(`${account.path}/limits`, { calls: 0 })
    expect(await told()).toEqual(['limit_reached', 503])
    await operator.post(`${account.path}/limits`, { calls: 4 })
    expect((await ask(operator, { realm, number: '100' })).data.limits).toEqual({ calls: 4 })
  })

  it('leaves the platform if the fixed address is called by a number that the account only wants to bring', async () => {
    const { operator } = world
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const number = nextNumber()
    const sip = { method: 'ip', ip: '203.0.113.9', username: number }
    const pbx = await world.device(account, { name: 'PBX', sip })
    await callflow(account, { numbers: ['100'], flow: { module: 'device', data: { id: pbx.id } } })
    const toPbx = () => ask(operator, { realm: account.realm, from: 'account', number: '100' })
    const paid = { left_out: [{ id: pbx.id, reason: 'no_credit' }] }
    expect((await toPbx()).data).toMatchObject(paid)
    const path = `${account.path}/phone_numbers/${encodeURIComponent(number)}`
    expect((await admin.put(path, { create_with_state: 'port_in' })).data.state).toBe('port_in')
    expect((await toPbx()).data).toMatchObject(paid)
    await operator.delete(path)
    await makeNumber(world, account, number)
    expect((await toPbx()).data).toMatchObject({ decision: 'ring', left_out: [] })
  })

  it('is to the gateways of the account’s carriers', async () => {
    const { operator } = world
    const { account, realm } = await office()
    await callflow(account, { numbers: ['no_match'], flow: out })
    await world.credit(account, 10)
    const carrier = { name: 'Ours', rules: ['^\\+(1\\d{10})$'], gateways: [{ server: 'gate.carrier.test' }] }
    const { data: resource } = await operator.put(`${account.path}/resources`, carrier)
    const { data } = await ask(operator, { realm, number: '+14155559999' })
    expect(data).toMatchObject({
      decision: 'offnet',
      account_id: account.id,
      number: '+14155559999',
      targets: [{ type: 'gateway', resource_id: resource.id, delay_s: 0 }],
    })
    expect(data.targets[0].uri).toContain('gate.carrier.test')
  })

  it('is to the server that takes the calls of a number, or nowhere while that is switched off', async () => {
    const { operator } = world
    const { account } = await office()
    const number = nextNumber()
    await makeNumber(world, account, number)
    const trunk = (options: Json) => ({
      servers: [
        {
          server_name: 'PBX',
          auth: { auth_user: 'pbx', auth_password: 'trunk-secret' },
          DIDs: { [number]: {} },
          options,
        },
      ],
    })
    const { data: made } = await operator.put(`${account.path}/connectivity`, trunk({}))
    expect((await ask(operator, { number })).data).toMatchObject({
      decision: 'ring',
      account_id: account.id,
      targets: [{ type: 'trunk', trunk_id: made.id, username: 'pbx', realm: account.realm, timeout_s: 120 }],
    })
    const failover = { sip: 'sip:desk@198.51.100.9:5070;transport=tcp' }
    const path = `${account.path}/connectivity/${made.id}`
    expect(await operator.post(path, trunk({ timeout: 15, failover }))).toSucceed()
    expect((await ask(operator, { number, caller: '200' })).data).toMatchObject({
      targets: [{ type: 'trunk' }],
      left_out: [{ type: 'trunk', id: made.id, reason: 'no_credit' }],
    })
    await world.credit(account, 10)
    const { targets } = (await ask(operator, { number, caller: '200' })).data
    expect(targets[0]).not.toHaveProperty('failover')
    expect(targets[1]).toEqual({
      type: 'trunk',
      trunk_id: made.id,
      server: 'PBX',
      number: 'desk',
      uri: 'sip:198.51.100.9:5070;transport=tcp',
      called: 'desk',
      account_billing: 'per_minute',
      delay_s: 15,
      timeout_s: 120,
    })
    expect(await operator.post(path, trunk({ enabled: false }))).toSucceed()
    expect((await ask(operator, { number })).data).toMatchObject({
      decision: 'refuse',
      targets: [],
      reason: 'trunk_disabled',
      sip_code: 480,
    })
  })

  it('is over carriers, by what pays for the call', async () => {
    const { account, desk, number: own } = await office()
    const { accounts } = world.server.areas
    const master = await accounts.get(world.master.id)
    const actor: Actor = {
      accountId: master.id,
      account: master,
      user: undefined,
      method: 'cb_api_auth',
      claims: undefined,
      token: undefined,
    }
    await callflow(account, { numbers: ['no_match'], flow: out })
    const route = async (number: string) =>
      carried.routing?.route(actor, {
        realm: account.realm,
        number,
        deviceId: String(desk.id),
        caller: '100',
      })
    await world.operator.patch(desk.path, {
      outbound_flags: ['cheap'],
      caller_id: { external: { name: 'Ann', number: own } },
    })
    expect(await route('4155559999')).toMatchObject({ decision: 'refuse', reason: 'no_credit' })
    const billing = async () => (await route('4155559999'))?.targets[0]?.account_billing
    await world.operator.post(`${account.path}/allotments`, { did_us: { amount: 60, cycle: 'monthly' } })
    expect(await billing()).toBe('allotment_did_us')
    await world.operator.post(`${account.path}/allotments`, {})
    await world.credit(account, 10)
    expect(await billing()).toBe('per_minute')
    await world.operator.post(`${account.path}/limits`, { outbound_trunks: 2 })
    expect(await billing()).toBe('flat_rate')
    expect(await route('4155559999')).toMatchObject({
      decision: 'offnet',
      limits: { carrier_calls: 2 },
      caller_id: { name: 'Ann', number: own },
      targets: [
        {
          type: 'gateway',
          resource_id: 'one',
          number: '+14155559999',
          from_realm: account.realm,
          delay_s: 0,
          timeout_s: 120,
        },
      ],
    })
    expect(await route('911')).toMatchObject({ decision: 'offnet', emergency: true, number: '911' })
    expect(carried.asked.at(-2)).toEqual([
      account.id,
      {
        number: '+14155559999',
        classification: 'did_us',
        emergency: false,
        flags: ['cheap'],
        callerNumber: own,
      },
    ])
    expect(carried.asked.at(-1)).toEqual([
      account.id,
      {
        number: '911',
        classification: 'emergency',
        emergency: true,
        flags: ['cheap'],
        callerNumber: own,
      },
    ])
    // A number of another system is shown if the reseller may show it, too.
    const foreign = '+49301234567'
    await world.operator.patch(desk.path, { caller_id: { external: { number: foreign } } })
    const shown = async () => (await route('4155559999'))?.caller_id.number
    for (const [path, number] of [
      [account.path, own],
      [world.reseller.path, foreign],
    ] as const) {
      expect(await world.operator.post(`${path}/limits/operator`, { caller_ids: ['+49*'] })).toSucceed()
      expect(await shown()).toBe(number)
    }
  })

  it('leaves by the carriers that the flow names: those of accounts, of one of them, or of the system', async () => {
    const { operator, reseller } = world
    const { account } = await office()
    await world.credit(account, 10)
    const carrier = async (path: string, server: string) => {
      const fields = { name: server, gateways: [{ server }], rules: ['.'] }
      const { data } = await operator.put(`${path}/resources`, fields)
      return `${path}/resources/${data.id}`
    }
    const made = [await carrier('/v2', 'system.test'), await carrier(reseller.path, 'reseller.test')]
    const { id } = await callflow(account, { numbers: ['no_match'], flow: out })
    const by = async (module: string, data: Json = {}) => {
      const flow = { module, data, children: {} }
      const path = `${account.path}/callflows/${id}`
      expect(await operator.post(path, { numbers: ['no_match'], flow })).toSucceed()
      const answer = await ask(operator, { realm: account.realm, number: '4155559998' })
      return answer.data.reason ?? answer.data.targets.map(({ uri }: { uri: string }) => uri)
    }
    const [system, ofReseller] = ['sip:system.test', 'sip:reseller.test']
    expect(await by('resources')).toEqual([ofReseller, system])
    expect(await by('resources', { hunt_account_id: reseller.id })).toEqual([ofReseller])
    expect(await by('resources', { hunt_account_id: account.id })).toBe('no_carrier')
    expect(await by('resources', { hunt_account_id: world.rival.id })).toBe('no_carrier')
    expect(await by('resources', { use_local_resources: false })).toEqual([system])
    expect(await by('offnet')).toEqual([system])
    made.push(await carrier(account.path, 'own.test'))
    expect(await by('resources')).toEqual(['sip:own.test', ofReseller, system])
    expect(await by('resources', { hunt_account_id: account.id })).toEqual(['sip:own.test'])
    expect(await by('offnet')).toEqual([system])
    for (const one of made) await operator.delete(one)
  })

  it('is to another account here, whose phones are sent only to accounts above it', async () => {
    const { operator, ross } = world
    const mine = await office()
    const other = await office()
    await callflow(mine.account, { numbers: ['no_match'], flow: out })
    const call = { realm: mine.realm, number: other.number }
    const { data } = await ask(operator, call)
    expect([data.decision, data.account_id]).toEqual(['ring', mine.account.id])
    expect(data.targets).toEqual(other.targets.map((target) => ({ ...target, account_id: other.account.id })))
    const stranger = await world.account()
    const number = nextNumber()
    await makeNumber(world, stranger, number)
    const user = await world.user(stranger)
    await world.device(stranger, { owner_id: user.id, sip: { username: 'secret' } })
    await callflow(stranger, { numbers: [number], flow: callsUser(user.id) })
    expect((await ask(operator, { realm: mine.realm, number })).data.decision).toBe('ring')
    expect((await ask(ross, { realm: mine.realm, number })).data.reason).toBe('no_credit')
    expect(await ask(ross, { number })).toSucceedWith(refusal('unknown_number', 404, 'Not Found', { number }))
    await operator.patch(`${other.account.path}/phone_numbers/${encodeURIComponent(other.number)}`, {
      force_outbound: true,
    })
    expect((await ask(operator, call)).data.reason).toBe('no_credit')
  })

  it('is nowhere for a number that no account has in service', async () => {
    const { operator } = world
    for (const number of [nextNumber(), 'x', '12', '']) {
      const answer = await ask(operator, { number })
      if (number === '') expect(answer).toBreak({ number: ['required'] })
      else expect(answer.data).toMatchObject({ decision: 'refuse', reason: 'unknown_number', sip_code: 404 })
    }
    expect(await ask(operator, { number: '1'.repeat(65) })).toBreak({ number: ['maxLength'] })
  })

  it('is found for a device with a separate realm', async () => {
    const { operator } = world
    const { account, targets } = await office()
    const own = `own-${account.realm}`
    const trunk = await world.device(account, { sip: { username: 'trunk', realm: own } })
    const { data } = await ask(operator, { realm: own, from_device: trunk.id, number: '100' })
    expect([data.account_id, data.targets]).toEqual([account.id, targets])
    expect((await ask(operator, { realm: own, number: '100' })).data.reason).toBe('unknown_realm')
  })

  it('is found for the account that the edge names, whatever the realm', async () => {
    const { operator, ross, rex, ada, acme } = world
    const { account, targets, desk } = await office()
    const query = { account_id: account.id, number: '100' }
    expect((await ask(operator, query)).data.targets).toEqual(targets)
    expect((await ask(ross, { ...query, realm: 'nowhere.test' })).data.targets).toEqual(targets)
    const { data } = await ask(operator, { ...query, from_device: String(desk.id) })
    expect(data.targets).toEqual(targets.slice(1))
    const unknown = refusal('unknown_realm', 403, 'Forbidden', { number: '100' })
    expect(await ask(rex, query)).toSucceedWith(unknown)
    for (const account_id of ['x', '0'.repeat(32)])
      expect(await ask(operator, { account_id, number: '100' })).toSucceedWith(unknown)
    expect(await ask(ada, { account_id: acme.id, number: '100' })).toFailWith(403, 'forbidden')
  })

  it('is shown only to accounts above; a foreign realm gets the same answer as an unknown one', async () => {
    const { operator, ross, rex, ada, anonymous, reseller } = world
    const { realm, targets } = await office()
    const unknown = refusal('unknown_realm', 403, 'Forbidden', { number: '100' })
    expect((await ask(ross, { realm, number: '100' })).data.targets).toEqual(targets)
    expect((await ask(await world.keyHolder(reseller), { realm, number: '100' })).data.targets).toEqual(
      targets,
    )
    expect(await ask(rex, { realm, number: '100' })).toSucceedWith(unknown)
    expect(await ask(operator, { realm: 'nowhere.test', number: '100' })).toSucceedWith(unknown)
    expect(await ask(ada, { realm: 'acme.test', number: '100' })).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      cause: 'only parent accounts of a realm may query it',
    })
    expect(await ask(anonymous, { realm, number: '100' })).toFailWith(401, 'invalid_credentials')
  })

  it('may be kept for a minute, and is asked again by its tag', async () => {
    const { operator } = world
    const { realm, soft } = await office()
    const query = { realm, number: '100' }
    const first = await ask(operator, query)
    expect(first.headers['cache-control']).toBe('private, max-age=60')
    const headers = { 'if-none-match': String(first.headers.etag) }
    expect((await operator.get('/v2/edge/route', { query, headers })).status).toBe(304)
    await operator.patch(soft.path, { enabled: false })
    expect(await operator.get('/v2/edge/route', { query, headers })).toSucceed()
  })
})
