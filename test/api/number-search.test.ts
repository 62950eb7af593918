import { expect, it } from 'vitest'
import type { Client } from '../support/world/client.ts'
import { type StockedNumber, stockNumbers } from '../support/world/number-stock.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const available = (number: string) => ({ number, state: 'available' })
const reserved = (number: string) => ({ number, state: 'reserved' })

const usable = [
  ...['bandwidth2', 'bandwidth', 'inum', 'local', 'inventory', 'managed', 'mdn', 'other', 'simwood'],
  ...['telnyx', 'vitelity', 'voip_innovations', 'voxbone', 'didww', 'flowroute', 'inteliquent'],
  ...['it_vocal', 'level3', 'o1', 'peerless', 'thinq', 'verizon', 'windstream', 'ziron'],
]

describeEngines('searching for numbers', (engine) => {
  const world = useWorld(engine)

  let area = 200
  /** Stock under an area code that no other test uses. */
  const stocked = async (endings: readonly string[], fields: Partial<StockedNumber> = {}) => {
    area += 1
    const code = String(area)
    const numbers = endings.map((ending) => `+1${code}${ending}`)
    await stockNumbers(
      world.server.store,
      numbers.map((number) => ({ number, ...fields })),
    )
    return { code, numbers }
  }

  type Query = Record<string, string | number>
  const find = (who: Client, query: Query, { path }: TestAccount = world.acme) =>
    who.get(`${path}/phone_numbers`, { query })
  const numbersOf = async (...question: Parameters<typeof find>) =>
    (await find(...question)).data.map(({ number }: { number: string }) => number)

  it('finds what begins with the prefix, up to the quantity', async () => {
    await stockNumbers(world.server.store, [
      { number: '+19993330002' },
      { number: '+19993330001' },
      { number: '+19992220001' },
    ])
    const search = async (prefix: string, quantity: number) =>
      (await find(world.ada, { prefix, quantity })).data
    expect(await search('999333', 1)).toEqual([available('+19993330001')])
    expect(await search('999333', 20)).toEqual([available('+19993330001'), available('+19993330002')])
    expect(await search('999222', 20)).toEqual([available('+19992220001')])
    expect(await search('111111', 20)).toEqual([])
    expect(await find(world.ada, { prefix: '999333' })).toSucceedWith([available('+19993330001')])
  })

  it('finds neither what is in use nor what carriers have that are not asked', async () => {
    const { code, numbers } = await stocked(['5550001'])
    const other = [
      { number: `+1${code}5550002`, state: 'in_service', accountId: world.rival.id },
      { number: `+1${code}5550003`, state: 'aging' },
      { number: `+1${code}5550004`, state: 'reserved', accountId: world.rival.id },
      { number: `+1${code}5550005`, carrier: 'knm_inventory' },
      { number: `+1${code}5550006`, carrier: 'knm_telnyx' },
    ]
    await stockNumbers(world.server.store, other)
    expect(await numbersOf(world.ada, { prefix: code, quantity: 10 })).toEqual(numbers)
    await world.configure('number_manager', { carrier_modules: ['knm_inventory', 'knm_telnyx'] })
    const found = await numbersOf(world.ada, { prefix: code, quantity: 10 })
    expect(found).toEqual([...numbers, `+1${code}5550005`])
    await world.configure('number_manager', { carrier_modules: ['knm_local'] })
  })

  it('takes the beginning of an E.164 number, and national digits of a country', async () => {
    const { code, numbers } = await stocked(['5550001'])
    await stockNumbers(world.server.store, [{ number: '+493012345678' }])
    expect(await numbersOf(world.ada, { prefix: `+1${code}` })).toEqual(numbers)
    expect((await world.ada.get(`${world.acme.path}/phone_numbers?prefix=+1${code}`)).data).toEqual(
      numbers.map(available),
    )
    expect(await numbersOf(world.ada, { prefix: `1${code}` })).toEqual(numbers)
    for (const whole of [`${code}5550001`, `1${code}5550001`, `+1${code}5550001`, `+1${code}555000`])
      expect(await numbersOf(world.ada, { prefix: whole })).toEqual(numbers)
    expect(await numbersOf(world.ada, { prefix: '301', country: 'DE' })).toEqual(['+493012345678'])
    expect(await numbersOf(world.ada, { prefix: '301', country: 'de' })).toEqual(['+493012345678'])
    expect(await numbersOf(world.ada, { prefix: '301' })).toEqual([])
  })

  it('refuses a prefix of fewer than three characters, and whatever else is no search', async () => {
    const asked = (query: Query) => find(world.ada, query)
    expect(await asked({ prefix: '41' })).toBreak({ prefix: ['minLength'] })
    expect(await asked({ prefix: '41555501001' })).toBreak({ prefix: ['maxLength'] })
    expect(await asked({ prefix: '+141555501001' })).toBreak({ prefix: ['maxLength'] })
    expect(await asked({ prefix: '+1415555010012' })).toBreak({ prefix: ['maxLength'] })
    expect(await asked({ prefix: '+14155550100123' })).toBreak({ prefix: ['maxLength'] })
    expect(await asked({ prefix: 'abc' })).toBreak({ prefix: ['pattern'] })
    expect(await asked({ prefix: '415', quantity: 0 })).toBreak({ quantity: ['minimum'] })
    expect(await asked({ prefix: '415', quantity: 'many' })).toBreak({ quantity: ['type'] })
    expect(await asked({ prefix: '415', offset: -1 })).toBreak({ offset: ['minimum'] })
    expect(await asked({ prefix: '415', country: 'USA' })).toBreak({ country: ['maxLength'] })
    expect(await asked({ prefix: '415', country: 'XX' })).toBreak({ country: ['enum'] })
    expect(await world.ada.get('/v2/phone_numbers')).toBreak({ prefix: ['required'] })
  })

  it('reads the next pages of the same result: offset is a page number, and page 0 starts a new search', async () => {
    const { code, numbers } = await stocked(['5550001', '5550002', '5550003', '5550004'])
    const page = (offset: number, quantity = 1) => numbersOf(world.ada, { prefix: code, offset, quantity })
    expect(await page(1)).toEqual([])
    expect(await page(0)).toEqual([numbers[0]])
    expect(await page(1)).toEqual([numbers[1]])
    expect(await page(1, 2)).toEqual(numbers.slice(2))
    expect(await page(1, 3)).toEqual(numbers.slice(3))
    expect(await page(2, 10)).toEqual([])
    expect(await page(4)).toEqual([])
    const earlier = `+1${code}5550000`
    await stockNumbers(world.server.store, [{ number: earlier }])
    expect(await page(1)).toEqual([numbers[1]])
    expect(await page(0, 2)).toEqual([earlier, numbers[0]])
    expect(await page(1)).toEqual([numbers[0]])
  })

  it('answers with 500 numbers at most', async () => {
    const endings = Array.from({ length: 510 }, (_, index) => `666${String(index).padStart(4, '0')}`)
    const { code, numbers } = await stocked(endings)
    const all = await numbersOf(world.operator, { prefix: code, quantity: 100_000 })
    expect(all).toEqual(numbers.slice(0, 500))
    await world.configure('number_manager', { maximum_search_quantity: 7 })
    expect(await numbersOf(world.operator, { prefix: code, quantity: 100_000 })).toHaveLength(7)
    await world.configure('number_manager', { maximum_search_quantity: 500 })
  })

  it('finds numbers that the account and its reseller have reserved, but not those of other accounts', async () => {
    const { code } = await stocked([])
    const [own, above, child] = ['1', '2', '3'].map((end) => `+1${code}555000${end}`) as [
      string,
      string,
      string,
    ]
    await stockNumbers(world.server.store, [
      { number: own, state: 'reserved', accountId: world.acme.id },
      { number: above, state: 'reserved', accountId: world.reseller.id },
      { number: child, state: 'reserved', accountId: world.rival.id },
    ])
    const search = async (account: TestAccount) =>
      (await find(world.operator, { prefix: code, quantity: 9 }, account)).data
    expect(await search(world.acme)).toEqual([own, above].map(reserved))
    expect(await search(world.rival)).toEqual([above, child].map(reserved))
    expect(await search(world.reseller)).toEqual([reserved(above)])
  })

  it('is refused to strangers', async () => {
    expect(await find(world.rex, { prefix: '415' }, world.acme)).toFailWith(403, 'forbidden')
    expect(await find(world.anonymous, { prefix: '415' })).toFailWith(401, 'invalid_credentials')
  })

  it('asks the carriers that the reseller has chosen', async () => {
    const { code, numbers } = await stocked(['5550001'], { carrier: 'knm_inventory' })
    const config = `${world.reseller.path}/configs/number_manager`
    expect(await numbersOf(world.ada, { prefix: code })).toEqual([])
    expect(await world.ross.post(config, { carrier_modules: ['knm_nothing'] })).toBreak({
      'carrier_modules.0': ['enum'],
    })
    expect(await world.ross.post(config, { carrier_modules: ['knm_inventory'] })).toSucceed()
    expect(await numbersOf(world.ada, { prefix: code })).toEqual(numbers)
    expect(await numbersOf(world.operator, { prefix: code }, world.master)).toEqual([])
    expect(await world.ross.delete(config)).toSucceed()
    expect(await numbersOf(world.ada, { prefix: code })).toEqual([])
  })

  it('has no further page of a result that an earlier version stored', async () => {
    const { code, numbers } = await stocked(['5550001', '5550002'])
    expect(await numbersOf(world.ada, { prefix: code, quantity: 1 })).toEqual([numbers[0]])
    const stock = [['knm_local', 'available', numbers.join(' ')]]
    const offers = JSON.stringify({ stock, foreign: [] })
    await world.server.store.writeUnrecorded([
      {
        sql: 'UPDATE number_searches SET offers = $1 WHERE offers LIKE $2',
        params: [offers, `%${numbers[0]}%`],
      },
    ])
    const query = { prefix: code, quantity: 1, offset: 1 }
    expect(await find(world.ada, query)).toSucceedWith([])
  })

  // The last one: tokens run out with the clock.
  it('keeps results apart by account and by token, and for an hour', async () => {
    const { code, numbers } = await stocked(['5550001', '5550002'])
    const { operator, acme, rival, ross } = world
    await find(ross, { prefix: code })
    expect(await numbersOf(ross, { prefix: code, offset: 1 }, acme)).toEqual([numbers[1]])
    expect(await numbersOf(ross, { prefix: code, offset: 1 }, rival)).toEqual([])
    expect(await numbersOf(operator, { prefix: code, offset: 1 }, acme)).toEqual([])
    world.clock.advance({ minutes: 40 })
    const later = world.clientWithToken(await world.tokenOf(world.reseller, ross.id))
    await find(later, { prefix: code })
    world.clock.advance({ minutes: 59 })
    expect(await numbersOf(later, { prefix: code, offset: 1 })).toEqual([numbers[1]])
    await world.server.scheduler.runNow('number-searches')
    const left = await world.server.store.all('SELECT 1 FROM number_searches WHERE account_id = $1', [
      acme.id,
    ])
    expect(left).toHaveLength(1)
    world.clock.advance({ minutes: 2 })
    await world.server.scheduler.runNow('number-searches')
    expect(await world.server.store.all('SELECT 1 FROM number_searches')).toEqual([])
  })
})

