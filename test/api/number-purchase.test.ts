import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import { environmentOf, runHere } from '../support/run/command-here.ts'
import { createTestLog } from '../support/run/log.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { clientWithToken, createTransport } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const pathOf = (account: TestAccount, number: string) =>
  `${account.path}/phone_numbers/${encodeURIComponent(number)}`

describeEngines('a number that a search has found', (engine) => {
  const world = useWorld(engine)
  let inventory: Inventory

  beforeAll(async () => {
    inventory = await startInventory()
    await world.configure('number_manager', { carrier_modules: ['knm_other'] })
    await world.configure('number_manager.other', {
      phonebook_url: inventory.url,
      endpoints: ['sip1.example.test', 'sip2.example.test'],
    })
  })
  beforeEach(() => inventory.reset())
  afterAll(() => inventory.close())

  const foundBy = async (account: TestAccount, number: string, data: object = { price: 1 }) => {
    inventory.answer('GET /numbers/US/search', { [number]: data })
    const query = { prefix: number.slice(2) }
    const { data: found } = await world.operator.get(`${account.path}/phone_numbers`, { query })
    expect(found).toEqual([{ number, state: 'discovery' }])
  }
  const sells = (number: string, answer: object) =>
    inventory.answer('PUT /numbers/US/order', { [number]: answer })
  const orders = () => inventory.requests.filter(({ method }) => method === 'PUT')
  const stored = async (number: string) => {
    const [row] = await world.server.store.all<Record<string, string>>(
      'SELECT account_id, state, carrier, hidden FROM numbers WHERE number = $1',
      [number],
    )
    return row && { ...row, hidden: JSON.parse(row.hidden as string) }
  }

  it('is ordered of its carrier when it is activated', async () => {
    // No other test looks there.
    const number = '+15107770101'
    await foundBy(world.acme, number)
    sells(number, { status: 'success', opaque: { order: 7 } })
    const answer = await world.ada.put(`${pathOf(world.acme, number)}/activate`, {})
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({ id: number, state: 'in_service' })
    expect(orders()).toMatchObject([
      {
        path: '/numbers/US/order',
        body: { data: { numbers: [number], gateways: ['sip1.example.test', 'sip2.example.test'] } },
      },
    ])
    expect(await stored(number)).toMatchObject({
      account_id: world.acme.id,
      state: 'in_service',
      carrier: 'knm_other',
      hidden: { carrierData: { order: 7 } },
    })
    inventory.answer('GET /numbers/US/search', { [number]: {} })
    const query = { prefix: '510777' }
    expect((await world.ada.get(`${world.acme.path}/phone_numbers`, { query })).data).toEqual([])
  })

  it('keeps the data of the search if the carrier returns nothing else', async () => {
    const number = '+15105550102'
    await foundBy(world.acme, number, { price: 2 })
    sells(number, { status: 'success' })
    expect(await world.ada.put(`${pathOf(world.acme, number)}/reserve`, {})).toSucceed()
    expect(await stored(number)).toMatchObject({
      state: 'reserved',
      hidden: { carrierData: { price: 2 }, reserveHistory: [world.acme.id] },
    })
  })

  it('is not there for an account that has not found it', async () => {
    const number = '+15105550103'
    await foundBy(world.acme, number)
    sells(number, { status: 'success' })
    expect(await world.rex.put(`${pathOf(world.rival, number)}/activate`, {})).toFailWith(
      404,
      'bad_identifier',
    )
    expect(await world.ada.put(`${pathOf(world.acme, '+15105550104')}/activate`, {})).toFailWith(
      404,
      'bad_identifier',
    )
    expect(orders()).toEqual([])
    expect(await stored(number)).toBeUndefined()
  })

  it.each(['refuses', 'sells something else', 'does not take orders'])(
    'stays where it is when the carrier %s',
    async (what) => {
      const number = '+15105550105'
      await foundBy(world.acme, number)
      if (what !== 'does not take orders') sells(number, what === 'refuses' ? { status: 'error' } : {})
      const answer = await world.unchanged(() => world.ada.put(`${pathOf(world.acme, number)}/activate`, {}))
      expect(answer).toFailWith(500, 'unspecified_fault', {
        code: 500,
        error: 'unspecified_fault',
        message: 'fault by carrier',
        cause: number,
      })
      expect(orders()).toHaveLength(1)
    },
  )

  it('cannot be bought when its inventory is no longer configured', async () => {
    const number = '+15105550106'
    await foundBy(world.acme, number)
    const documents = '/v2/system_configs/number_manager.other'
    const before = (await world.operator.get(documents)).data
    expect(await world.operator.delete(documents)).toSucceed()
    expect(await world.ada.put(`${pathOf(world.acme, number)}/activate`, {})).toFailWith(
      500,
      'unspecified_fault',
      { code: 500, error: 'unspecified_fault', message: 'missing_provider_url' },
    )
    await world.configure('number_manager.other', before.default)
  })

  it('may be read on and taken through another server of the same store', async () => {
    const [first, second] = ['+15106660101', '+15106660102'] as const
    inventory.answer('GET /numbers/US/search', { [first]: {}, [second]: { price: 3 } })
    const list = `${world.acme.path}/phone_numbers`
    await world.ada.get(list, { query: { prefix: '510666' } })
    sells(second, { status: 'success' })
    const { dataDir, databaseUrl } = world.place
    const other = await startServer(
      {
        host: '127.0.0.1',
        port: 0,
        dataDir,
        databaseUrl,
        databaseConnections: 10,
        httpThreads: 1,
        callArchive: undefined,
        masterAccount: 'master',
        masterRealm: 'master.localhost',
        adminUsername: 'operator',
        adminPassword: undefined,
        smtpUrl: undefined,
        dnsServers: [],
        logLevel: 'info',
        logFormat: 'json',
        logColors: false,
        logsAccess: false,
        otlpEndpoint: undefined,
        serviceName: 'crosspoint',
        drainSeconds: 0,
      },
      { clock: world.clock, log: createTestLog().log },
    )
    const transport = createTransport(other.port)
    try {
      const there = clientWithToken(transport.send, world.ada.token)
      const page = await there.get(list, { query: { prefix: '510666', offset: 1 } })
      expect(page.data).toEqual([{ number: second, state: 'discovery' }])
      expect((await there.put(`${pathOf(world.acme, second)}/activate`, {})).status).toBe(201)
    } finally {
      transport.close()
      await other.stop()
    }
    expect(await stored(second)).toMatchObject({ hidden: { carrierData: { price: 3 } } })
  })

  it('is ordered in collections too, each number separately', async () => {
    const [first, second] = ['+15105550107', '+15105550108'] as const
    inventory.answer('GET /numbers/US/search', { [first]: {}, [second]: {} })
    await world.ada.get(`${world.acme.path}/phone_numbers`, { query: { prefix: '510555' } })
    sells(first, { status: 'success' })
    const answer = await world.ada.put(`${world.acme.path}/phone_numbers/collection/activate`, {
      numbers: [first, second],
    })
    expect(Object.keys(answer.data.success)).toEqual([first])
    expect(answer.data.error[second]).toMatchObject({ code: 500, message: 'fault by carrier' })
  })
})

