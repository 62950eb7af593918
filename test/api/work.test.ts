// The work queue for operators, and how they retry jobs.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const phone = { mac_address: '00:11:22:33:44:55', provision: { endpoint_brand: 'yealink' } }

describeAnyEngine('the work', (engine) => {
  const world = useWorld(engine)
  let service: Server
  let status = 500

  beforeAll(async () => {
    service = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end('no room'))
    })
    await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening))
  })

  afterAll(() => service.close())

  const gregorianNow = () => Math.floor(world.clock.now() / 1000) + 62_167_219_200

  /** Phones of a new account that the provisioning service has not taken. */
  const untaken = async (count: number) => {
    const { port } = service.address() as AddressInfo
    await world.configure('provisioner', { provisioning_url: `http://127.0.0.1:${port}/phones` })
    status = 500
    const account = await world.account(world.reseller)
    const ids: string[] = []
    for (let index = 0; index < count; index += 1) {
      const device = await world.device(account, {
        ...phone,
        name: `Phone ${index}`,
        mac_address: `00:11:22:33:44:0${index}`,
      })
      ids.push(device.id)
    }
    await world.server.scheduler.runNow('provisioning')
    return { account, ids: ids.sort() }
  }

  const list = async (query: Record<string, string | number>) =>
    (await world.operator.get('/v2/work', { query })).body as unknown as {
      data: Json[]
      next_start_key?: string
    }

  it('is shown by kind, state and account, without its payload', async () => {
    const { account, ids } = await untaken(1)
    const { data } = await list({ kind: 'provisioning', state: 'waiting', account_id: account.id })
    expect(data).toEqual([
      {
        id: ids[0],
        kind: 'provisioning',
        account_id: account.id,
        state: 'waiting',
        attempts: 1,
        due: gregorianNow() + 60,
        since: gregorianNow(),
        outcome: '500 no room',
      },
    ])
    expect(await world.operator.get(`/v2/work/provisioning/${ids[0]}`)).toSucceedWith(data[0])
    expect((await list({ state: 'done', account_id: account.id, kind: 'provisioning' })).data).toEqual([])
  })

  it('is shown in pages', async () => {
    const { account, ids } = await untaken(5)
    const filter = { kind: 'provisioning', account_id: account.id, page_size: 2 }
    const seen: unknown[] = []
    let page = await list(filter)
    for (;;) {
      seen.push(...page.data.map(({ id }) => id))
      if (page.next_start_key === undefined) break
      page = await list({ ...filter, start_key: page.next_start_key })
    }
    expect(seen).toEqual(ids.toReversed())
  })

  it('is tried again when an operator asks for it, and only while it waits', async () => {
    const { ids } = await untaken(1)
    const path = `/v2/work/provisioning/${ids[0]}`
    status = 200
    expect((await world.operator.post(`${path}/retry`)).status).toBe(200)
    await world.server.scheduler.runNow('provisioning')
    const { data } = await world.operator.get(path)
    expect(data).toMatchObject({
      state: 'done',
      attempts: 2,
      outcome: '200 no room',
      finished: gregorianNow(),
    })
    expect(data).not.toHaveProperty('due')
    const late = await world.unchanged(() => world.operator.post(`${path}/retry`))
    expect(late).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: ids[0] })
    const never = await world.unchanged(() => world.operator.post('/v2/work/provisioning/none/retry'))
    expect(never).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: 'none' })
  })

  it('is found under ids that hold anything', async () => {
    await world.server.store.writeUnrecorded([
      {
        sql: `INSERT INTO work (kind, id, account_id, subject, sequence, state, due_at, since, attempts, marks, payload,
          outcome, finished_at) VALUES ('synchronization', $1, $2, '', 0, 'done', 0, 0, 1, 1, '{}', 'synced', 1000)`,
        params: ['a/["http","v","i"]', world.acme.id],
      },
    ])
    const path = `/v2/work/synchronization/${encodeURIComponent('a/["http","v","i"]')}`
    expect(await world.operator.get(path)).toSucceedWith({
      id: 'a/["http","v","i"]',
      kind: 'synchronization',
      account_id: world.acme.id,
      state: 'done',
      attempts: 1,
      since: 62_167_219_200,
      outcome: 'synced',
      finished: 62_167_219_201,
    })
  })

  it('is listed by no unknown state', async () => {
    expect(await world.operator.get('/v2/work', { query: { state: 'lost' } })).toBreak({ state: ['enum'] })
  })

  it('is visible to admins of the master account only', async () => {
    const { ids } = await untaken(1)
    const path = `/v2/work/provisioning/${ids[0]}`
    for (const who of [world.ross, world.ada, world.acmeKey]) {
      expect(await who.get('/v2/work')).toFailWith(403, 'forbidden')
      expect(await who.get(path)).toFailWith(403, 'forbidden')
      expect(await world.unchanged(() => who.post(`${path}/retry`))).toFailWith(403, 'forbidden')
    }
    expect(await world.anonymous.get('/v2/work')).toFailWith(401, 'invalid_credentials')
  })
})
