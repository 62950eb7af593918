import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type FieldRow, itHoldsRows } from '../support/matchers/field-rows.ts'
import { nowOf } from '../support/world/legs.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const address = {
  street_address: '116 Natoma Street',
  locality: 'San Francisco',
  region: 'CA',
  postal_code: '94105',
}

const cnamRows: FieldRow[] = [
  {
    says: 'cnam.display_name: string, length 1..15, the name shown to the callee',
    takes: ['A', 'x'.repeat(15)],
    refuses: { type: [5], minLength: [''], maxLength: ['x'.repeat(16)] },
  },
]

const lookupRows: FieldRow[] = [
  {
    says: 'cnam.inbound_lookup: boolean, look up the name for inbound calls',
    takes: [true],
    refuses: { type: ['perhaps', 5] },
  },
]

const coordinate = {
  takes: ['', '37.7879', '-122.397514'],
  refuses: { type: [37.7], maxLength: ['-122.3975141'] },
}
const text = { takes: ['x'], refuses: { type: [5] } }

const e911Rows: FieldRow[] = [
  {
    says: 'e911.callback_cid_number: string, length 10',
    takes: ['4155550100'],
    refuses: { type: [4155550100], minLength: ['415555010'], maxLength: ['14155550100'] },
  },
  {
    says: 'e911.caller_name: string, minimum length 3',
    takes: ['Bob', 'x'.repeat(100)],
    refuses: { type: [5], minLength: ['Jo'] },
  },
  {
    says: 'e911.country: string, length 2, ISO 3166 two-letter code',
    takes: ['US', 'DE'],
    refuses: { enum: ['U', 'USA', 'XX'] },
  },
  {
    says: 'e911.delivery_method: string, `direct`, `three_way` or `security_desk`',
    takes: ['direct', 'three_way', 'security_desk'],
    refuses: { enum: ['pigeon'] },
  },
  { says: 'e911.extended_address: string', ...text },
  { says: 'e911.latitude, e911.longitude: string, length 0..11, WGS84', ...coordinate },
  {
    says: 'e911.legacy_data: object',
    takes: [{}, { house_number: '116', predirectional: 'N', streetname: 'Natoma', suite: '2' }],
    refuses: {
      type: ['116 Natoma'],
      'house_number.type': [{ house_number: 116 }],
      'predirectional.type': [{ predirectional: 5 }],
      'streetname.type': [{ streetname: 5 }],
      'suite.type': [{ suite: 2 }],
    },
  },
  {
    says: 'e911.locality, e911.postal_code, e911.street_address: string, required within e911',
    takes: ['x'],
    refuses: { type: [5], required: [undefined] },
  },
  { says: 'e911.location_id: string', ...text },
  {
    says: 'e911.location_identifier: integer, 10-digit ELIN',
    takes: [1_000_000_000, 9_999_999_999],
    refuses: { type: ['ELIN', 4_155_550_100.5], minimum: [999_999_999], maximum: [10_000_000_000] },
  },
  {
    says: 'e911.notification_contact_emails: array of string, empty by default',
    takes: [[], ['desk@acme.test']],
    refuses: { type: ['desk@acme.test'], '0.type': [[5]] },
  },
  { says: 'e911.plus_four: string', ...text },
  {
    says: 'e911.region: string, length 2, required within e911',
    takes: ['NV'],
    refuses: { type: [5], required: [undefined], minLength: ['C'], maxLength: ['CAL'] },
  },
]

const portingRows: FieldRow[] = [
  { says: 'service_provider, port_id, requested_port_date: string', within: 'porting', ...text },
  {
    says: 'billing_account_id, billing_name, billing_telephone_number, customer_contact: string',
    within: 'porting',
    ...text,
  },
  { says: 'billing_street_address, billing_extended_address: string', within: 'porting', ...text },
  { says: 'billing_locality, billing_region, billing_postal_code: string', within: 'porting', ...text },
  {
    says: 'comments: array of string',
    within: 'porting',
    takes: [[], ['Call before noon']],
    refuses: { type: ['Call'], '0.type': [[5]] },
  },
]

