// Endpoints: phone numbers.
import { afterAll, describe, expect, it } from 'vitest'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { nowOf } from '../support/world/legs.ts'
import { stockNumbers } from '../support/world/number-stock.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const features = ['force_outbound', 'prepend', 'ringback']
// The operator may also change the carrier.
const featuresOfOperator = ['carrier_name', ...features]

describeAnyEngine('Endpoints: phone numbers', (engine) => {
  let inventory: Inventory
  const world = useWorld(engine, async (built) => {
    await allowAdditions(built)
    inventory = await startInventory()
    await built.configure('crossbar.phone_numbers', { phonebook_url: inventory.url })
    await built.configure('number_manager', { carrier_modules: ['knm_local', 'knm_other'] })
    await built.configure('number_manager.other', { phonebook_url: inventory.url })
  })
  afterAll(() => inventory.close())
  const next = createNumberSource()

  const stampsOf = (number: string, more: object = {}) => ({
    id: number,
    created: nowOf(world),
    modified: nowOf(world),
    carrier_module: 'local',
    features: { available: features, settings: {} },
    ...more,
  })

  /** A number of the reseller, which may add and change numbers. */
  const owned = async (fields: object = {}) => {
    const number = next()
    const path = await makeNumber(world, world.reseller, number, { ...fields })
    return { number, path }
  }

  it('numbers are for their own account and those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/phone_numbers'],
      ['GET', '/v2/accounts/{account_id}/phone_numbers/carriers_info'],
      ['GET', '/v2/accounts/{account_id}/phone_numbers/{phone_number}'],
      ['PUT', '/v2/accounts/{account_id}/phone_numbers/{phone_number}'],
      ['POST', '/v2/accounts/{account_id}/phone_numbers/{phone_number}'],
      ['PATCH', '/v2/accounts/{account_id}/phone_numbers/{phone_number}'],
      ['DELETE', '/v2/accounts/{account_id}/phone_numbers/{phone_number}'],
      ['POST', '/v2/accounts/{account_id}/phone_numbers/check'],
      ['POST', '/v2/accounts/{account_id}/phone_numbers/locality'],
      ['GET', '/v2/accounts/{account_id}/phone_numbers/prefix'],
      ['DELETE', '/v2/accounts/{account_id}/phone_numbers/collection'],
    ]))

  describe('the number in a path', () => {
    it('is URL-encoded: the leading plus is %2B', async () => {
      const { number } = await owned()
      const path = `${world.reseller.path}/phone_numbers/%2B${number.slice(1)}`
      expect((await world.ross.get(path)).data.id).toBe(number)
    })

    it('without a plus is normalized: a 10-digit national number gets +1 in front', async () => {
      const { number } = await owned()
      const path = `${world.reseller.path}/phone_numbers/${number.slice(2)}`
      expect((await world.ross.get(path)).data.id).toBe(number)
    })

    it('a shorter digit string only gets a plus', async () => {
      const path = `${world.reseller.path}/phone_numbers`
      const made = await world.ross.put(`${path}/49301234`)
      expect(made.data.id).toBe('+49301234')
      expect((await world.ross.get(`${path}/%2B49301234`)).data).toEqual(made.data)
    })
  })

  describe('searching', () => {
    it('GET /v2/phone_numbers with prefix, quantity, offset, country: what may be had', async () => {
      const rate_center = { lata: '224', name: 'HACKENSACK', state: 'NJ' }
      const found = (ending: string) => ({
        e164: `+1201555${ending}`,
        formatted_number: `1-201-555-${ending}`,
        npa_nxx: '201555',
        number: `+1201555${ending}`,
        number_id: ending,
        rate_center,
        status: 'Available',
        ten_digit: `201555${ending}`,
      })
      const offer = (ending: string) => [`+1201555${ending}`, { number_id: ending, rate_center }] as const
      inventory.answer('GET /numbers/US/search', Object.fromEntries(['0101', '0102', '0103'].map(offer)))
      const search = (query: Record<string, string | number>) => world.ada.get('/v2/phone_numbers', { query })
      const prefix = '201'
      expect(said(await search({ prefix, quantity: 2, country: 'US' }))).toEqual({
        status: 200,
        data: [found('0101'), found('0102')],
        metadata: {},
      })
      expect(await search({ prefix: '+1201', quantity: 1 })).toSucceedWith([found('0101')])
      expect(await search({ prefix: '+1201', quantity: 1, offset: 1 })).toSucceedWith([found('0102')])
      expect(await search({ prefix: '201', quantity: 2, offset: 0 })).toSucceedWith(
        ['0101', '0102'].map(found),
      )
      expect(await search({ prefix: '201', quantity: 2, offset: 1 })).toSucceedWith([found('0103')])
      expect(await search({ prefix: '301', country: 'DE' })).toSucceedWith([])
    })

    it('GET …/phone_numbers with prefix, quantity, offset: array of number and state', async () => {
      await stockNumbers(
        world.server.store,
        ['+12025550101', '+12025550102'].map((number) => ({ number })),
      )
      const query = { prefix: '202', quantity: 10, offset: 0 }
      expect(said(await world.ada.get(`${world.acme.path}/phone_numbers`, { query }))).toEqual({
        status: 200,
        data: [
          { number: '+12025550101', state: 'available' },
          { number: '+12025550102', state: 'available' },
        ],
        metadata: {},
      })
    })

    it('GET …/phone_numbers/carriers_info: maximal_prefix_length, usable_carriers, usable_creation_states', async () => {
      const path = `${world.master.path}/phone_numbers/carriers_info`
      expect(said(await world.operator.get(path))).toEqual({
        status: 200,
        data: {
          maximal_prefix_length: 10,
          usable_carriers: expect.arrayContaining(['local', 'inventory', 'managed', 'other']),
          usable_creation_states: ['aging', 'available', 'in_service', 'port_in', 'reserved'],
        },
        metadata: {},
      })
    })
  })

  it('GET …/phone_numbers with page_size, start_key, filter_state, created_from: a page of the own numbers', async () => {
    const account = await world.account(world.reseller)
    const numbers = [next(), next(), next()] as const
    for (const number of numbers) await makeNumber(world, account, number)
    const entry = {
      state: 'in_service',
      features: ['local'],
      features_available: featuresOfOperator,
      assigned_to: account.id,
      created: nowOf(world),
      updated: nowOf(world),
    }
    const list = async (query: Record<string, string | number>) =>
      said(
        await world.operator.get(`${account.path}/phone_numbers`, { query: { ...query, ascending: true } }),
      )
    const first = await list({ page_size: 2 })
    expect(first).toEqual({
      status: 200,
      data: { cascade_quantity: 0, numbers: { [numbers[0]]: entry, [numbers[1]]: entry } },
      metadata: {},
      page_size: 2,
      next_start_key: numbers[2],
    })
    expect(await list({ page_size: 2, start_key: numbers[2] })).toEqual({
      status: 200,
      data: { cascade_quantity: 0, numbers: { [numbers[2]]: entry } },
      metadata: {},
      page_size: 1,
      start_key: numbers[2],
    })
    const none = { data: { cascade_quantity: 0, numbers: {} }, page_size: 0 }
    expect(await list({ filter_state: 'reserved' })).toMatchObject(none)
    expect(await list({ created_from: nowOf(world) })).toMatchObject({ page_size: 3 })
  })

  describe('one number', () => {
    it('GET …/{phone_number}: data and metadata; not found: 404', async () => {
      const { number, path } = await owned({ my: 'own' })
      expect(said(await world.ross.get(path))).toEqual({
        status: 200,
        data: { id: number, state: 'in_service', features: ['local'], my: 'own' },
        metadata: stampsOf(number),
      })
      const absent = next()
      expect(said(await world.ross.get(pathOf(world.reseller, absent)))).toEqual(
        saidError(404, 'bad_identifier', {
          message: 'bad identifier',
          not_found: 'The number could not be found',
          cause: absent,
        }),
      )
    })

    it('PUT …/{phone_number}: data with create_with_state and any fields', async () => {
      const number = next()
      const fields = { create_with_state: 'in_service', my: { own: 1 } }
      expect(said(await world.ross.put(pathOf(world.reseller, number), fields))).toEqual({
        status: 201,
        data: { id: number, state: 'in_service', features: ['local'], my: { own: 1 } },
        metadata: stampsOf(number),
      })
      const bare = next()
      expect(said(await world.ross.put(pathOf(world.reseller, bare)))).toEqual({
        status: 201,
        data: { id: bare, state: 'in_service', features: ['local'] },
        metadata: stampsOf(bare),
      })
    })

    it('POST …/{phone_number}: replaces user fields', async () => {
      const { number, path } = await owned({ my: 'own', other: 1 })
      expect(said(await world.ross.post(path, { my: 'new' }))).toEqual({
        status: 200,
        data: { id: number, state: 'in_service', features: ['local'], my: 'new' },
        metadata: stampsOf(number),
      })
    })

    it('PATCH …/{phone_number}: changes fields, others are kept', async () => {
      const { number, path } = await owned({ my: 'own', other: 1 })
      expect(said(await world.ross.patch(path, { my: 'new' }))).toEqual({
        status: 200,
        data: { id: number, state: 'in_service', features: ['local'], my: 'new', other: 1 },
        metadata: stampsOf(number),
      })
    })

    it('DELETE …/{phone_number}: id and state; metadata.deleted true', async () => {
      const { number, path } = await owned()
      expect(said(await world.ross.delete(path))).toEqual({
        status: 200,
        data: { id: number, state: 'available', features: ['local'] },
        metadata: stampsOf(number, { deleted: true }),
      })
    })

    it('DELETE …/{phone_number} with hard=true: administrators only, for others it is a release', async () => {
      const hard = { query: { hard: true } }
      const { path: released } = await owned()
      expect((await world.ross.delete(released, undefined, hard)).data.state).toBe('available')
      const { number, path } = await owned()
      expect(said(await world.operator.delete(path, undefined, hard))).toEqual({
        status: 200,
        data: { id: number, state: 'deleted' },
        metadata: stampsOf(number, {
          deleted: true,
          features: { available: featuresOfOperator, settings: {} },
        }),
      })
    })

    it('adding or changing numbers requires `pvt_wnm_allow_additions` true or the master account', async () => {
      const { ada, acme, operator } = world
      const path = pathOf(acme, next())
      expect(await world.unchanged(() => ada.put(path))).toFailWith(403, 'forbidden')
      expect(await operator.put(path)).toSucceed()
      for (const method of ['POST', 'PATCH'])
        expect(await world.unchanged(() => ada.request(method, path, { my: 1 }))).toFailWith(403, 'forbidden')
      await allowAdditions(world, acme)
      expect((await ada.patch(path, { my: 1 })).data.my).toBe(1)
      expect(await ada.put(pathOf(acme, next()))).toSucceed()
    })
  })

  describe('many numbers', () => {
    const numbersPath = () => `${world.acme.path}/phone_numbers`

    it('POST …/check: number to `success` or `error`', async () => {
      const check = (...numbers: string[]) => world.ada.post(`${numbersPath()}/check`, { numbers })
      inventory.answer('POST /numbers/US/status', [{ number: '4155550100', status: 'success' }])
      expect(said(await check('+14155550100', '+442079460000'))).toEqual({
        status: 200,
        data: { '+14155550100': 'success', '+442079460000': 'error' },
        metadata: {},
      })
      inventory.reset()
      expect(await check('+14155550100')).toSucceedWith({ '+14155550100': 'error' })
    })

    it('POST …/locality: where numbers are, and whose', async () => {
      const place = {
        carrier: { company: 'Bay Bell', dba: 'Bell', id: '17', type: 'CLEC' },
        country: 'US',
        e164_number: '+14155550100',
        geocode: { locality: 'Corte Madera' },
        locality: {
          alt_postal_codes: ['94976'],
          extended_postal_code: '94925-0001',
          latitude: '37.92',
          locality: 'Corte Madera',
          longitude: '-122.52',
          postal_code: '94925',
          province: 'CA',
          switch: 'CRTMCA11',
          type: 'RBOC',
        },
        number: '+14155550100',
        status: 'success',
      }
      inventory.answer('POST /locality/metadata', { '+14155550100': place })
      const answer = await world.ada.post(`${numbersPath()}/locality`, { numbers: ['4155550100'] })
      expect(said(answer)).toEqual({ status: 200, data: { '+14155550100': place }, metadata: {} })
    })

    it('GET …/prefix with city: available prefixes of a US city', async () => {
      const found = { 'San Rafael': { state: 'CA', prefixes: ['415'] } }
      inventory.answer('GET /US/city', found)
      const answer = await world.ada.get(`${numbersPath()}/prefix`, { query: { city: 'San Rafael' } })
      expect(said(answer)).toEqual({ status: 200, data: found, metadata: {} })
    })

    it('DELETE …/collection: data.success by number, _read_only has what a number’s metadata has', async () => {
      const [{ number: one }, { number: two }] = [await owned(), await owned()]
      const path = `${world.reseller.path}/phone_numbers/collection`
      const answer = await world.ross.delete(path, { numbers: [one, two] })
      const item = (number: string) => ({
        id: number,
        state: 'available',
        features: ['local'],
        _read_only: stampsOf(number, { deleted: true }),
      })
      expect(said(answer)).toEqual({
        status: 200,
        data: { success: { [one]: item(one), [two]: item(two) }, error: [] },
        metadata: {},
      })
    })
  })
})
