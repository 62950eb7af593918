// Four processes on one PostgreSQL are restarted one after the other, while clients are busy behind a proxy.
import { get } from 'node:https'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { lacks } from '../support/servers/installed.ts'
import { engines } from '../support/servers/postgres.ts'
import { type ProxyName, startProxy } from '../support/servers/proxies.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { authorities } from '../support/servers/tls.ts'
import { useWebSockets } from '../support/servers/web-sockets.ts'
import { basicHeader, Client, createTransport, type Transport } from '../support/world/client.ts'
import { freeRequests, openSession } from '../support/world/session.ts'

const restarts = countOf(2, 40)
const millisecondsEach = 120_000
const drainSeconds = '5'
const clients = 8

let place: Place | undefined
let servers: ServerProcess[] = []
const transports: Transport[] = []
let stopProxy: (() => Promise<void>) | undefined

afterEach(async () => {
  for (const transport of transports.splice(0)) transport.close()
  await stopProxy?.()
  stopProxy = undefined
  await Promise.all(servers.map((server) => server.end('SIGKILL')))
  for (const server of servers.splice(0)) removeDataDir(server)
  await place?.remove()
  place = undefined
})

const environment = () => ({
  CROSSPOINT_DATABASE_URL: place?.databaseUrl,
  CROSSPOINT_DRAIN_SECONDS: drainSeconds,
})

const startFour = async () => {
  place = await makePlace('postgres')
  const first = await startServerProcess(environment())
  servers = [first, ...(await Promise.all([1, 2, 3].map(() => startServerProcess(environment()))))]
}

const behind = async (name: ProxyName) => {
  await startFour()
  const session = await openSession(servers[0] as ServerProcess)
  await freeRequests(session)
  session.close()
  const proxy = await startProxy(
    name,
    servers.map(({ port }) => port),
  )
  stopProxy = proxy.stop
  const speak = (line: { localAddress?: string } = {}) => {
    const transport = createTransport(proxy.port, { ...line, ca: authorities })
    transports.push(transport)
    return new Client(transport.send, { 'x-auth-token': session.token })
  }
  return { ...session, port: proxy.port, speak }
}

/** One after the other leaves as a supervisor asks it to, and comes back at its place. */
const restart = async (index: number) => {
  const server = servers[index] as ServerProcess
  expect(await server.end('SIGTERM')).toBe(0)
  expect(server.faults()).toEqual([])
  const again = { ...environment(), CROSSPOINT_PORT: String(server.port) }
  servers[index] = await startServerProcess(again, server.dataDir)
}

/** A client that changes and reads its record, over and over. */
const keepBusy = async (client: Client, path: string, name: string, isOver: () => boolean) => {
  const failures: string[] = []
  let answered = 0
  const ask = async (work: () => Promise<{ status: number; text: string }>) => {
    const before = failures.length
    try {
      const { status, text } = await work()
      if (status >= 400) failures.push(`${status} ${text}`)
    } catch (error) {
      failures.push(String(error))
    }
    answered += 1
    return failures.length === before
  }
  for (let round = 0; !isOver(); round += 1) {
    const first_name = `${name} ${round}`
    const isSaved = await ask(() => client.patch(path, { first_name }))
    await ask(async () => {
      const answer = await client.get(path)
      return !isSaved || answer.data?.first_name === first_name
        ? answer
        : { status: 500, text: `stale: ${answer.text}` }
    })
  }
  return { failures, answered }
}

const isLeftOut = (name: ProxyName) => !engines.includes('postgres') || lacks(name) !== ''

const { connect } = useWebSockets(() => 0)

describe.each<ProxyName>(['haproxy', 'nginx', 'caddy'])('processes behind %s, as it is shipped', (name) => {
  it.skipIf(isLeftOut(name))(
    `are restarted one after the other without a request that fails${lacks(name)}`,
    { timeout: millisecondsEach * (restarts + 1) },
    async () => {
      const { masterId, speak } = await behind(name)
      let isOver = false
      const busy = await Promise.all(
        Array.from({ length: clients }, async (_, index) => {
          const client = speak()
          const fields = { first_name: 'A', last_name: 'B', username: `busy${index}` }
          const made = await client.put(`/v2/accounts/${masterId}/users`, fields)
          expect(made.status, made.text).toBe(201)
          return { client, path: `/v2/accounts/${masterId}/users/${made.data.id}` }
        }),
      )
      const begun = performance.now()
      const working = Promise.all(
        busy.map(({ client, path }, index) => keepBusy(client, path, `client ${index}`, () => isOver)),
      )
      for (let count = 0; count < restarts; count += 1) await restart(count % servers.length)
      isOver = true
      const done = await working
      const answered = done.reduce((sum, one) => sum + one.answered, 0)
      const seconds = Math.round((performance.now() - begun) / 1000)
      const failures = done.flatMap((one) => one.failures)
      console.log(
        `${name}: ${restarts} restarts in ${seconds} s, ${answered} requests, ${failures.length} failed`,
      )
      expect(failures.filter((text) => name !== 'nginx' || !text.startsWith('502'))).toEqual([])
      // nginx has no health checks: it may lose a connection when a port closes, as its guide describes.
      expect(failures.length, failures.join('\n')).toBeLessThanOrEqual(name === 'nginx' ? restarts : 0)
      expect(answered).toBeGreaterThan(restarts * clients)
    },
  )

  it.skipIf(isLeftOut(name))(
    `hear whom they are asked by, and reach them by streams and WebSockets${lacks(name)}`,
    async () => {
      const { masterId, token, speak, port } = await behind(name)
      const stranger = speak({ localAddress: '127.0.0.2' }).with(basicHeader(masterId, 'x'.repeat(32)))
      // The server does not believe the address that a client sends.
      const refused = await stranger
        .with({ 'x-forwarded-for': '192.0.2.1', 'x-auth-token': '' })
        .put('/v2/api_auth', { api_key: 'f'.repeat(64) })
      expect(refused.status).toBeGreaterThanOrEqual(400)
      const log = await eventually(
        () => servers.map((server) => server.errors()).join(''),
        (text) => text.includes('"127.0.0.2"'),
      )
      expect(log).not.toContain('192.0.2.1')

      const talk = await connect('/', { ca: authorities }, 'wss', port)
      expect((await talk.ask('ping', undefined)).status).toBe('success')

      let told = ''
      const path = `/v2/accounts/${masterId}/events?after=now`
      const headers = { accept: 'text/event-stream', 'x-auth-token': token }
      const stream = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
        get({ host: '127.0.0.1', port, ca: authorities, agent: false, path, headers }, resolve).on(
          'error',
          reject,
        )
      })
      stream.setEncoding('utf8').on('data', (piece: string) => {
        told += piece
      })
      const fields = { first_name: 'A', last_name: 'B' }
      expect((await speak().put(`/v2/accounts/${masterId}/users`, fields)).status).toBe(201)
      await eventually(
        () => told,
        (text) => text.includes('event: user.created'),
      )
      stream.destroy()
    },
  )
})
