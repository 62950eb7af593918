// Every event reaches a real broker, also if the broker or a server is killed.
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { beginMove, cancelMove } from '../../src/storage/moving/marks.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf, isFullRun } from '../support/run/run-length.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { lacks } from '../support/servers/installed.ts'
import {
  type RabbitMq,
  type ReceivedMessage,
  rabbitmqProgram,
  startRabbitmq,
} from '../support/servers/rabbitmq.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { useWorld } from '../support/world/world.ts'

let rabbit: RabbitMq

/** Their ids in the order in which each came first. */
const idsOf = (received: readonly ReceivedMessage[]) => [
  ...new Set(received.map(({ messageId }) => messageId ?? '')),
]

const namesOf = (received: readonly ReceivedMessage[]) =>
  new Set(received.flatMap(({ body }) => (body.type === 'device.created' ? [body.after.name] : [])))

const lacking = lacks('rabbitmq-server', rabbitmqProgram)

describe.skipIf(lacking)(`with RabbitMQ${lacking}`, () => {
  beforeAll(async () => {
    rabbit = await startRabbitmq()
  })
  afterAll(() => rabbit?.close())

  describeAnyEngine('the message bus', (engine) => {
    const world = useWorld(engine, undefined, undefined, { hasTimedJobs: true })
    const path = '/v2/system_configs/events'
    const exchangeOf = (name: string) => `${name}.${engine}`
    const use = (amqp: Json) => world.configure('events', { amqp })

    afterEach(() => use({ url: null }))

    const arrived = (received: readonly ReceivedMessage[], id: string) =>
      eventually(
        () => received,
        (all) => all.some(({ body }) => body.record.id === id),
      )

    it('has each event of all accounts in the order of the feed, with the content of the feed', async () => {
      const exchange = exchangeOf('whole')
      const listener = await rabbit.listen(exchange, exchange)
      await use({ url: rabbit.url, exchange })
      const first = await world.device(world.acme)
      const { id } = await world.device(world.rival)
      await arrived(listener.received, id)
      const last = listener.received.findIndex(({ body }) => body.record.id === id)
      const messages = listener.received.slice(0, last + 1)
      const sequences = messages.map(({ body }) => Number(body.sequence))
      const feed = (await world.server.feed.all(0, 1000)).map((event) => event.sequence)
      // Other tests may have listened to what was before.
      const from = feed.indexOf(sequences[0] as number)
      expect(sequences).toEqual(feed.slice(from, from + sequences.length))
      expect(messages.map(({ body }) => body.record.id)).toContain(first.id)
      for (const { routingKey, messageId, durable, body } of messages) {
        expect(routingKey).toBe(`${body.account_id}.${body.type}`)
        expect(messageId).toBe(body.sequence)
        expect(durable).toBe(true)
      }
      expect(messages.at(-1)?.body).toMatchObject({
        type: 'device.created',
        account_id: world.rival.id,
        actor: { type: 'user', id: world.operator.id },
        record: { kind: 'device', id },
        after: { enabled: true },
      })
      await listener.close()
    })

    it('waits while a move of the store has begun', async () => {
      const exchange = exchangeOf('moved')
      const listener = await rabbit.listen(exchange, exchange)
      await use({ url: rabbit.url, exchange })
      await arrived(listener.received, (await world.device(world.acme)).id)
      const db = await openDatabase(world.config)
      try {
        await beginMove(db, { id: 'move', to: 'elsewhere' })
        await eventually(
          () => db.all("SELECT name FROM leases WHERE name = 'scheduled-job/message_bus'"),
          (rows) => rows.length === 0,
        )
        const { id } = await world.device(world.acme)
        expect(listener.received.map(({ body }) => body.record.id)).not.toContain(id)
        await cancelMove(db)
        await arrived(listener.received, id)
      } finally {
        await cancelMove(db)
        await db.close()
      }
      await listener.close()
    })

    it('can be listened to by account and type', async () => {
      const exchange = exchangeOf('routed')
      const listener = await rabbit.listen(exchange, exchange, `${world.acme.id}.device.*`)
      await use({ url: rabbit.url, exchange })
      await world.device(world.rival)
      const { id } = await world.device(world.acme)
      await arrived(listener.received, id)
      const keys = new Set(listener.received.map(({ routingKey }) => routingKey))
      expect([...keys]).toEqual([`${world.acme.id}.device.created`])
      await listener.close()
    })

    it('is another one, or none, as soon as the setting has changed', async () => {
      const [before, after] = [exchangeOf('before'), exchangeOf('after')]
      const old = await rabbit.listen(before, before)
      const listener = await rabbit.listen(after, after)
      await use({ url: rabbit.url, exchange: before })
      const first = await world.device(world.acme)
      await arrived(old.received, first.id)
      await use({ url: rabbit.url, exchange: after })
      await eventually(
        async () => {
          await world.device(world.acme)
          return listener.received.length
        },
        (count) => count > 0,
      )
      expect(await world.operator.patch(path, { default: { amqp: { url: null } } })).toSucceed()
      await eventually(
        () => rabbit.connections(),
        (count) => count === 2,
      )
      await Promise.all([old.close(), listener.close()])
    })

    it('hides the password of its address', async () => {
      const url = 'amqp://somebody:not-for-everybody@127.0.0.1:9'
      const sent = await world.operator.patch(path, { default: { amqp: { url } } })
      expect(sent).toSucceed()
      expect(sent.text).not.toContain('not-for-everybody')
      expect((await world.operator.get(path)).data.default).toMatchObject({ amqp: { url: '***' } })
      const told = await world.server.store.all("SELECT * FROM audit_log WHERE kind = 'system_config'")
      expect(JSON.stringify(told)).not.toContain('not-for-everybody')
      const wrong = await world.operator.patch(path, { default: { amqp: { url: 'http://broker.test' } } })
      expect(wrong).toFailWith(400, 'validation error')
      await world.operator.patch(path, { default: { amqp: { url: null } } })
    })

    it('that cannot be reached is reported once in the log, and to operators when it lasts', async () => {
      const exchange = exchangeOf('late')
      const notes = (message: string) => world.logEntries.filter((entry) => entry.message === message)
      const lost = 'the message bus cannot be reached'
      const titles = async () =>
        ((await world.operator.get(`${world.master.path}/alerts`)).data as Json[]).map(({ title }) => title)
      const way = await createCuttable(rabbit.url)
      way.cut()
      await use({ url: way.url, exchange })
      const { id } = await world.device(world.acme)
      await eventually(
        () => notes(lost),
        ({ length }) => length > 0,
      )
      expect(await titles()).not.toContain('The message bus cannot be reached')
      world.clock.advance({ seconds: 61 })
      await eventually(titles, (all) => all.includes('The message bus cannot be reached'))
      expect(notes(lost)).toHaveLength(1)
      expect(JSON.stringify(world.logEntries)).not.toContain('guest:guest')
      way.mend()
      const listener = await rabbit.listen(exchange, exchange)
      await eventually(
        () => notes('the message bus can be reached again'),
        ({ length }) => length === 1,
      )
      await eventually(titles, (all) => !all.includes('The message bus cannot be reached'))
      expect((await world.server.feed.all(0, 1000)).map(({ recordId }) => recordId)).toContain(id)
      await use({ url: null })
      await Promise.all([listener.close(), way.close()])
    })
  })

  describeAnyEngine('the message bus of processes that are killed', (engine) => {
    const exchange = `killed.${engine}`
    const servers: ServerProcess[] = []
    const sessions: Session[] = []
    let place: Place

    const begin = async (at: number) => {
      const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
      sessions[at]?.close()
      servers[at] = server
      sessions[at] = await openSession(server, sessions[0])
    }

    const killServer = async (at: number) => {
      const { process } = servers[at] as ServerProcess
      process.kill('SIGKILL')
      await once(process, 'exit')
    }

    beforeAll(async () => {
      place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
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

    it('has every event that was committed, in order, repeats with the same id', async () => {
      const listener = await rabbit.listen(exchange, exchange)
      // A queue that was created just before its broker is killed is lost, with all messages until it is created again. A clean
      // stop saves it.
      if (isFullRun) {
        await rabbit.stop()
        await rabbit.start()
      }
      const admin = () => (sessions[0] as Session).admin
      const { masterId } = sessions[0] as Session
      await admin().patch('/v2/system_configs/events', { default: { amqp: { url: rabbit.url, exchange } } })
      const written: string[] = []
      let isOver = false
      const write = async (at: number) => {
        for (let count = 0; !isOver; count += 1) {
          const name = `Phone ${at} ${count}`
          const session = sessions[at % sessions.length] as Session
          const made = await session.admin
            .put(`/v2/accounts/${masterId}/devices`, { name })
            .catch(() => undefined)
          if (made?.status === 201) written.push(name)
          // For a moment, no server runs.
          else
            await eventually(
              () => servers.every(({ process }) => process.exitCode === null && process.signalCode === null),
              (areThere) => areThere,
            )
        }
      }
      const more = async () => {
        const before = written.length
        await eventually(
          () => written.length,
          (count) => count > before + countOf(40, 100),
        )
      }
      const writers = [0, 1, 2, 3].map(write)
      // The first kill happens while the bus is publishing.
      await eventually(
        () => listener.received.length,
        (count) => count > countOf(40, 100),
      )
      for (let turn = 0; turn < countOf(1, 2); turn += 1) {
        // A start of the broker takes longer than all else here. The test of a broker that cannot be reached cuts its connection.
        if (isFullRun) {
          await more()
          await rabbit.kill()
          await more()
          await rabbit.start()
        }
        for (const at of servers.keys()) {
          await more()
          await killServer(at)
          await begin(at)
        }
      }
      await more()
      isOver = true
      await Promise.all(writers)
      await eventually(
        () => {
          const names = namesOf(listener.received)
          return written.filter((name) => !names.has(name))
        },
        (missing) => missing.length === 0,
      )
      const ids = idsOf(listener.received)
      expect(ids).toEqual(ids.toSorted())
      const numbers = ids.map(Number)
      expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at))
      for (const same of Map.groupBy(listener.received, ({ messageId }) => messageId).values())
        expect(new Set(same.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      await listener.close()
    })
  })
})
