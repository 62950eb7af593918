import { expect, it } from 'vitest'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const unique = (message: string, cause: string) => ({ unique: { message, cause } })

describeAnyEngine('rules for devices', (engine) => {
  const world = useWorld(engine)

  const refuses = async (account: TestAccount, fields: object, rules: Record<string, string[]>) => {
    const before = await world.snapshot()
    const answer = await world.operator.put(`${account.path}/devices`, { name: 'Refused', ...fields })
    expect(answer).toBreak(rules)
    expect(await world.snapshot()).toEqual(before)
    return answer
  }

  it('a name is required, and nothing else', async () => {
    const { ada, acme } = world
    expect(await ada.put(`${acme.path}/devices`, {})).toBreak({ name: ['required'] })
    expect(await ada.put(`${acme.path}/devices`, { name: 'Enough' })).toSucceed()
  })

  it('a SIP user name is held once in an account, whatever its case', async () => {
    const { acme, rival } = world
    await world.device(acme, { sip: { username: 'front' } })
    const sip = { username: 'FRONT' }
    const answer = await refuses(acme, { sip }, { 'sip.username': ['unique'] })
    expect(answer.data).toEqual({ 'sip.username': unique('SIP credentials already in use', 'FRONT') })
    await world.device(rival, { sip })
    await world.device(acme, { sip: { username: 'front', method: 'authorization' } })
  })

  it('a SIP user name in the realm of a device is unique across all accounts', async () => {
    const { acme, rival } = world
    await world.device(acme, { sip: { username: 'trunk', realm: 'shared.example' } })
    const sip = { username: 'Trunk', realm: 'SHARED.example' }
    await refuses(rival, { sip }, { 'sip.username': ['unique'] })
    await world.device(rival, { sip: { username: 'trunk', realm: 'elsewhere.example' } })
  })

  it('the realm of another account is refused, without a word about who lives there', async () => {
    const { acme, rival } = world
    await world.device(rival, { sip: { username: 'insider' } })
    for (const username of ['insider', 'nobody']) {
      const sip = { username, realm: 'RIVAL.test' }
      const answer = await refuses(acme, { sip }, { 'sip.realm': ['unique'], 'sip.username': ['unique'] })
      expect(answer.data).toEqual({
        'sip.realm': unique(
          'The host name, a parent domain or a subdomain belongs to another account',
          'RIVAL.test',
        ),
        'sip.username': unique('SIP credentials already in use', username),
      })
    }
  })

  it("the account's own realm is not kept", async () => {
    const device = await world.device(world.acme, { sip: { username: 'own', realm: 'ACME.test' } })
    expect(device.sip).not.toHaveProperty('realm')
    const other = await world
      .device(world.acme, { sip: { username: 'o', realm: 'my.example' } })
      .catch(String)
    expect(other).toContain('minLength')
  })

  it('a MAC address is kept in one form and held once in an account', async () => {
    const { acme, rival } = world
    const first = await world.device(acme, { mac_address: 'AA-BB-CC-00-11-22' })
    expect(first.mac_address).toBe('aabbcc001122')
    const answer = await refuses(acme, { mac_address: 'aa:bb:cc:00:11:22' }, { mac_address: ['unique'] })
    expect(answer.data).toEqual({ mac_address: unique('MAC address already in use', 'aabbcc001122') })
    await world.device(rival, { mac_address: 'aabb.cc00.1122' })
    await refuses(acme, { mac_address: 'aa:bb:cc' }, { mac_address: ['wrong_format'] })
    expect(await world.device(acme, { mac_address: '' })).not.toHaveProperty('mac_address')
  })

  it('an address is IPv4, required for its method, and held once over all accounts', async () => {
    const { acme, rival } = world
    const ip = (address?: string) => ({ sip: { method: 'ip', ip: address } })
    const wrong = await refuses(acme, ip('300.1.1.1'), { 'sip.ip': ['type'] })
    expect(wrong.data['sip.ip'].type).toMatchObject({
      message: 'Must be a valid IPv4 RFC 791',
      cause: '300.1.1.1',
    })
    await refuses(acme, ip('2001:db8::1'), { 'sip.ip': ['type'] })
    await refuses(acme, ip(), { 'sip.ip': ['required'] })
    await world.device(acme, ip('192.0.2.10'))
    const taken = await refuses(rival, ip('192.0.2.10'), { 'sip.ip': ['unique'] })
    expect(taken.data).toEqual({ 'sip.ip': unique('SIP IP already in use', '192.0.2.10') })
    await world.device(rival, { sip: { method: 'password', ip: '192.0.2.10' } })
  })

  it('a mobile needs its number, which is held once over all accounts and signs its account in', async () => {
    const { acme, rival, server } = world
    await refuses(acme, { device_type: 'mobile' }, { 'mobile.mdn': ['required'] })
    await world.device(acme, { device_type: 'mobile', mobile: { mdn: '4155550123' } })
    const mobile = { mdn: '+14155550123' }
    const taken = await refuses(rival, { device_type: 'mobile', mobile }, { 'mobile.mdn': ['unique'] })
    expect(taken.data).toEqual({ 'mobile.mdn': unique('Mobile number already in use', mobile.mdn) })
    const found = await server.areas.signIn.candidates({ phone_number: '415-555-0123'.replaceAll('-', '') })
    expect(found.map(({ id }) => id)).toEqual([acme.id])
  })

  it('type and mobile number are fixed, but for the operator', async () => {
    const { ada, operator, acme } = world
    const mdn = '+14155550177'
    const { path } = await world.device(acme, { device_type: 'mobile', mobile: { mdn } })
    const before = await world.snapshot()
    expect(await ada.patch(path, { device_type: 'landline' })).toBreak({ device_type: ['invalid'] })
    const renumbered = { mobile: { mdn: '+14155550178' } }
    expect(await ada.patch(path, renumbered)).toBreak({ 'mobile.mdn': ['forbidden', 'invalid'] })
    expect(await world.snapshot()).toEqual(before)
    expect(await ada.patch(path, { name: 'New name' })).toSucceed()
    expect(await ada.patch(path, { mobile: { mdn: '4155550177' } })).toSucceed()
    expect(await operator.patch(path, renumbered)).toSucceed()
    expect(await operator.patch(path, { device_type: 'softphone', mobile: null })).toSucceed()
  })

  it('names are free again when a device lets go of them, or goes itself', async () => {
    const { ada, acme, rival } = world
    const names = { mac_address: 'aabbccddee01', sip: { method: 'ip', ip: '192.0.2.77' } }
    const { path } = await world.device(acme, names)
    expect(await ada.patch(path, { mac_address: 'aabbccddee02', sip: { method: 'password' } })).toSucceed()
    const second = await world.device(acme, names)
    await refuses(rival, { sip: names.sip }, { 'sip.ip': ['unique'] })
    expect(await ada.delete(second.path)).toSucceed()
    await world.device(rival, names)
  })

  it('names are free again when their account is deleted', async () => {
    const account = await world.account()
    const sip = { username: 'gone', realm: 'gone.example' }
    const fields = { device_type: 'mobile', sip, mobile: { mdn: '+14155550188' } }
    await world.device(account, fields)
    expect(await world.operator.delete(account.path)).toSucceed()
    await world.device(world.acme, fields)
    expect(await world.operator.get('/v2/edge?realm=gone.example&username=gone')).toSucceed()
  })

  it('of two that come at once for a name, one gets it and the other hears why not', async () => {
    const { operator, acme, rival } = world
    const sip = { method: 'ip', ip: '192.0.2.99' }
    const answers = await Promise.all(
      [acme, rival, acme, rival].map(({ path }) => operator.put(`${path}/devices`, { name: 'Racer', sip })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400])
    for (const answer of answers.filter(({ status }) => status === 400)) {
      expect(answer).toBreak({ 'sip.ip': ['unique'] })
    }
  })

  it('an owner is a user of the same account', async () => {
    const { acme, rex } = world
    for (const owner of [rex.id, '0'.repeat(32), acme.id]) {
      const answer = await refuses(acme, { owner_id: owner }, { owner_id: ['not_found'] })
      expect(answer.data.owner_id.not_found.cause).toBe(owner)
    }
    await refuses(acme, { owner_id: 'short' }, { owner_id: ['minLength', 'pattern'] })
  })

  it('an owner who has left does not stand in the way of a change', async () => {
    const { ada, acme } = world
    const owner = await world.user(acme)
    const { path } = await world.device(acme, { owner_id: owner.id })
    expect(await ada.delete(owner.path)).toSucceed()
    const patched = await ada.patch(path, { name: 'Orphan' })
    expect(patched).toSucceed()
    expect(patched.data.owner_id).toBe(owner.id)
  })

  it('forwarding that is on needs a number', async () => {
    const fields = { call_forward: { enabled: true }, call_failover: { enabled: true, number: '' } }
    await refuses(world.acme, fields, {
      'call_forward.number': ['required'],
      'call_failover.number': ['required'],
    })
    const off = { call_forward: { enabled: false }, call_failover: { enabled: false } }
    await world.device(world.acme, off)
  })

  it('keys are an object, brands lower-case, flags trimmed', async () => {
    const { acme } = world
    await refuses(acme, { provision: { combo_keys: [] } }, { 'provision.combo_keys': ['type'] })
    await refuses(
      acme,
      { provision: { combo_keys: { first: { type: 'line' } }, feature_keys: { '-1': { type: 'line' } } } },
      {
        'provision.combo_keys.first': ['additionalProperties'],
        'provision.feature_keys.-1': ['additionalProperties'],
      },
    )
    await refuses(
      acme,
      {
        provision: { combo_keys: { 1: { type: 'coffee' }, 2: { type: 'parking', value: true }, 3: 'line' } },
      },
      {
        'provision.combo_keys.1.type': ['enum'],
        'provision.combo_keys.2.value': ['type'],
        'provision.combo_keys.3': ['type'],
      },
    )
    const keys = {
      0: { type: 'none' },
      1: { type: 'parking', value: 3 },
      2: { type: 'speed_dial', value: { label: 'Bo', value: '2001' } },
      10: { type: 'presence', value: 'a'.repeat(32) },
    }
    expect((await world.device(acme, { provision: { feature_keys: keys } })).provision).toMatchObject({
      feature_keys: keys,
    })
    const device = await world.device(acme, {
      provision: { endpoint_brand: 'YeaLink', combo_keys: { 1: { type: 'line' }, 2: null } },
      outbound_flags: [' premium ', 'fax'],
    })
    expect(device).toMatchObject({
      provision: { endpoint_brand: 'yealink', combo_keys: { 1: { type: 'line' } } },
      outbound_flags: ['premium', 'fax'],
    })
    expect((device.provision as { combo_keys: object }).combo_keys).not.toHaveProperty('2')
    const dynamic = await world.device(acme, { outbound_flags: { static: [' a'], dynamic: ['b '] } })
    expect(dynamic.outbound_flags).toEqual({ static: ['a'], dynamic: ['b'] })
    expect((await world.device(acme, { outbound_flags: 'text' })).outbound_flags).toEqual([])
  })

  it('all problems of a request come in one answer', async () => {
    const { acme } = world
    await world.device(acme, { mac_address: '0000000000ff' })
    await refuses(
      acme,
      {
        name: '',
        mac_address: '00:00:00:00:00:FF',
        owner_id: '0'.repeat(32),
        sip: { method: 'ip', ip: 'nowhere' },
        call_forward: { enabled: true },
      },
      {
        name: ['minLength'],
        mac_address: ['unique'],
        owner_id: ['not_found'],
        'sip.ip': ['type'],
        'call_forward.number': ['required'],
      },
    )
  })

  it('rules are silent about an object of which the schema already complains', async () => {
    await refuses(world.acme, { device_type: 'mobile', mobile: 5 }, { mobile: ['type'] })
  })
})
