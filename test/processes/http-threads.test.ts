// One process that answers requests by two threads: what it promises, it promises of both together.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { figureOf } from '../support/matchers/figures.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf, inFullRun } from '../support/run/run-length.ts'
import { openEventStream } from '../support/servers/event-stream.ts'
import { freePort } from '../support/servers/free-port.ts'
import { headOf, openRaw, type RawConnection } from '../support/servers/raw-connection.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { getSecurely, shipped } from '../support/servers/tls.ts'
import type { Client } from '../support/world/client.ts'
import { type Pair, startThreads } from '../support/world/pair.ts'
import { freeRequests, openSession, openSessionThrough, type Session } from '../support/world/session.ts'
import { runTask } from '../support/world/task-runs.ts'

const many = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const noHttpsHere = 'HTTPS cannot be served on this port'

describe('two threads that answer requests', () => {
  let pair: Pair
  let server: ServerProcess
  let here: Session
  let there: Session
  let accountPath: string

  beforeAll(async () => {
    pair = await startThreads({})
    server = pair.servers[0] as ServerProcess
    here = await openSessionThrough(pair.transports[0])
    await freeRequests(here)
    there = await openSessionThrough(pair.transports[1], here)
    accountPath = `/v2/accounts/${here.masterId}`
  })

  afterAll(() => pair.end())

  afterEach(() => {
    const expected = ['connections are refused', noHttpsHere]
    expect(server.faults().filter((line) => !expected.some((text) => line.includes(text)))).toEqual([])
  })

  const configure = async (name: string, values: object) => {
    const answer = await here.admin.patch(`/v2/system_configs/${name}`, { default: values })
    expect(answer.status, answer.text).toBe(200)
  }

  it('charge requests to one bucket', async () => {
    await here.admin.put('/v2/system_configs/token_buckets', {
      default: { max_bucket_tokens: 50, tokens_fill_rate: 1, tokens_fill_time: 'hour' },
    })
    await configure('crossbar', { token_costs: 1, reverse_proxies: ['127.0.0.1'] })
    const stranger = [here, there].map(({ admin }) => admin.with({ 'x-forwarded-for': '192.0.2.1' }))
    const answers = await many(80, (index) => (stranger[index % 2] as Client).get(accountPath))
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([...Array(50).fill(200), ...Array(30).fill(429)])
    await configure('crossbar', { token_costs: 0 })
  })

  it('carry out a request with a key once, and answer alike wherever it is sent again', async () => {
    const data = { first_name: 'Once', last_name: 'Only' }
    const headers = { 'idempotency-key': 'one-user' }
    const send = ({ admin }: Session) => admin.put(`${accountPath}/users`, data, { headers })
    const answers = await many(8, (index) => send(index % 2 === 0 ? here : there))
    const made = answers.filter(({ status }) => status === 201)
    expect(made.length).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => ![201, 409].includes(status))).toEqual([])
    const again = await Promise.all([send(here), send(there)])
    expect(new Set([...made, ...again].map(({ data: user }) => user.id))).toHaveLength(1)
    const users = (await there.admin.get(`${accountPath}/users?first_name=Once&paginate=false`)).data
    expect(users.filter((user: { first_name: string }) => user.first_name === 'Once')).toHaveLength(1)
  })

  it('show lists that the other has changed, however often they were asked for before', async () => {
    const list = `${accountPath}/users?page_size=50`
    for (let round = 0; round < countOf(10, 40); round += 1) {
      const [writer, reader] = round % 2 === 0 ? [here, there] : [there, here]
      for (let asked = 0; asked < 3; asked += 1) await reader.admin.get(list)
      const name = `Listed ${round}`
      const made = await writer.admin.put(`${accountPath}/users`, { first_name: name, last_name: 'X' })
      const names = (await reader.admin.get(list)).data.map(
        ({ first_name: first }: { first_name: string }) => first,
      )
      expect(names).toContain(name)
      await writer.admin.delete(`${accountPath}/users/${made.data.id}`)
    }
  })

  it('tell the streams of each of what is committed through either, in one order', async () => {
    const streams = await many(6, () =>
      openEventStream(server.port, `${accountPath}/events?type=user.created`, { 'x-auth-token': here.token }),
    )
    const ids: string[] = []
    for (let round = 0; round < 20; round += 1) {
      const { admin } = round % 2 === 0 ? here : there
      const data = { first_name: `Told ${round}`, last_name: 'X' }
      ids.push((await admin.put(`${accountPath}/users`, data)).data.id)
    }
    for (const stream of streams) {
      // New streams also receive recent events.
      await eventually(
        () => stream.messages.map(({ data }) => JSON.parse(data).record.id),
        (told) => told.slice(-20).join() === ids.join(),
      )
      stream.close()
    }
  })

  it('carry out by the first what was asked of the second', async () => {
    const run = { by: there.admin, path: accountPath, category: 'number_management', action: 'dump' }
    expect((await runTask(run)).task.status).toBe('success')
  })

  it('tell figures of both as those of one', async () => {
    const countOf = async (session: Session) =>
      figureOf((await session.admin.get('/metrics')).text, 'crosspoint_http_request_duration_seconds_count', {
        route: '/v2/accounts/{account_id}',
        method: 'GET',
        status: '200',
      }) ?? 0
    const before = await countOf(here)
    for (let round = 0; round < 5; round += 1)
      for (const { admin } of [here, there]) await admin.get(accountPath)
    expect([await countOf(here), await countOf(there)]).toEqual([before + 10, before + 10])
    const { text } = await there.admin.get('/metrics')
    expect(text.match(/^process_cpu_seconds_total /gm)).toHaveLength(1)
    expect(text.match(/^crosspoint_store_writers \d+$/gm)).toEqual(['crosspoint_store_writers 1'])
    expect(text.match(/^# TYPE crosspoint_connections_open gauge$/gm)).toHaveLength(1)
  })

  it('let in as many connections of an address as one would', async () => {
    await configure('crossbar', { max_connections_per_address: 8, reverse_proxies: [] })
    const connections: RawConnection[] = []
    const served = await eventually(
      async () => {
        for (const connection of connections.splice(0)) {
          connection.end()
          await connection.closed
        }
        connections.push(...(await many(30, () => openRaw(server.port))))
        for (const connection of connections) await connection.write(headOf('OPTIONS /v2/users'))
        await eventually(
          () => connections.every((one) => one.isClosed() || one.answers().length > 0),
          (isOver) => isOver,
        )
        return connections.filter((connection) => connection.answers().length > 0).length
      },
      // The sessions came through a proxy that was trusted then.
      (count) => count === 8,
    )
    expect(served).toBe(8)
    for (const connection of connections) connection.end()
    await Promise.all(connections.map(({ closed }) => closed))
    await configure('crossbar', { max_connections_per_address: 1000 })
  })

  inFullRun(() => {
    it('both serve HTTPS, and switch to a new certificate', async () => {
      const sslPort = await freePort()
      await configure('crossbar', {
        use_ssl: true,
        ssl_port: sslPort,
        ssl_cert: shipped('first.cert.pem'),
        ssl_key: shipped('first.key.pem'),
      })
      const subjects = async () =>
        new Set(
          (await Promise.allSettled(Array.from({ length: 24 }, () => getSecurely(sslPort)))).map((one) =>
            one.status === 'fulfilled' ? one.value.subject : 'refused',
          ),
        )
      const [first] = await eventually(subjects, (seen) => seen.size === 1 && !seen.has('refused'))
      await configure('crossbar', {
        ssl_cert: shipped('second.cert.pem'),
        ssl_key: shipped('second.key.pem'),
      })
      const [second] = await eventually(subjects, (seen) => seen.size === 1 && !seen.has(first as string))
      expect(second).not.toBe('refused')
      await configure('crossbar', { use_ssl: false })
      await eventually(subjects, (seen) => seen.size === 1 && seen.has('refused'))
    })
  })

  it('serve HTTPS on no port where they serve HTTP', async () => {
    await configure('crossbar', {
      use_ssl: true,
      ssl_port: server.port,
      ssl_cert: shipped('first.cert.pem'),
      ssl_key: shipped('first.key.pem'),
    })
    const told = () => server.faults().filter((line) => line.includes(noHttpsHere))
    await eventually(told, ({ length }) => length === 2)
    const statuses = await many(24, async () => (await fetch(`${server.url}/readyz`)).status)
    expect(statuses).toEqual(Array(24).fill(200))
    await configure('crossbar', { use_ssl: false })
  })

  inFullRun(() => {
    it('do not listen where another server does', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'crosspoint-'))
      const environment = {
        CROSSPOINT_DATABASE_URL: undefined,
        CROSSPOINT_HTTP_THREADS: '2',
        CROSSPOINT_PORT: String(server.port),
      }
      await expect(startServerProcess(environment, folder)).rejects.toThrow(/EADDRINUSE/)
      rmSync(folder, { recursive: true })
    })
  })
})

