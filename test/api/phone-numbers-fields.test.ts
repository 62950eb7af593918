// Public fields and the features that they switch on.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const address = {
  locality: 'San Francisco',
  postal_code: '94105',
  region: 'CA',
  street_address: '116 Natoma',
}

const refusal = (feature: string) => ({
  code: 403,
  error: 'forbidden',
  message: 'requestor is unauthorized to perform operation',
  cause: `feature ${feature} is not available`,
})

describeAnyEngine('the public fields of a number', (engine) => {
  const world = useWorld(engine, async (built) => {
    await allowAdditions(built)
    await allowAdditions(built, built.acme)
  })
  const next = createNumberSource()

  const remote = (fields: Json = {}) =>
    makeNumber(world, world.acme, next(), { carrier_name: 'inventory', ...fields })

  it('e911 on a local number is refused and nothing stored', async () => {
    const path = await makeNumber(world, world.acme, next())
    for (const [feature, fields] of [
      ['e911', { e911: address }],
      ['cnam', { cnam: { display_name: 'Acme' } }],
      ['sms', { sms: { enabled: true } }],
    ] as const) {
      const answer = await world.unchanged(() => world.ada.patch(path, fields))
      expect(answer).toFailWith(403, 'forbidden', refusal(feature))
    }
    await world.configure('number_manager', { local_feature_override: true })
    expect((await world.ada.patch(path, { cnam: { display_name: 'Acme' } })).data.features).toEqual([
      'local',
      'outbound_cnam',
    ])
    await world.configure('number_manager', { local_feature_override: false })
  })

  it('cnam on a number of another carrier switches on both its features', async () => {
    const path = await remote()
    const cnam = { display_name: 'Acme', inbound_lookup: true }
    const answer = await world.ada.patch(path, { cnam })
    expect(answer.data).toMatchObject({ cnam, features: ['inbound_cnam', 'outbound_cnam'] })
    expect(answer.body.metadata).toMatchObject({
      carrier_module: 'inventory',
      features: {
        available: [
          'cnam',
          'e911',
          'force_outbound',
          'inbound_cnam',
          'outbound_cnam',
          'port',
          'prepend',
          'ringback',
        ],
        settings: {},
      },
    })
    expect((await world.ada.patch(path, { cnam: { inbound_lookup: false } })).data.features).toEqual([
      'outbound_cnam',
    ])
    expect((await world.ada.patch(path, { cnam: null })).data.features).toBeUndefined()
  })

  it.each<[string, Json, Record<string, string[]>]>([
    [
      'a name of 16 characters',
      { cnam: { display_name: 'x'.repeat(16) } },
      { 'cnam.display_name': ['maxLength'] },
    ],
    ['no name', { cnam: { display_name: '' } }, { 'cnam.display_name': ['minLength'] }],
    ['a carrier name of 31 characters', { carrier_name: 'x'.repeat(31) }, { carrier_name: ['maxLength'] }],
    ['no carrier name', { carrier_name: '' }, { carrier_name: ['minLength'] }],
    ['an unknown state', { create_with_state: 'lost' }, { create_with_state: ['enum'] }],
    [
      'half an address',
      { e911: { locality: 'San Francisco' } },
      { 'e911.postal_code': ['required'], 'e911.region': ['required'], 'e911.street_address': ['required'] },
    ],
    ['a region of three letters', { e911: { ...address, region: 'CAL' } }, { 'e911.region': ['maxLength'] }],
    ...['U', 'USA', 'XX', 'xx'].map((country): [string, Json, Record<string, string[]>] => [
      `the country ${country}`,
      { e911: { ...address, country } },
      { 'e911.country': ['enum'] },
    ]),
    ...(
      [
        [999_999_999, 'minimum'],
        [10_000_000_000, 'maximum'],
      ] as const
    ).map(([identifier, rule]): [string, Json, Record<string, string[]>] => [
      `an identifier of other than ten digits: ${identifier}`,
      { e911: { ...address, location_identifier: identifier } },
      { 'e911.location_identifier': [rule] },
    ]),
    [
      'a short caller name',
      { e911: { ...address, caller_name: 'Jo' } },
      { 'e911.caller_name': ['minLength'] },
    ],
    [
      'a call-back number of 11',
      { e911: { ...address, callback_cid_number: '14155550100' } },
      { 'e911.callback_cid_number': ['maxLength'] },
    ],
    [
      'a latitude of 12',
      { e911: { ...address, latitude: '123456789012' } },
      { 'e911.latitude': ['maxLength'] },
    ],
    [
      'a longitude of 12',
      { e911: { ...address, longitude: '123456789012' } },
      { 'e911.longitude': ['maxLength'] },
    ],
    [
      'another delivery',
      { e911: { ...address, delivery_method: 'pigeon' } },
      { 'e911.delivery_method': ['enum'] },
    ],
    ['another status', { e911: { ...address, status: 'FINE' } }, { 'e911.status': ['enum'] }],
    [
      'no mail address',
      { e911: { ...address, notification_contact_emails: ['nobody'] } },
      { 'e911.notification_contact_emails.0': ['wrong_format'] },
    ],
    [
      'an identifier that is no number',
      { e911: { ...address, location_identifier: 'x' } },
      { 'e911.location_identifier': ['type'] },
    ],
    ['legacy data that is none', { e911: { ...address, legacy_data: 1 } }, { 'e911.legacy_data': ['type'] }],
    ['comments that are none', { porting: { comments: 'soon' } }, { 'porting.comments': ['type'] }],
    [
      'a service provider that is a list',
      { porting: { service_provider: [] } },
      { 'porting.service_provider': ['type'] },
    ],
    ['a failover that is a text', { failover: '+14155550199' }, { failover: ['type'] }],
    [
      'a failover to numbers that are none',
      { failover: { e164: 14_155_550_199, sip: true } },
      { 'failover.e164': ['type'], 'failover.sip': ['type'] },
    ],
    ['a forced way out that is a number', { force_outbound: 1 }, { force_outbound: ['type'] }],
    ['a prepend that is a text', { prepend: 'Sales' }, { prepend: ['type'] }],
    [
      'a prepend of other types',
      { prepend: { enabled: 'maybe', name: 1, number: [] } },
      { 'prepend.enabled': ['type'], 'prepend.name': ['type'], 'prepend.number': ['type'] },
    ],
    ['a ringback that is a text', { ringback: 'media' }, { ringback: ['type'] }],
    [
      'a ringback of other types',
      { ringback: { early: 1, transfer: {} } },
      { 'ringback.early': ['type'], 'ringback.transfer': ['type'] },
    ],
    [
      'messages of other types',
      { sms: true, mms: { enabled: 'yes' } },
      { sms: ['type'], 'mms.enabled': ['type'] },
    ],
  ])('validates %s', async (_what, fields, rules) => {
    const path = await remote()
    expect(await world.unchanged(() => world.ada.patch(path, fields))).toBreak(rules)
  })

  it('stores a valid address, and reports that no provider was notified', async () => {
    const path = await remote()
    const full = { ...address, country: 'US', location_identifier: 4_155_550_100 }
    const claims = { status: 'PROVISIONED', activated_time: '2026-01-01T00:00:00Z' }
    const answer = await world.ada.post(path, { e911: { ...full, ...claims } })
    const e911 = { ...full, caller_name: 'Acme', notification_contact_emails: [] }
    expect(answer.data).toEqual({ id: answer.data.id, state: 'in_service', features: ['e911'], e911 })
    expect(answer.body.metadata.features).toMatchObject({ settings: { e911: { provider: 'none' } } })
    // An account whose name is shorter than a caller's name must be.
    const named = await world.ada.post(path, { e911: { ...address, caller_name: 'Front desk' } })
    expect(named.data.e911.caller_name).toBe('Front desk')
    expect((await world.ada.post(path, {})).data).toEqual({ id: answer.data.id, state: 'in_service' })
  })

  it.each([
    ['lenient', false],
    ['strict', true],
  ])('stores a country in capitals, whatever its case was, with %s validation', async (_, isStrict) => {
    await world.configure('crossbar', { schema_strict_validation: isStrict })
    const path = await remote()
    for (const country of ['us', 'Us', 'US']) {
      const answer = await world.ada.patch(path, { e911: { ...address, country } })
      expect(answer.data.e911.country).toBe('US')
    }
    const refused = await world.refused(() => world.ada.patch(path, { e911: { ...address, country: 'xx' } }))
    expect(refused).toBreak({ 'e911.country': ['enum'] })
    await world.configure('crossbar', { schema_strict_validation: undefined })
  })

  it('another carrier drops what it has not got, and is not shown among the fields', async () => {
    const fields = { cnam: { display_name: 'Acme' }, prepend: { enabled: true, name: 'Sales ' } }
    const path = await remote(fields)
    const answer = await world.operator.patch(path, { carrier_name: 'local' })
    expect(answer.data).toMatchObject({ prepend: fields.prepend, features: ['local', 'prepend'] })
    expect(Object.keys(answer.data).sort()).toEqual(['features', 'id', 'prepend', 'state'])
    expect(answer.body.metadata).toMatchObject({ carrier_module: 'local' })
  })

  it('an unknown carrier is refused, and every carrier if the caller is not an operator', async () => {
    const path = await remote()
    expect(await world.unchanged(() => world.operator.patch(path, { carrier_name: 'blabla' }))).toFailWith(
      400,
      'invalid',
      {
        code: 400,
        error: 'invalid',
        message: 'invalid',
        cause: "'blabla' is not known by the system",
      },
    )
    for (const carrier_name of ['local', 'inventory', 'blabla']) {
      const answer = await world.unchanged(() => world.ross.patch(path, { carrier_name }))
      expect(answer).toFailWith(403, 'forbidden', refusal('carrier_name'))
    }
    const fresh = pathOf(world.reseller, next())
    expect(await world.ross.put(fresh, { carrier_name: 'inventory' })).toFailWith(403, 'forbidden')
    // A request may name the value that a new number gets by default.
    expect(await world.ross.put(fresh, { carrier_name: 'local' })).toSucceed()
  })

  it('force_outbound is true, false or not set', async () => {
    const path = await makeNumber(world, world.acme, next())
    const cases: [unknown, unknown, string[]][] = [
      [true, true, ['force_outbound', 'local']],
      ['false', false, ['force_outbound', 'local']],
      ['true', true, ['force_outbound', 'local']],
      ['blabla', undefined, ['local']],
      [false, false, ['force_outbound', 'local']],
      [undefined, undefined, ['local']],
    ]
    for (const [sent, kept, features] of cases) {
      const { data } = await world.ada.post(path, sent === undefined ? {} : { force_outbound: sent })
      expect(data.force_outbound).toBe(kept)
      expect(data.features).toEqual(features)
    }
  })

  it('failover is for numbers that trunks use', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number)
    const failover = { sip: 'sip:spare@example.test' }
    const { numbers } = world.server.areas.phoneNumbers
    const use = async (usedBy: 'callflow' | 'trunkstore') =>
      numbers.commit(
        await numbers.plan.use(numbers.view(), {
          author: { requestId: 'test' },
          accountId: world.acme.id,
          number,
          usedBy,
        }),
      )
    await use('callflow')
    expect(await world.unchanged(() => world.ada.patch(path, { failover }))).toFailWith(
      403,
      'forbidden',
      refusal('failover'),
    )
    await use('trunkstore')
    const inside = { failover: { sip: 'sip:+19005550123@10.0.0.1' } }
    const [refused] = await world.unchanged(async () => [await world.ada.patch(path, inside)])
    expect(refused).toBreak({ 'failover.sip': ['forbidden'] })
    expect((await world.ada.patch(path, { failover })).data).toMatchObject({
      failover,
      used_by: 'trunkstore',
      features: ['failover', 'local'],
    })
    expect((await world.ross.put(`${pathOf(world.rival, number)}/activate`)).data.used_by).toBeUndefined()
  })

  it('ringback and prepend are on while the number is in service', async () => {
    const path = await makeNumber(world, world.acme, next())
    const fields = { ringback: { early: 'media' }, prepend: { enabled: true, name: 'A' } }
    expect((await world.ada.patch(path, fields)).data.features).toEqual(['local', 'prepend', 'ringback'])
    expect((await world.ada.patch(path, { prepend: { enabled: false } })).data.features).toEqual([
      'local',
      'ringback',
    ])
    expect(
      (await world.operator.put(`${path.replace(world.acme.id, world.reseller.id)}/reserve`)).data.features,
    ).toEqual(['local'])
  })

  it('identify returns the enabled features to the callers who route its calls', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number, { features_denied: ['cnam'] })
    const owner = { account_id: world.acme.id, number }
    expect(await world.ada.get(`${path}/identify`)).toSucceedWith(owner)
    const fields = {
      failover: { e164: '+14155550199' },
      force_outbound: false,
      prepend: { enabled: true, name: 'Sales ' },
      ringback: { early: 'media' },
    }
    expect(await world.ada.patch(path, fields)).toSucceed()
    expect(await world.ada.get(`${path}/identify`)).toSucceedWith({ ...owner, ...fields })
    const { failover, prepend } = fields
    await world.ada.post(path, { failover, prepend: { ...prepend, enabled: false } })
    expect(await world.ada.get(`${path}/identify`)).toSucceedWith({ ...owner, failover })
  })

  it('messages are for accounts whose plans do not say no', async () => {
    await world.configure('number_manager', {
      sms_carriers: ['knm_inventory'],
      mms_carriers: ['knm_inventory'],
    })
    const account = await world.account(world.reseller)
    const [number, plan] = [
      next(),
      await world.ross.put(`${world.reseller.path}/service_plans`, {
        name: 'No pictures',
        plan: {},
        im: { sms: {}, mms: { enabled: false } },
      }),
    ]
    const path = await makeNumber(world, account, number, { carrier_name: 'inventory' })
    const mms = { enabled: true }
    expect(await world.operator.patch(path, { mms })).toSucceed()
    expect(await world.ross.post(`${account.path}/services`, { add: [plan.data.id] })).toSucceed()
    const other = await makeNumber(world, account, next(), { carrier_name: 'inventory' })
    expect(await world.unchanged(() => world.operator.patch(other, { mms }))).toFailWith(
      403,
      'forbidden',
      refusal('mms'),
    )
    expect((await world.operator.patch(other, { sms: mms })).data.features).toEqual(['sms'])
    await world.configure('number_manager', { sms_carriers: [], mms_carriers: [] })
  })

  it('messages are for carriers that pass them on', async () => {
    await world.configure('number_manager', { sms_carriers: ['knm_inventory'] })
    const path = await remote()
    const sms = { enabled: true, activation: 'auto' }
    const answer = await world.ada.patch(path, { sms })
    expect(answer.data.features).toEqual(['sms'])
    expect(answer.body.metadata).toMatchObject({
      features: { settings: { sms: { enabled: true, activation: 'auto' } } },
    })
    expect(await world.ada.patch(path, { mms: { enabled: true } })).toFailWith(403, 'forbidden')
    await world.configure('number_manager', { sms_carriers: [] })
  })

  it('features are allowed and denied by the system, by the reseller, and for one number', async () => {
    const path = await remote()
    const available = async () =>
      ((await world.ada.get(path)).body.metadata.features as { available: string[] }).available
    await world.configure('number_manager', {
      features: { allow: ['dash_e911', 'cnam_notifier', 'prepend'] },
    })
    expect(await available()).toEqual(['cnam', 'e911', 'prepend'])
    const config = `${world.reseller.path}/configs/number_manager`
    await world.ross.post(config, { features: { deny: ['e911'] } })
    expect(await available()).toEqual(['cnam', 'prepend'])
    await world.ross.post(config, { features: { allow: ['prepend', 'sms', 'ringback'], deny: ['prepend'] } })
    expect(await available()).toEqual(['ringback'])
    // The account itself cannot change this; only the operator can, for a single number.
    await world.ada.post(`${world.acme.path}/configs/number_manager`, { features: { allow: ['e911'] } })
    await world.ada.patch(path, { features_allowed: ['e911'] })
    expect(await available()).toEqual(['ringback'])
    await world.operator.patch(path, {
      features_allowed: ['e911', 'cnam', 'port_notifier'],
      features_denied: ['cnam'],
    })
    expect(await available()).toEqual(['e911', 'port'])
    expect(await world.ada.patch(path, { prepend: { enabled: true } })).toFailWith(403, 'forbidden')
    const { data } = await world.ada.get(`${world.acme.path}/phone_numbers`)
    expect(data.numbers[decodeURIComponent(path.split('/').at(-1) as string)]).toMatchObject({
      features_allowed: ['e911', 'cnam', 'port_notifier'],
      features_denied: ['cnam'],
      features_available: ['e911', 'port'],
    })
    await world.ross.delete(config)
    await world.configure('number_manager', { features: {} })
  })

  it('PATCH merges and removes with null, POST replaces', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number)
    await world.ada.patch(path, { my: { a: 1 } })
    expect((await world.ada.patch(path, { my: { b: 2 } })).data.my).toEqual({ a: 1, b: 2 })
    expect((await world.ada.patch(path, { my: { a: null } })).data.my).toEqual({ b: 2 })
    expect(await world.ada.post(path, { x: 1 })).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
      x: 1,
    })
  })

  it('id and used_by in a body are ignored, and a record read can be sent back', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number, { my: 1 })
    const read = await world.ada.get(path)
    expect(
      await world.ada.post(path, { ...read.data, id: '+14155559999', used_by: 'callflow' }),
    ).toSucceedWith(read.data)
    expect((await world.ada.post(path, read.data)).body.revision).toBe(read.body.revision)
    const stale = { headers: { 'if-match': '"0123"' } }
    expect(await world.ada.post(path, { my: 2 }, stale)).toFailWith(412, 'precondition failed')
    expect(
      await world.ada.patch(path, { my: 2 }, { headers: { 'if-match': `"${read.body.revision}"` } }),
    ).toSucceed()
  })
})
