// The shutdown of a server with busy clients.
import { Agent, type IncomingMessage, request } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { headOf, openRaw } from '../support/servers/raw-connection.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { openSession } from '../support/world/session.ts'
import { someOf } from '../support/world/walk.ts'

const servers: ServerProcess[] = []

const start = async (drainSeconds: number) => {
  const server = await startServerProcess({
    CROSSPOINT_DATABASE_URL: undefined,
    CROSSPOINT_DRAIN_SECONDS: String(drainSeconds),
  })
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.end('SIGKILL')
    removeDataDir(server)
  }
})

interface Seen {
  status: number
  connection: string | undefined
}

const get = (agent: Agent, port: number, path: string) =>
  new Promise<Seen>((resolve, reject) => {
    request({ agent, port, host: '127.0.0.1', path }, (response) => {
      response.resume().once('end', () => {
        resolve({ status: response.statusCode ?? 0, connection: response.headers.connection })
      })
      response.once('error', reject)
    })
      .once('error', reject)
      .end()
  })

/** A client that keeps its connection and is never idle, until it is sent away. */
const busyClient = async (port: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let answered = 0; ; answered += 1) {
    const { connection } = await get(agent, port, '/v2/schemas')
    if (connection !== 'close') continue
    agent.destroy()
    return answered
  }
}

const readiness = (server: ServerProcess) =>
  get(new Agent(), server.port, '/readyz').then(
    ({ status }) => status,
    () => 'gone',
  )

const turnsRed = (server: ServerProcess) =>
  eventually(
    () => readiness(server),
    (status) => status === 503,
  )

// Longer than any test waits: a further signal ends it.
const long = 600

describe('a server that shuts down', () => {
  it('reports it at /readyz, cuts no busy client, and stops waiting at a second signal', async () => {
    const server = await start(long)
    expect(await readiness(server)).toBe(200)
    const clients = Array.from({ length: 20 }, () => busyClient(server.port))
    await get(new Agent(), server.port, '/healthz')
    const ended = server.end('SIGTERM')
    await turnsRed(server)
    // No client gets an error: the last response of each has `Connection: close`.
    for (const answered of await Promise.all(clients)) expect(answered).toBeGreaterThan(0)
    // New clients are served as well as long as a load balancer may send them.
    const late = await get(new Agent(), server.port, '/healthz')
    expect(late).toEqual({ status: 200, connection: 'close' })
    server.process.kill('SIGINT')
    expect(await ended).toBe(0)
    expect(await readiness(server)).toBe('gone')
    expect(server.faults()).toEqual([])
  })

  it('waits eight seconds for load balancers by default', () => {
    expect(readConfig({}).drainSeconds).toBe(8)
  })

  it('takes a signal that comes twice at once for one', async () => {
    const server = await start(long)
    const ended = server.end('SIGTERM')
    server.process.kill('SIGTERM')
    await turnsRed(server)
    expect(await readiness(server)).toBe(503)
    server.process.kill('SIGINT')
    expect(await ended).toBe(0)
  })

  inFullRun(() => {
    it('waits for parts of a second, too', async () => {
      const server = await start(0.25)
      const begun = performance.now()
      expect(await server.end('SIGTERM')).toBe(0)
      expect(performance.now() - begun).toBeGreaterThan(240)
    })

    it('keeps its event streams while it waits, and ends one that is asked for at the last moment', async () => {
      const server = await start(long)
      const session = await openSession(server)
      const question = headOf(
        `GET /v2/accounts/${session.masterId}/events?after=now`,
        'accept: text/event-stream',
        `x-auth-token: ${session.token}`,
      )
      session.close()
      const [open, late] = [await openRaw(server.port), await openRaw(server.port)]
      await open.write(question)
      await open.answered()
      // Half of a request: its connection is not idle when the listener closes.
      await late.write(question.slice(0, -4))
      const ended = server.end('SIGTERM')
      await turnsRed(server)
      expect(open.isClosed()).toBe(false)
      server.process.kill('SIGINT')
      await eventually(
        () => readiness(server),
        (status) => status === 'gone',
      )
      await open.closed
      await late.write(question.slice(-4))
      await late.closed
      expect(late.text()).toMatch(/^HTTP\/1\.1 200 .*\r\n0\r\n\r\n$/s)
      expect(await ended).toBe(0)
    })

    it('hangs up on who has connected and says nothing, and answers who asks at the last moment', async () => {
      const server = await start(0)
      const [mute, late] = [await openRaw(server.port), await openRaw(server.port)]
      await get(new Agent(), server.port, '/healthz')
      const question = headOf('GET /healthz')
      await late.write(question.slice(0, -4))
      const ended = server.end('SIGTERM')
      // It is not cut off with all others, in the end: the one that has begun to ask gets its answer.
      await mute.closed
      await late.write(question.slice(-4))
      const [answer] = await late.answered()
      expect(answer?.status).toBe(200)
      await late.closed
      expect(mute.text()).toBe('')
      expect(await ended).toBe(0)
    })
  })

  it.each(someOf(1, ['SIGINT', 'SIGHUP'] as const))('ends by %s without waiting', async (signal) => {
    const server = await start(long)
    expect(await server.end(signal)).toBe(0)
  })

  inFullRun(() => {
    it('sends all of what it has begun to answer, however late its client takes it', async () => {
      const server = await start(0)
      const session = await openSession(server)
      const headers = { 'x-auth-token': session.token }
      // More than the buffers between two sockets can contain.
      const rows = Array.from(
        { length: 30_000 },
        (_, index) => `+1415${5_000_000 + index},${'x'.repeat(600)}`,
      )
      const csv = `${['e164,opaque.note', ...rows].join('\n')}\n`
      const tasks = `${server.url}/v2/tasks`
      const made = await fetch(`${tasks}?category=number_management&action=import`, {
        method: 'PUT',
        headers: { ...headers, 'content-type': 'text/csv' },
        body: csv,
      })
      expect(made.status, await made.clone().text()).toBe(201)
      const { metadata } = (await made.json()) as { metadata: { id: string } }
      session.close()
      const answer = await new Promise<IncomingMessage>((resolve, reject) =>
        request(`${tasks}/${metadata.id}?csv_name=in.csv`, { headers: { ...headers, accept: 'text/csv' } })
          .once('response', resolve)
          .once('error', reject)
          .end(),
      )
      const ended = server.end('SIGTERM')
      await eventually(
        () => readiness(server),
        (status) => status === 'gone',
      )
      expect(answer.statusCode).toBe(200)
      const taken = (await answer.setEncoding('utf8').toArray()).join('')
      expect(taken.length).toBe(csv.length)
      expect(taken === csv).toBe(true)
      expect(await ended).toBe(0)
      expect(server.faults()).toEqual([])
    })
  })
})