const threads = countOf(2, 3)

describe('a process that answers requests by several threads', () => {
  const folders: string[] = []
  const servers: ServerProcess[] = []

  const start = async (environment: Record<string, string>, dataDir?: string) => {
    const settings = {
      CROSSPOINT_DATABASE_URL: undefined,
      CROSSPOINT_HTTP_THREADS: String(threads),
      ...environment,
    }
    const server = await startServerProcess(settings, dataDir)
    servers.push(server)
    return server
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      await server.end('SIGKILL')
      removeDataDir(server)
    }
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })

  it('finishes the requests in progress at all of them when it shuts down', async () => {
    const server = await start({})
    const session = await openSession(server)
    await freeRequests(session)
    const path = `/v2/accounts/${session.masterId}`
    const body = JSON.stringify({ data: { first_name: 'Late', last_name: 'Comer' } })
    const head = headOf(
      `PUT ${path}/users`,
      `x-auth-token: ${session.token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      'expect: 100-continue',
    )
    const late = await many(12, () => openRaw(server.port))
    for (const connection of late) await connection.write(head)
    // Now the requests are known to be in progress.
    for (const connection of late)
      await eventually(connection.text, (text) => text.startsWith('HTTP/1.1 100 '))
    session.close()
    const ended = server.end()
    await eventually(
      async () => {
        const probe = await openRaw(server.port)
        await Promise.race([probe.closed, probe.write(headOf('GET /healthz'))])
        await eventually(
          () => probe.isClosed() || probe.answers().length > 0,
          (isOver) => isOver,
        )
        const isServed = probe.answers().length > 0
        probe.end()
        return isServed
      },
      (isServed) => !isServed,
    )
    for (const connection of late) await connection.write(body)
    const answers = await Promise.all(late.map((connection) => connection.answered()))
    expect(answers.map(([answer]) => answer?.status)).toEqual(Array(12).fill(201))
    // No connection has to be cut off, though clients would keep theirs.
    for (const [answer] of answers) expect(answer?.head).toMatch(/^connection: close\r$/m)
    expect(await ended).toBe(0)
  })

  inFullRun(() => {
    it('has kept what it acknowledged when one of them fails', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'crosspoint-'))
      folders.push(folder)
      const word = join(folder, 'fail')
      const failing = `import { existsSync } from 'node:fs'
        import { workerData } from 'node:worker_threads'
        if (workerData?.threadNumber === ${threads}) setInterval(() => {
          if (existsSync(${JSON.stringify(word)})) throw new Error('this thread failed on purpose')
        }, 20)`
      const server = await start({
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failing)}`,
      })
      const session = await openSession(server)
      await freeRequests(session)
      const path = `/v2/accounts/${session.masterId}/devices`
      const { data } = await session.admin.put(path, { name: 'Kept' })
      session.close()
      writeFileSync(word, '')
      // All of its output has been read by then.
      const [status] = await once(server.process, 'close')
      expect(status).not.toBe(0)
      expect(server.errors()).toContain('this thread failed on purpose')
      const next = await start({}, server.dataDir)
      const again = await openSession(next)
      expect((await again.admin.get(`${path}/${data.id}`)).data).toEqual(data)
      again.close()
    })

    it('has kept what it acknowledged when it is killed', async () => {
      const server = await start({})
      const session = await openSession(server)
      await freeRequests(session)
      const path = `/v2/accounts/${session.masterId}/devices`
      const kept: string[] = []
      const isOver = { value: false }
      const writers = many(12, async (writer) => {
        const own = await openSession(server, session)
        for (let number = 0; !isOver.value; number += 1) {
          const answer = await own.admin
            .put(path, { name: `Phone ${writer} ${number}` })
            .catch(() => undefined)
          if (!answer) return
          if (answer.status === 201) kept.push(answer.data.id)
        }
        own.close()
      })
      await eventually(
        () => kept.length,
        (count) => count > 300,
      )
      await server.end('SIGKILL')
      isOver.value = true
      await writers
      session.close()
      const last = await openSession(await start({}, server.dataDir))
      const found = (await last.admin.get(`${path}?paginate=false`)).data.map(({ id }: { id: string }) => id)
      expect(kept.filter((id) => !found.includes(id))).toEqual([])
      last.close()
    })
  })
})
