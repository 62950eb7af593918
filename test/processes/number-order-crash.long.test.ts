// A number is ordered once and belongs to one account or to none, wherever the server dies.
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createChance, seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { createNumberSource } from '../support/world/numbers.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const rounds = 5

describeEngines('a server that is killed while numbers change hands', (engine) => {
  let place: Place
  let inventory: Inventory
  let server: ServerProcess
  let session: Session
  let account: string
  const next = createNumberSource('+1510777')
  const { below } = createChance(seed)

  const begin = async (known?: Session) => {
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    known?.close()
    session = await openSession(server, known)
  }

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    inventory = await startInventory()
    inventory.sellEverything()
    await begin()
    await freeRequests(session)
    const { admin, masterId } = session
    const settings = '/v2/system_configs/number_manager'
    await admin.put(settings, { default: { carrier_modules: ['knm_other'] } })
    await admin.put(`${settings}.other`, { default: { phonebook_url: inventory.url } })
    const made = await admin.put(`/v2/accounts/${masterId}`, { name: 'Buyer', realm: 'buyer.test' })
    account = `/v2/accounts/${made.data.id}`
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await inventory.close()
    await place.remove()
  })

  const pathOf = (number: string) => `${account}/phone_numbers/${encodeURIComponent(number)}`

  const withStore = async <T>(act: (db: ReturnType<typeof openSqlite>) => Promise<T>): Promise<T> => {
    const { databaseUrl, dataDir } = place
    const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
    try {
      return await act(db)
    } finally {
      await db.close()
    }
  }

  const found = async () => {
    const number = next()
    inventory.answer('GET /numbers/US/search', { [number]: {} })
    const { data } = await session.admin.get(`${account}/phone_numbers`, { query: { prefix: '510777' } })
    expect(data).toEqual([{ number, state: 'discovery' }])
    return number
  }

  /** A request to a server that dies has no response. */
  const ask = (request: Promise<unknown>) => void request.catch(() => undefined)
  const activate = (number: string) => session.admin.put(`${pathOf(number)}/activate`)

  /** Kills the server, lets the next one finish all open work, and returns the state after that. */
  const killed = async () => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
    inventory.letGo()
    inventory.behave('works')
    const hurry = "UPDATE work SET due_at = 0 WHERE state = 'waiting'"
    await withStore((db) => db.write({ statements: [{ sql: hurry, params: [] }], stale: [] }))
    await begin(session)
    const open = "SELECT id FROM work WHERE state = 'waiting' AND kind LIKE 'number%'"
    await eventually(
      () => withStore((db) => db.scan(open)),
      (left) => left.length === 0,
    )
  }

  /** Whether the account has the number for good; and everything that it has was ordered once. */
  const expectEven = async (number: string) => {
    const { data } = await session.admin.get(`${account}/phone_numbers`, { query: { page_size: 500 } })
    const owned = Object.entries<{ pending?: true }>(data.numbers)
    expect(owned.filter(([, { pending }]) => pending)).toEqual([])
    expect(inventory.handedOut()).toEqual(owned.map(([one]) => one).sort())
    return owned.some(([one]) => one === number)
  }

  it('anywhere between a purchase and its answer: the number is ordered once, or not at all', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const number = await found()
      ask(activate(number))
      await pause(below(40))
      await killed()
      await expectEven(number)
    }
  })

  it('after the commit and before the order: the number is ordered by the next one', async () => {
    const number = await found()
    inventory.requests.splice(0)
    inventory.behave('ponders')
    ask(activate(number))
    await eventually(
      () => inventory.requests.length,
      (count) => count === 1,
    )
    expect([...inventory.ordered.values()]).not.toContain(number)
    await killed()
    expect(await expectEven(number)).toBe(true)
    expect(new Set(inventory.requests.map(({ key }) => key)).size).toBe(1)
  })

  it('after the order and before its outcome: the number is asked for again with the same key', async () => {
    const number = await found()
    inventory.requests.splice(0)
    inventory.behave('holds')
    ask(activate(number))
    await eventually(
      () => [...inventory.ordered.values()],
      (all) => all.includes(number),
    )
    await killed()
    expect(await expectEven(number)).toBe(true)
    const keys = inventory.requests.map(({ key }) => key)
    expect(keys).toEqual([keys[0], keys[0]])
  })

  it('while a number is given back: it is given back once', async () => {
    const number = await found()
    expect((await activate(number)).status).toBe(201)
    inventory.requests.splice(0)
    inventory.behave('holds')
    ask(session.admin.delete(pathOf(number)))
    await eventually(
      () => [...inventory.released.values()],
      (all) => all.includes(number),
    )
    await killed()
    expect(await expectEven(number)).toBe(false)
    expect(new Set(inventory.requests.map(({ key }) => key)).size).toBe(1)
  })

  it('while a task orders: its rows are done once, and say so', async () => {
    const numbers = [await found(), await found()]
    for (const number of numbers) {
      inventory.answer('GET /numbers/US/search', { [number]: {} })
      await session.admin.get(`${account}/phone_numbers`, { query: { prefix: '510777' } })
      expect((await activate(number)).status).toBe(201)
      expect((await session.admin.delete(pathOf(number))).status).toBe(200)
    }
    await eventually(
      () => inventory.handedOut(),
      (left) => numbers.every((number) => !left.includes(number)),
    )
    inventory.requests.splice(0)
    inventory.behave('holds')
    const body = Buffer.from(`e164\n${numbers.join('\n')}\n`)
    const headers = { 'content-type': 'text/csv' }
    const query = { category: 'number_management', action: 'reserve' }
    const made = await session.admin.put(`${account}/tasks`, undefined, { body, headers, query })
    const task = `${account}/tasks/${made.body.metadata.id}`
    await session.admin.patch(task)
    await eventually(
      () => inventory.handedOut(),
      (left) => numbers.every((number) => left.includes(number)),
    )
    await killed()
    const ended = await eventually(
      async () => (await session.admin.get(task)).body.metadata,
      ({ status }) => status !== 'executing',
    )
    expect(ended).toMatchObject({ status: 'success', success_count: 2, failure_count: 0 })
    for (const number of numbers) expect(await expectEven(number)).toBe(true)
    expect(new Set(inventory.requests.map(({ key }) => key)).size).toBe(2)
  })
})
