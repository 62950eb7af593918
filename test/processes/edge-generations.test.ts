// One process notifies all edges of what became stale, also when an edge or a process dies in between.
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf, inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type EdgeServer, startEdgeServer } from '../support/servers/edge-server.ts'
import { lacks } from '../support/servers/installed.ts'
import { startKamailio } from '../support/servers/kamailio.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { type TestAccount, useWorld } from '../support/world/world.ts'

const devices = countOf(50, 200)

const names = (edge: EdgeServer) => edge.told('htable.seti').map(([, name]) => String(name))

const generations = (edge: EdgeServer) => names(edge).filter((name) => !/^(record|ended)\//.test(name))

const told = (edge: EdgeServer, realm: string) =>
  eventually(
    () => generations(edge),
    (realms) => realms.includes(realm),
  )

const configured = (edges: readonly { url: string }[], more: Json = {}) => ({
  adapter: 'kamailio',
  kamailio: { rpc_urls: edges.map(({ url }) => url), timeout_ms: 1000, ...more },
})

describeAnyEngine('edges', (engine) => {
  const world = useWorld(engine, undefined, undefined, { hasTimedJobs: true })
  const open: EdgeServer[] = []

  const edge = async () => {
    const made = await startEdgeServer()
    open.push(made)
    return made
  }

  /** Edges that have had their first word. */
  const edges = async (count: number) => {
    const made: EdgeServer[] = []
    while (made.length < count) made.push(await edge())
    await world.configure('switch', configured(made))
    for (const one of made) {
      await told(one, '*')
      one.calls.length = 0
    }
    return made
  }

  afterEach(async () => {
    await world.configure('switch', { adapter: 'none' })
    await Promise.all(open.splice(0).map((one) => one.close()))
  })

  /** Waits for a notification about a new realm. A notification about all realms includes the new one. */
  const mark = async (one: EdgeServer) => {
    const { realm } = await world.account(world.reseller)
    await eventually(
      () => generations(one),
      (realms) => realms.includes(realm) || realms.includes('*'),
    )
    return realm
  }

  /**
   * The realms that an edge is notified of because of a change. Notifications of one moment come in any order,
   * those of the next moment after them.
   */
  const saidOf = async (one: EdgeServer, change: () => Promise<unknown>) => {
    one.calls.length = 0
    await mark(one)
    one.calls.length = 0
    const marks = [await mark(one)]
    one.calls.length = 0
    await change()
    marks.push(await mark(one), await mark(one))
    return new Set(generations(one).filter((realm) => !marks.includes(realm)))
  }

  it('receive first that everything is stale, and then stale realms', async () => {
    const made = await edges(2)
    const { realm } = await world.account(world.reseller)
    for (const one of made) expect(await told(one, realm)).not.toContain('*')
    const numbers = made.map((one) => one.told('htable.seti').find(([, about]) => about === realm)?.[2])
    expect(numbers[0]).toBeGreaterThan(0)
    expect(numbers[1]).toBe(numbers[0])
  })

  it('are notified of what their answers depend on, and of nothing else', async () => {
    const [one] = (await edges(1)) as [EdgeServer]
    const { operator } = world
    // Each change has its own account, so the realm shows which change caused a notification.
    const place = async () => {
      const account = await world.account(world.reseller)
      const user = await world.user(account)
      const device = await world.device(account, { owner_id: user.id, sip: { username: 'desk' } })
      return { account, user, device }
    }
    type Made = Awaited<ReturnType<typeof place>>
    const lists = { order: 'allow,deny', cidrs: ['192.0.2.0/24'] }
    const silent: ((made: Made) => Promise<unknown>)[] = [
      ({ device }) => operator.patch(device.path, { name: 'Renamed' }),
      ({ user }) => operator.patch(user.path, { first_name: 'Renamed' }),
      ({ account }) => operator.patch(account.path, { name: 'Renamed' }),
      ({ account: { realm } }) =>
        operator.post('/v2/edge/reports', {
          refusals: [
            { realm, username: 'desk', reason: 'wrong_password', sip_code: 403, at: 63_900_000_000 },
          ],
        }),
    ]
    const loud: ((made: Made) => Promise<unknown>)[] = [
      ({ device }) => operator.patch(device.path, { enabled: false }),
      ({ device }) => operator.patch(device.path, { sip: { password: 'another-secret' } }),
      ({ user }) => operator.patch(user.path, { enabled: false }),
      ({ account }) => operator.post(`${account.path}/access_lists`, lists),
      ({ account }) => operator.patch(account.path, { enabled: false }),
      ({ account }) => operator.patch(account.path, { realm: 'moved.test' }),
      ({ device }) => operator.delete(device.path),
      ({ account }) =>
        operator.post(`${account.path}/rate_limits`, { device: { per_minute: { invites: 99 } } }),
    ]
    const made = await Promise.all([...silent, ...loud].map(place))
    const realms = made.slice(silent.length).map(({ account }) => account.realm)
    const told = await saidOf(one, () =>
      Promise.all([...silent, ...loud].map((change, at) => change(made[at] as Made))),
    )
    expect(told).toEqual(new Set([...realms, 'moved.test']))
    // Except for the packet limits, revocations work also while the server is away.
    const kinds = ['device', 'device', 'user', 'account', 'account', 'account', 'device'] as const
    const revoked = kinds.map((kind, at) => `record/${made[silent.length + at]?.[kind].id}`)
    expect(new Set(names(one).filter((name) => name.startsWith('record/')))).toEqual(new Set(revoked))

    const { account } = await place()
    const patch = (path: string, data: Json) => saidOf(one, () => operator.patch(path, data))
    expect(await patch(world.reseller.path, { enabled: false })).toContain('*')
    expect(await patch(world.reseller.path, { enabled: true })).toContain('*')
    const rates = { rate_limits: { device: { per_minute: { invites: 99 } } } }
    expect(await saidOf(one, () => world.configure('frontier', rates))).toContain('*')
    const carrier = { name: 'Ours', rules: ['.*'], gateways: [{ server: 'carrier.test' }] }
    expect(await saidOf(one, () => operator.put(`${account.path}/resources`, carrier))).toContain('*')
  })

  inFullRun(() => {
    it('are notified of the old and the new realm of a device that has its own realm', async () => {
      const [one] = (await edges(1)) as [EdgeServer]
      const account = await world.account(world.reseller)
      const user = await world.user(account)
      const sip = { username: 'roaming', realm: 'Own.test' }
      // The store contains edits of a large record as patches.
      const device = await world.device(account, { owner_id: user.id, sip, note: 'x'.repeat(5000) })
      const { operator } = world
      const moved = await saidOf(one, () => operator.patch(device.path, { sip: { realm: 'other.test' } }))
      expect(moved).toEqual(new Set([account.realm, 'own.test', 'other.test']))
      const disabled = await saidOf(one, () => operator.patch(device.path, { enabled: false }))
      expect(disabled).toEqual(new Set([account.realm, 'other.test']))
      const off = await saidOf(one, () => operator.patch(user.path, { enabled: false }))
      expect(off).toEqual(moved)
      const gone = await saidOf(one, () => operator.delete(device.path))
      expect(gone).toEqual(moved)
    })

    it('get a short notification of many changes', async () => {
      const [one] = (await edges(1)) as [EdgeServer]
      const account: TestAccount = await world.account(world.reseller)
      await told(one, account.realm)
      one.calls.length = 0
      const began = performance.now()
      for (let at = 0; at < devices; at += 1) await world.device(account, { sip: { username: `many${at}` } })
      const end = await world.account(world.reseller)
      await told(one, end.realm)
      const words = generations(one).filter((realm) => realm === account.realm)
      // A word in each 400 ms, and one at the beginning.
      expect(words.length).toBeLessThanOrEqual(2 + (performance.now() - began) / 400)
      expect(words.length).toBeGreaterThan(0)
    })

    it('that are offline do not delay other edges, and are notified that everything is stale when they return', async () => {
      const [here, away] = (await edges(2)) as [EdgeServer, EdgeServer]
      away.fallSilent()
      const first = await world.account(world.reseller)
      await told(here, first.realm)
      await eventually(
        () => world.logEntries.filter(({ message }) => message === 'a SIP edge cannot be reached'),
        ({ length }) => length > 0,
      )
      const titles = async () =>
        ((await world.operator.get(`${world.master.path}/alerts`)).data as Json[]).map(({ title }) => title)
      expect(await titles()).not.toContain('A SIP edge cannot be reached')
      world.clock.advance({ seconds: 61 })
      await eventually(titles, (all) => all.includes('A SIP edge cannot be reached'))
      away.calls.length = 0
      away.speak()
      expect(await told(away, '*')).not.toContain(first.realm)
      await eventually(titles, (all) => !all.includes('A SIP edge cannot be reached'))
      const notes = world.logEntries.filter(({ message }) => message === 'a SIP edge cannot be reached')
      expect(notes.map(({ fields }) => fields?.host)).toEqual([away.host])
      expect(generations(here)).not.toContain('*')
    })
  })
})

const lacking = lacks('kamailio')

describe.skipIf(lacking)(`a real edge${lacking}`, () => {
  describeAnyEngine('stores the generation', (engine) => {
    const world = useWorld(engine, undefined, undefined, { hasTimedJobs: true })

    it('of each change', async () => {
      const edge = await startKamailio()
      try {
        await world.configure('switch', configured([edge], { secret: edge.secret }))
        await eventually(
          () => edge.generation('*'),
          (number) => number !== undefined,
        )
        const account = await world.account(world.reseller)
        const first = await eventually(
          () => edge.generation(account.realm),
          (number) => number !== undefined,
        )
        await world.device(account, { sip: { username: 'desk' } })
        const second = await eventually(
          () => edge.generation(account.realm),
          (number) => number !== first,
        )
        expect(second).toBeGreaterThan(Number(first))
      } finally {
        await world.configure('switch', { adapter: 'none' })
        await edge.close()
      }
    })
  })
})

describeAnyEngine('edges of processes that are killed', (engine) => {
  const servers: ServerProcess[] = []
  const sessions: Session[] = []
  let place: Place

  const begin = async (at: number) => {
    const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    sessions[at]?.close()
    servers[at] = server
    sessions[at] = await openSession(server, sessions[0])
  }

  beforeAll(async () => {
    place = await makePlace(engine)
    await begin(0)
    await freeRequests(sessions[0] as Session)
    // One file has one process.
    if (engine === 'postgres') await begin(1)
  })

  afterAll(async () => {
    for (const session of sessions) session.close()
    await Promise.all(servers.map((server) => server.end()))
    await place.remove()
  })

  it('are notified by the surviving server that everything is stale, and by one server at a time', async () => {
    const edge = await startEdgeServer()
    try {
      const [{ admin }] = sessions as [Session]
      expect(await admin.patch('/v2/system_configs/switch', { default: configured([edge]) })).toSucceed()
      await told(edge, '*')
      for (const at of servers.keys()) {
        edge.calls.length = 0
        const { process } = servers[at] as ServerProcess
        process.kill('SIGKILL')
        await once(process, 'exit')
        await begin(at)
        const made = await (sessions[at] as Session).admin.put('/v2/accounts', {
          name: `Killed ${at}`,
          realm: `killed${at}.test`,
        })
        expect(made.status).toBe(201)
        await eventually(
          () => generations(edge),
          (realms) => realms.includes('*') || realms.includes(`killed${at}.test`),
        )
      }
      const words = edge.told('htable.seti').map(([, realm, number]) => `${realm} ${number}`)
      expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([])
    } finally {
      await edge.close()
    }
  })
})