describeAnyEngine('A phone number', (engine) => {
  const number = '+14155550100'
  const world = useWorld(engine, async (built) => {
    await allowAdditions(built, built.acme)
    await makeNumber(built, built.acme, number, { carrier_name: 'inventory' })
  })
  const path = () => pathOf(world.acme, number)
  const next = createNumberSource('+1415556')

  /** Rows of fields that switch these features on. */
  const itHolds = (rows: readonly FieldRow[], ...features: string[]) =>
    itHoldsRows(world, rows, {
      write: (fields) => world.ada.post(path(), fields),
      read: () => world.ada.get(path()),
      shows: (fields) => ({
        id: number,
        state: 'in_service',
        ...(features.length > 0 ? { features } : {}),
        ...fields,
      }),
    })

  it('carrier_name: string, length 1..30', async () => {
    const own = await makeNumber(world, world.acme, next())
    await world.operator.patch(own, { carrier_name: 'inventory' })
    expect((await world.ada.get(own)).body.metadata.carrier_module).toBe('inventory')
    await world.unchanged(async () => {
      for (const [name, rule] of [
        [5, 'type'],
        ['', 'minLength'],
        ['x'.repeat(31), 'maxLength'],
      ] as const)
        expect(await world.operator.patch(own, { carrier_name: name })).toBreak({ carrier_name: [rule] })
    })
  })

  itHolds(cnamRows, 'outbound_cnam')
  itHolds(lookupRows, 'inbound_cnam')

  it.each(['aging', 'available', 'in_service', 'port_in', 'reserved'])(
    'create_with_state: string, takes `%s`',
    async (create_with_state) => {
      const made = await world.operator.put(pathOf(world.acme, next()), { create_with_state })
      expect(made.data.state).toBe(create_with_state)
    },
  )

  it.each(['deleted', 'discovery', 'port_out', 'released'])(
    'create_with_state: string, knows `%s`, in which nothing is created',
    async (create_with_state) => {
      await world.unchanged(async () => {
        const answer = await world.operator.put(pathOf(world.acme, next()), { create_with_state })
        expect(answer).toFailWith(403, 'forbidden')
      })
    },
  )

  it('create_with_state: string, knows no other', async () => {
    await world.unchanged(async () => {
      const answer = await world.operator.put(pathOf(world.acme, next()), { create_with_state: 'lost' })
      expect(answer).toBreak({ create_with_state: ['enum'] })
    })
  })

  itHoldsRows(world, e911Rows, {
    write: ({ e911 }) => world.ada.post(path(), { e911: { ...address, ...(e911 as Json) } }),
    read: () => world.ada.get(path()),
    shows: ({ e911 }) => ({
      id: number,
      state: 'in_service',
      features: ['e911'],
      e911: { ...address, caller_name: 'Acme', notification_contact_emails: [], ...(e911 as Json) },
    }),
  })

  it.each([
    [
      'e911.activated_time: string',
      { activated_time: '2026-01-05T12:00:00Z' },
      { activated_time: 5 },
      'type',
    ],
    [
      'e911.status: string, `INVALID`, `GEOCODED`, `PROVISIONED`, `REMOVED` or `ERROR`',
      { status: 'PROVISIONED' },
      { status: 'FINE' },
      'enum',
    ],
  ])('%s; told by the provider, not by the client', async (_row, claim, wrong, rule) => {
    const { data } = await world.ada.post(path(), { e911: { ...address, ...claim } })
    expect(data.e911).toEqual({ ...address, caller_name: 'Acme', notification_contact_emails: [] })
    const [field] = Object.keys(wrong)
    await world.unchanged(async () => {
      const answer = await world.ada.post(path(), { e911: { ...address, ...wrong } })
      expect(answer).toBreak({ [`e911.${field}`]: [rule] })
    })
  })

  itHolds(portingRows)

  it('keeps further user-defined fields and returns them as given', async () => {
    const own = { my: { floor: 3, tags: ['lobby', null] } }
    expect(await world.ada.post(path(), own)).toSucceedWith({ id: number, state: 'in_service', ...own })
  })

  it('has read-only parts: id, state, features; in metadata id, created, modified, carrier_module, features', async () => {
    const claims = { id: '+14155559999', state: 'deleted', features: ['sms'], used_by: 'callflow' }
    const answer = await world.ada.post(path(), { ...claims, cnam: { display_name: 'Acme' } })
    expect(answer).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['outbound_cnam'],
      cnam: { display_name: 'Acme' },
    })
    expect(answer.body.metadata).toEqual({
      id: number,
      created: nowOf(world),
      modified: nowOf(world),
      carrier_module: 'inventory',
      features: { settings: expect.any(Object), available: expect.arrayContaining(['cnam', 'e911']) },
    })
  })

  it('has a read-only part used_by: string, what the number leads to', async () => {
    const mobile = next()
    const own = await makeNumber(world, world.acme, mobile)
    expect((await world.ada.get(own)).data).not.toHaveProperty('used_by')
    await world.device(world.acme, { device_type: 'mobile', mobile: { mdn: mobile } })
    expect((await world.ada.get(own)).data.used_by).toBe('mobile')
  })

  it('has a part ui_metadata: object, as the client sent it', async () => {
    const ui_metadata = { ui: 'console', version: '5.3' }
    expect((await world.ada.post(path(), { ui_metadata })).data.ui_metadata).toEqual(ui_metadata)
  })

  it('has metadata.deleted: boolean, on removal', async () => {
    const own = await makeNumber(world, world.acme, next())
    expect((await world.ada.get(own)).body.metadata).not.toHaveProperty('deleted')
    expect((await world.ada.delete(own)).body.metadata.deleted).toBe(true)
  })

  it('is in the list of its account: state, features, lists of features, assigned_to, created, updated', async () => {
    const account = await world.account(world.reseller)
    const listed = next()
    const own = await makeNumber(world, account, listed)
    await world.operator.patch(own, {
      features_allowed: ['prepend', 'ringback'],
      features_denied: ['ringback'],
    })
    expect(await world.ross.get(`${account.path}/phone_numbers`)).toSucceedWith({
      cascade_quantity: 0,
      numbers: {
        [listed]: {
          state: 'in_service',
          features: ['local'],
          features_allowed: ['prepend', 'ringback'],
          features_denied: ['ringback'],
          features_available: ['prepend'],
          assigned_to: account.id,
          created: nowOf(world),
          updated: nowOf(world),
        },
      },
    })
  })

  it('has features of these names: carrier_name, cnam, e911, force_outbound, inbound_cnam and so on', async () => {
    const { metadata } = (await world.operator.get(path())).body
    expect((metadata.features as Json).available).toEqual([
      'carrier_name',
      'cnam',
      'e911',
      'force_outbound',
      'inbound_cnam',
      'outbound_cnam',
      'port',
      'prepend',
      'ringback',
    ])
    const local = await makeNumber(world, world.acme, next())
    expect((await world.ada.get(local)).data.features).toEqual(['local'])
  })

  it('is visible only to users of its account and above it', async () => {
    for (const person of [world.uli, world.ross]) expect(await person.get(path())).toSucceed()
    expect(await world.rex.get(path())).toFailWith(403, 'forbidden')
    expect(await world.rex.get(pathOf(world.rival, number))).toFailWith(404, 'bad_identifier')
  })
})