describeEngines('the search that belongs to no account', (engine) => {
  const world = useWorld(engine, async ({ server }) =>
    stockNumbers(server.store, [
      { number: '+14152338397' },
      { number: '+14152338421', carrier: 'knm_inventory' },
      { number: '+493012345678' },
    ]),
  )
  const find = (who: Client, query: Record<string, string>) => who.get('/v2/phone_numbers', { query })

  it('returns more details of each number', async () => {
    expect(await find(world.ada, { prefix: '415' })).toSucceedWith([
      {
        e164: '+14152338397',
        formatted_number: '1-415-233-8397',
        npa_nxx: '415233',
        number: '+14152338397',
        number_id: '+14152338397',
        status: 'Available',
        ten_digit: '4152338397',
      },
    ])
    expect(await find(world.ada, { prefix: '301', country: 'DE' })).toSucceedWith([
      {
        e164: '+493012345678',
        formatted_number: '+493012345678',
        number: '+493012345678',
        number_id: '+493012345678',
        status: 'Available',
      },
    ])
  })

  it('needs no token if a reseller has opened the search', async () => {
    const restricted = [404, 'number search restricted', {}] as const
    const { anonymous, reseller, acme, ross, rex } = world
    const open = { prefix: '416', reseller_id: reseller.id }
    await stockNumbers(world.server.store, [
      { number: '+14162338397' },
      { number: '+14162338421', carrier: 'knm_inventory' },
      { number: '+14162330000', state: 'reserved', accountId: reseller.id },
    ])
    expect(await find(anonymous, { prefix: '416' })).toFailWith(...restricted)
    expect(await find(anonymous, open)).toFailWith(...restricted)
    expect(await find(anonymous, { ...open, reseller_id: acme.id })).toFailWith(
      404,
      'nonexistent reseller_id',
      {},
    )
    const config = `${reseller.path}/configs/number_manager`
    expect(await ross.post(config, { unauthorized_numbers_lookup: true })).toSucceed()
    const { data } = await find(anonymous, { ...open, quantity: '9' })
    expect(data.map(({ number }: { number: string }) => number)).toEqual(['+14162338397'])
    expect((await find(anonymous, { ...open, offset: '0' })).status).toBe(200)
    expect((await find(anonymous, { ...open, prefix: '41' })).status).toBe(400)
    // An account sees the numbers that its own reseller has reserved for it. The search of another reseller
    // stays closed to it.
    expect((await find(rex, { ...open, quantity: '9' })).data).toHaveLength(2)
    expect(await ross.delete(config)).toSucceed()
    expect((await find(rex, { ...open, quantity: '9' })).data).toHaveLength(2)
    expect(await find(anonymous, open)).toFailWith(...restricted)
    const lone = await world.admin(await world.account())
    expect(await find(lone, open)).toFailWith(...restricted)
    await world.configure('number_manager', { unauthorized_numbers_lookup: true })
    expect((await find(anonymous, open)).data).toHaveLength(1)
    expect((await find(anonymous, { ...open, reseller_id: world.master.id })).data).toHaveLength(1)
    await world.configure('number_manager', { unauthorized_numbers_lookup: false })
  })
})

