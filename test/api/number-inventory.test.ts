import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { stockNumbers } from '../support/world/number-stock.ts'
import { describeAnyEngine, useWorld, type World } from '../support/world/world.ts'

const misdeeds = ['hangs', 'breaks', 'floods', 'no json', 'refuses', 'fails', 'redirects'] as const

const useInventory = (world: World) => {
  const own = {} as { inventory: Inventory }
  beforeEach(async () => {
    own.inventory = await startInventory()
    const { url } = own.inventory
    await world.configure('number_manager', {
      carrier_modules: ['knm_local', 'knm_other'],
      number_search_timeout_ms: 5000,
    })
    await world.configure('number_manager.other', { phonebook_url: `${url}/`, endpoints: 'sip.example.test' })
    await world.configure('crossbar.phone_numbers', { phonebook_url: url })
  })
  afterEach(() => own.inventory.close())
  return own
}

describeAnyEngine('the inventory service', (engine) => {
  const world = useWorld(engine)
  const own = useInventory(world)
  const numbersPath = () => `${world.acme.path}/phone_numbers`

  const search = (query: Record<string, string | number>, who = world.ada) =>
    who.get(numbersPath(), { query })
  const check = (numbers: string[]) => world.ada.post(`${numbersPath()}/check`, { numbers })
  const locality = (numbers: string[]) => world.ada.post(`${numbersPath()}/locality`, { numbers })
  const cities = (city: string) => world.ada.get(`${numbersPath()}/prefix`, { query: { city } })

  it('is searched together with the local stock', async () => {
    await stockNumbers(world.server.store, [
      { number: '+15102220002' },
      { number: '+15102220003', state: 'in_service', accountId: world.rival.id },
    ])
    own.inventory.answer('GET /numbers/US/search', {
      '+15102220004': { rate: 1 },
      '5102220001': {},
      '+15102220002': {},
      '+15102220003': {},
      '+14152220001': {},
      nonsense: {},
    })
    expect(await search({ prefix: '510', quantity: 9 })).toSucceedWith([
      { number: '+15102220001', state: 'discovery' },
      { number: '+15102220002', state: 'available' },
      { number: '+15102220004', state: 'discovery' },
    ])
    expect(own.inventory.requests).toEqual([
      {
        method: 'GET',
        path: '/numbers/US/search?prefix=+1510&limit=500&offset=0',
        authorization: undefined,
        body: undefined,
      },
    ])
    expect((await search({ prefix: '510', quantity: 1, offset: 2 })).data).toEqual([
      { number: '+15102220004', state: 'discovery' },
    ])
    expect(own.inventory.requests).toHaveLength(1)
  })

  it('receives the credentials of its address, which no log contains', async () => {
    const url = own.inventory.url.replace('//', '//crosspoint:hush%21@')
    await world.configure('number_manager.other', { phonebook_url: url })
    own.inventory.answer('GET /numbers/DE/search', { '+4930123456': {} })
    const found = await search({ prefix: '301', country: 'DE' })
    expect(found.data).toEqual([{ number: '+4930123456', state: 'discovery' }])
    const basic = `Basic ${Buffer.from('crosspoint:hush!').toString('base64')}`
    expect(own.inventory.requests.map(({ authorization }) => authorization)).toEqual([basic])
    own.inventory.behave('breaks')
    await search({ prefix: '301', country: 'DE' })
    expect(JSON.stringify(world.logEntries)).toContain('unreachable')
    expect(JSON.stringify(world.logEntries)).not.toMatch(/hush|crosspoint:/)
  })

  it('may tell details of its numbers', async () => {
    const rate_center = { lata: '722', name: 'OAKLAND', state: 'CA', secret: 'x' }
    own.inventory.answer('GET /numbers/US/search', {
      '+15105550100': { rate_center, status: 'Reserved for you', number_id: 'AB-1', key: 'hidden' },
    })
    expect(await world.ada.get('/v2/phone_numbers', { query: { prefix: '510555' } })).toSucceedWith([
      {
        e164: '+15105550100',
        formatted_number: '1-510-555-0100',
        npa_nxx: '510555',
        number: '+15105550100',
        number_id: 'AB-1',
        rate_center: { lata: '722', name: 'OAKLAND', state: 'CA' },
        status: 'Reserved for you',
        ten_digit: '5105550100',
      },
    ])
  })

  it('is asked what it knows of numbers', async () => {
    own.inventory.answer('POST /numbers/US/status', [
      { number: '4155550100', status: 'success' },
      { number: '+14155550101', status: 'unavailable' },
      { number: '4155559999', status: 'success' },
      'nonsense',
    ])
    expect(await check(['4155550100', '+14155550101', '+442079460000'])).toSucceedWith({
      '+14155550100': 'success',
      '+14155550101': 'unavailable',
      '+442079460000': 'error',
    })
    expect(own.inventory.requests[0]?.body).toEqual({
      data: ['4155550100', '4155550101', '+442079460000'],
    })
  })

  it('returns where numbers are located', async () => {
    const entry = { country: 'US', e164_number: '+14155550100', number: '+14155550100', status: 'success' }
    const place = {
      carrier: { company: 'A', dba: 'B', id: '1', type: 'CLEC' },
      locality: { locality: 'Corte' },
    }
    own.inventory.answer('POST /locality/metadata', { '+14155550100': { ...entry, ...place } })
    expect(await locality(['4155550100'])).toSucceedWith({ '+14155550100': { ...entry, ...place } })
    expect(own.inventory.requests[0]?.body).toEqual({ data: ['+14155550100'] })
    await world.configure('number_manager.locality', { url: `${own.inventory.url}/places` })
    own.inventory.answer('POST /places/locality/metadata', { '+14155550100': entry })
    expect(await locality(['4155550100'])).toSucceedWith({ '+14155550100': entry })
  })

  it('returns the prefixes of cities, and an error for an unknown city', async () => {
    const found = { 'San Rafael': { state: 'CA', prefixes: ['415'] } }
    own.inventory.answer('GET /US/city', found)
    expect(await cities('San R')).toSucceedWith(found)
    expect(own.inventory.requests[0]?.path).toBe('/US/city?pattern=San+R')
    own.inventory.reset()
    expect(await cities('Nowhere')).toFailWith(500, 'init failed', {
      data: {},
      error: 404,
      message: 'Not Found',
      status: 'error',
    })
  })

  it.each(misdeeds)('does not break searches when it %s', async (manner) => {
    const prefix = `93${misdeeds.indexOf(manner)}`
    const number = `+1${prefix}2220000`
    await stockNumbers(world.server.store, [{ number }])
    own.inventory.behave(manner)
    const found = await search({ prefix, quantity: 99 })
    expect(found).toSucceedWith([{ number, state: 'available' }])
    expect(own.inventory.requests.map(({ path }) => path.split('?')[0])).toEqual(['/numbers/US/search'])
  })

  it.each(misdeeds.filter((manner) => manner !== 'hangs'))(
    'makes dependent requests fail when it %s',
    async (manner) => {
      own.inventory.behave(manner)
      expect(await check(['+14155550100'])).toSucceedWith({ '+14155550100': 'error' })
      expect(await locality(['+14155550100'])).toFailWith(500, 'init failed', 'number locality lookup failed')
      const answer = await cities('Berkeley')
      if (manner === 'refuses') expect(answer).toSucceedWith({})
      else expect(answer).toFailWith(500, 'init failed')
    },
  )
})
