// The typed client: events that are followed, over broken lines and servers that end.
import { afterEach, expect, it } from 'vitest'
import {
  type CrosspointCore,
  type CrosspointEvent,
  createCrosspoint,
  type FollowOptions,
} from '../../client/src/core.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { makePlace } from '../support/servers/databases.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { feedSettled } from '../support/servers/web-sockets.ts'
import { clientAs, serverOf } from '../support/world/crosspoint.ts'
import { freeRequests, openSession } from '../support/world/session.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('events that are followed', (engine) => {
  const world = useWorld(engine)
  // A killed server needs a long time to restart on a busy machine.
  const patienceMs = 60_000
  const leaving: (() => unknown)[] = []
  afterEach(async () => {
    for (const leave of leaving.splice(0).reverse()) await leave()
  })

  /** A follower, the events that it has received, and its state. */
  const follow = (client: CrosspointCore, options: FollowOptions) => {
    const gone = new AbortController()
    const heard: CrosspointEvent[] = []
    const states: string[] = []
    const onState = (state: string) => void states.push(state)
    const reading = (async () => {
      for await (const event of client.follow({ ...options, onState, signal: gone.signal })) heard.push(event)
    })()
    const leave = async () => {
      gone.abort()
      await reading
    }
    leaving.push(leave)
    return {
      heard,
      states,
      reading,
      leave,
      names: () => heard.flatMap(({ after }) => (typeof after?.name === 'string' ? [after.name] : [])),
      live: (times = 1) =>
        eventually(
          () => states,
          (all) => all.filter((state) => state === 'live').length >= times,
        ),
      heardAll: (count: number) =>
        eventually(
          () => heard,
          ({ length }) => length >= count,
          patienceMs,
        ),
    }
  }

  const cuttable = async (server = serverOf(world)) => {
    const line = await createCuttable(server)
    leaving.push(() => line.close())
    return line
  }

  it('come as they happen, of the types and accounts that are asked for', async () => {
    const account = await world.account()
    const below = await world.account(account)
    const client = await clientAs(world.operator, serverOf(world))
    // Earlier commits get earlier positions in the feed.
    await feedSettled(world.server)
    const own = follow(client, { accountId: account.id, types: ['device.*'], after: 'now' })
    const options = { accountId: account.id, after: 'now', includeSubaccounts: true, withBefore: true }
    const everything = follow(client, options)
    await Promise.all([own.live(), everything.live()])
    const phone = await world.device(account, { name: 'Own' })
    await world.device(below, { name: 'Below' })
    await world.operator.patch(phone.path, { name: 'Renamed' })
    await own.heardAll(2)
    await everything.heardAll(3)
    expect(own.heard.map(({ type }) => type)).toEqual(['device.created', 'device.edited'])
    expect(own.names()).toEqual(['Own', 'Renamed'])
    expect(own.heard[1]).not.toHaveProperty('before')
    expect(everything.names()).toEqual(['Own', 'Below', 'Renamed'])
    expect(everything.heard[2]?.before).toMatchObject({ name: 'Own' })
    await own.leave()
    expect(own.states).toEqual(['connecting', 'live'])
  })

  it('begin with the oldest, or behind a place', async () => {
    const account = await world.account()
    const client = await clientAs(world.operator, serverOf(world))
    for (const name of ['First', 'Second', 'Third']) await world.device(account, { name })
    const types = ['device.*']
    const whole = follow(client, { accountId: account.id, types })
    const [first] = await whole.heardAll(3)
    expect(whole.names()).toEqual(['First', 'Second', 'Third'])
    const rest = follow(client, { accountId: account.id, types, after: first?.sequence ?? '' })
    await rest.heardAll(2)
    expect(rest.names()).toEqual(['Second', 'Third'])
  })

  it('are each told once, in their order, whenever the line breaks', async () => {
    const account = await world.account()
    const line = await cuttable()
    const client = await clientAs(world.operator, line.url)
    const { heard, names, states, live, heardAll } = follow(client, {
      accountId: account.id,
      types: ['device.*'],
      after: 'now',
    })
    await live()
    // Before anything was heard: where `now` was is known all the same.
    line.cut()
    const expected = Array.from({ length: 12 }, (_phone, index) => `Phone ${index}`)
    for (const [index, name] of expected.entries()) {
      await world.device(account, { name })
      if (index % 4 === 0) line.mend()
      if (index % 4 === 2) {
        await heardAll(index)
        line.cut()
      }
    }
    line.mend()
    await heardAll(expected.length)
    expect(names()).toEqual(expected)
    expect(new Set(heard.map(({ sequence }) => sequence)).size).toBe(expected.length)
    expect(states).toContain('waiting')
  })

  it('continue after the connection has become silent without an error', async () => {
    const account = await world.account()
    const line = await cuttable()
    const client = await clientAs(world.operator, line.url, { answerWithinMs: 500 })
    const options = { accountId: account.id, types: ['device.*'], after: 'now', silenceMs: 500 }
    const { names, live, heardAll, states } = follow(client, options)
    await live()
    line.fallSilent()
    await world.device(account, { name: 'Unheard' })
    await eventually(
      () => states,
      (all) => all.includes('waiting'),
    )
    line.mend()
    await heardAll(1)
    expect(names()).toEqual(['Unheard'])
  })

  inFullRun(() => {
    it('continue where a slow reader has stopped', async () => {
      const account = await world.account()
      const client = await clientAs(world.operator, serverOf(world))
      const { path } = await world.device(account)
      const gone = new AbortController()
      leaving.push(() => gone.abort())
      const options = { accountId: account.id, types: ['device.edited'], after: 'now', signal: gone.signal }
      let isLive = () => {}
      const live = new Promise<void>((resolve) => {
        isLive = resolve
      })
      const states: string[] = []
      const onState = (state: string) => {
        states.push(state)
        if (state === 'live') isLive()
      }
      const reader = client.follow({ ...options, onState })
      const first = reader.next()
      await live
      const note = 'x'.repeat(200_000)
      // More than the line holds, with what waits for a reader.
      const sent = 50
      for (let round = 1; round <= sent; round += 1)
        expect((await world.operator.patch(path, { round, note })).status).toBe(200)
      const rounds = [(await first).value?.after?.round]
      while (rounds.length < sent) rounds.push((await reader.next()).value?.after?.round)
      expect(rounds).toEqual(Array.from({ length: sent }, (_round, index) => index + 1))
      expect(states.slice(0, 5)).toEqual(['connecting', 'live', 'waiting', 'connecting', 'live'])
    })
  })

  it('are refused to callers who may not read them', async () => {
    const client = await clientAs(world.uli, serverOf(world))
    const events = client.follow({ accountId: world.rival.id })
    await expect(events.next()).rejects.toMatchObject({ status: 403 })
  })

  it('end when the follower is signed out', async () => {
    const account = await world.account()
    const admin = await world.admin(account)
    const client = await clientAs(admin, serverOf(world))
    const { reading, live } = follow(client, { accountId: account.id, after: 'now' })
    const ended = reading.then(
      () => 'ended',
      (error) => error.name,
    )
    leaving.splice(0)
    await live()
    await world.operator.patch(admin.path, { enabled: false })
    expect(await ended).toBe('SignedOut')
  })

  it('are each told once when the server is killed and comes back', async () => {
    const place = await makePlace(engine)
    leaving.push(() => place.remove())
    const environment = { CROSSPOINT_DATABASE_URL: place.databaseUrl }
    const first = await startServerProcess(environment, place.dataDir)
    const line = await cuttable(first.url)
    leaving.push(() => first.end('SIGKILL'))
    const session = await openSession(first)
    leaving.push(() => session.close())
    await freeRequests(session)
    const client = createCrosspoint({ server: line.url, patienceMs })
    await client.signIn({ token: session.token })
    const { names, live, heardAll } = follow(client, {
      accountId: session.masterId,
      types: ['device.*'],
      after: 'now',
    })
    await live()
    const path = `/v2/accounts/${session.masterId}/devices`
    const add = (name: string) => client.request({ method: 'PUT', path, data: { name } })
    await add('Before')
    await heardAll(1)
    const port = String(first.port)
    const during = add('During')
    await first.end('SIGKILL')
    const second = await startServerProcess({ ...environment, CROSSPOINT_PORT: port }, place.dataDir)
    leaving.push(() => second.end('SIGKILL'))
    await during
    await add('After')
    await heardAll(3)
    expect(names()).toEqual(['Before', 'During', 'After'])
    const rows: Json[] = []
    for await (const row of client.eachOf<Json>(path)) rows.push(row)
    expect(rows.map(({ name }) => name).sort()).toEqual(['After', 'Before', 'During'])
  })
})