describeEngines('carrier information', (engine) => {
  const world = useWorld(engine)
  const info = (who: Client, { path }: TestAccount, query: Record<string, string> = {}) =>
    who.get(`${path}/phone_numbers/carriers_info`, { query })
  const told = (maximal: number, states: string[]) => ({
    maximal_prefix_length: maximal,
    usable_carriers: usable,
    usable_creation_states: states,
  })

  it('names the states that the caller may create numbers in', async () => {
    const { operator, ross, ada, master, reseller, acme } = world
    await operator.patch(reseller.path, { wnm_allow_additions: true })
    const all = ['aging', 'available', 'in_service', 'port_in', 'reserved']
    expect(await info(operator, master)).toSucceedWith(told(10, all))
    expect(await info(operator, acme)).toSucceedWith(told(10, all))
    expect(await info(ross, acme)).toSucceedWith(told(10, ['in_service', 'reserved']))
    expect(await info(ada, acme)).toSucceedWith(told(10, []))
    expect(await info(ada, reseller)).toFailWith(403, 'forbidden')
  })

  it('returns the prefix length that every asked carrier can search by', async () => {
    const { ada, ross, acme, reseller, master } = world
    const lengthWith = async (...modules: string[]) => {
      await world.configure('number_manager', { carrier_modules: modules })
      return (await info(ada, acme)).data.maximal_prefix_length
    }
    expect(await lengthWith('knm_local', 'knm_telnyx')).toBe(3)
    expect(await lengthWith('knm_managed')).toBe(10)
    expect(await lengthWith('knm_other')).toBe(10)
    expect(await lengthWith('knm_local')).toBe(10)
    await ross.post(`${reseller.path}/configs/number_manager`, { carrier_modules: ['knm_simwood'] })
    expect((await info(ada, acme)).data.maximal_prefix_length).toBe(3)
    expect((await info(ada, acme, { reseller_id: master.id })).data.maximal_prefix_length).toBe(10)
    expect(await info(ada, acme, { reseller_id: acme.id })).toFailWith(404, 'nonexistent reseller_id', {})
    await ross.delete(`${reseller.path}/configs/number_manager`)
  })

  it('knows nothing of numbers as long as no inventory is configured', async () => {
    const path = `${world.acme.path}/phone_numbers`
    const numbers = ['+14155550100', '4155550101', '+442079460000', 'abc']
    expect(await world.ada.post(`${path}/check`, { numbers })).toSucceedWith({
      '+14155550100': 'error',
      '+14155550101': 'error',
      '+442079460000': 'error',
      abc: 'error',
    })
    expect(await world.ada.post(`${path}/locality`, { numbers })).toFailWith(
      500,
      'init failed',
      'could not get locality url',
    )
    expect(await world.ada.get(`${path}/prefix`, { query: { city: 'Berkeley' } })).toFailWith(
      500,
      'init failed',
      'Unable to acquire numbers missing carrier url',
    )
    expect(await world.ada.get(`${path}/prefix`)).toFailWith(404, 'bad_identifier')
  })

  it('asks for a list of different numbers', async () => {
    const { ada, acme } = world
    for (const place of ['check', 'locality']) {
      const asked = (data: object) => ada.post(`${acme.path}/phone_numbers/${place}`, data)
      expect(await asked({})).toFailWith(400, 'validation error', {
        numbers: { required: { message: 'list of numbers missing' } },
      })
      expect(await asked({ numbers: '+14155550100' })).toFailWith(400, 'validation error', {
        numbers: { type: { message: 'numbers must be a list', target: 'array' } },
      })
      expect(await asked({ numbers: [] })).toFailWith(400, 'validation error', {
        numbers: { minimum: { message: 'minimum 1 number required', target: 1 } },
      })
      expect(await asked({ numbers: ['4155550100', '+14155550100'] })).toFailWith(400, 'validation error', {
        numbers: { uniqueItems: { message: 'some numbers appear twice' } },
      })
      expect(await asked({ numbers: [1] })).toBreak({ numbers: ['type'] })
    }
  })
})