describeEngines('the pools of accounts', (engine) => {
  const world = useWorld(engine)
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'crosspoint-csv-'))
    await world.configure('number_manager', { carrier_modules: ['knm_managed', 'knm_inum'] })
  })
  afterAll(() => rm(folder, { recursive: true }))

  const run = async (action: string, ...lines: string[]) => {
    const file = join(folder, 'pool.csv')
    await writeFile(file, lines.join('\n'))
    const { status, output, errors } = await runHere(environmentOf(world.place), [
      'numbers',
      'pool',
      action,
      file,
    ])
    return { status, told: errors + output }
  }

  const find = async (account: TestAccount, prefix: string) =>
    (await world.operator.get(`${account.path}/phone_numbers`, { query: { prefix, quantity: 9 } })).data
  const discovered = (...numbers: string[]) => numbers.map((number) => ({ number, state: 'discovery' }))
  const entries = () => world.server.store.all('SELECT number, taken_by FROM number_pools ORDER BY number')

  it('are filled from a CSV, give a number to the first who takes it, get it back, and are emptied', async () => {
    const { operator, reseller, acme, rival, master, ada, rex } = world
    const filled = await run(
      'import',
      'e164,account_id,carrier_module',
      `+12025550101,${reseller.id},`,
      `2025550102,${reseller.id},managed`,
      `+12025550103,${acme.id},knm_inum`,
      `12,${acme.id},`,
      `+12025550104,unknown,`,
      `+12025550105,${acme.id},local`,
      `+12025550106,${'f'.repeat(32)},`,
    )
    expect(filled.told.split('\n')).toEqual([
      "line 6: 'unknown' is not an account ID",
      "line 7: carrier 'local' has no pool",
      `there is no account ${'f'.repeat(32)}`,
      '4 numbers added to pools; 2 lines skipped',
      '',
    ])
    expect(filled.status).toBe(1)
    expect(await find(reseller, '202')).toEqual(discovered('+12025550101', '+12025550102'))
    expect(await find(rival, '202')).toEqual(discovered('+12025550101', '+12025550102'))
    expect(await find(acme, '202')).toEqual(discovered('+12025550101', '+12025550102', '+12025550103'))
    expect(await find(master, '202')).toEqual([])

    const number = '+12025550101'
    await ada.get(`${acme.path}/phone_numbers`, { query: { prefix: '202' } })
    await rex.get(`${rival.path}/phone_numbers`, { query: { prefix: '202' } })
    const answers = await Promise.all([
      ada.put(`${pathOf(acme, number)}/activate`, {}),
      rex.put(`${pathOf(rival, number)}/activate`, {}),
    ])
    const won = answers.findIndex(({ status }) => status === 201)
    const winner = won === 0 ? acme : rival
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403])
    expect(await entries()).toContainEqual({ number, taken_by: winner.id })
    expect(await find(world.reseller, '202')).toEqual(discovered('+12025550102'))
    const [row] = await world.server.store.all('SELECT account_id, carrier FROM numbers WHERE number = $1', [
      number,
    ])
    expect(row).toEqual({ account_id: winner.id, carrier: 'knm_managed' })

    const other = '+12025550102'
    await find(rival, '202')
    expect(await operator.put(`${pathOf(rival, other)}/activate`, {})).toSucceed()
    expect(await find(reseller, '202')).toEqual([])
    expect(await operator.delete(pathOf(rival, other))).toSucceed()
    expect(await entries()).toContainEqual({ number: other, taken_by: '' })
    expect(await find(reseller, '202')).toEqual([{ number: other, state: 'available' }])

    const removed = await run('remove', 'account_id,e164', `${reseller.id},+12025550102`)
    expect(removed).toEqual({ status: 0, told: '1 numbers removed from pools; 0 lines skipped\n' })
    expect(await find(reseller, '202')).toEqual([])
  })
})
