import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { nodeOptions, program } from '../support/run/program.ts'
import { countOf, inFullRun, isFullRun } from '../support/run/run-length.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'
import { headOf, openRaw } from '../support/servers/raw-connection.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession } from '../support/world/session.ts'

// With it, a server makes its own first start, and does not begin with a copy of one.
const password = { CROSSPOINT_ADMIN_PASSWORD: 'secret' }

/** Runs the program to its end. */
const runProgram = async (args: string[], environment: Record<string, string>) => {
  const env = { PATH: process.env.PATH, NODE_OPTIONS: nodeOptions(''), ...environment }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number, output, errors }
}

describeAnyEngine('a server process', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine)
  })

  afterEach(() => place.remove())

  const start = (environment: Record<string, string> = {}) =>
    startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl, ...environment }, place.dataDir)

  it.each(['SIGTERM', ...(isFullRun ? (['SIGINT', 'SIGHUP'] as const) : [])] as const)(
    'finishes what is in flight at %s, however often it comes, closes idle connections, and exits with 0',
    async (signal) => {
      const server = await start()
      const session = await openSession(server)
      await freeRequests(session)
      const users = `/v2/accounts/${session.masterId}/users`
      const body = JSON.stringify({ data: { first_name: 'A', last_name: 'B' } })
      const head = headOf(
        `PUT ${users}`,
        `x-auth-token: ${session.token}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'expect: 100-continue',
      )
      session.close()
      const creating = await Promise.all(Array.from({ length: 8 }, () => openRaw(server.port)))
      for (const connection of creating) await connection.write(head)
      // The server has read all of their heads when the signal comes.
      for (const connection of creating)
        await eventually(connection.text, (text) => text.startsWith('HTTP/1.1 100 '))
      const idle = await openRaw(server.port)
      await idle.write(headOf('GET /healthz'))
      await idle.answered()
      const ended = server.end(signal)
      // All that are left in the end would be closed together: this one is closed before.
      await idle.closed
      await eventually(
        () =>
          fetch(`${server.url}/healthz`).then(
            () => false,
            () => true,
          ),
        (isClosed) => isClosed,
      )
      server.process.kill(signal)
      for (const connection of creating) await connection.write(body)
      const answers = await Promise.all(creating.map((connection) => connection.answered()))
      expect(answers.map(([answer]) => answer?.status)).toEqual(Array(8).fill(201))
      expect(await ended).toBe(0)
      expect(server.faults()).toEqual([])
      const again = await start()
      expect((await fetch(`${again.url}/readyz`)).status).toBe(200)
      expect(await again.end()).toBe(0)
    },
  )

  inFullRun(() => {
    it('shares a new store with others that start at the same time', async () => {
      const servers = await Promise.all(Array.from({ length: countOf(2, 3) }, () => start(password)))
      const [first, ...others] = servers
      if (!first) throw new Error('no server has started')
      const session = await openSession(first)
      for (const server of others) {
        const there = await openSession(server, session)
        expect((await there.admin.get(`/v2/accounts/${session.masterId}`)).status).toBe(200)
        there.close()
      }
      session.close()
      for (const server of servers) {
        expect(await server.end()).toBe(0)
        expect(server.faults()).toEqual([])
      }
    })
  })
})

describe('a start', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'crosspoint-start-'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('reports all mistakes of the settings together, and starts nothing', async () => {
    const dataDir = join(folder, 'data')
    const { code, output, errors } = await runProgram(['serve'], {
      CROSSPOINT_DATA_DIR: dataDir,
      CROSSPOINT_PORT: 'eight thousand',
      CROSSPOINT_DATABASE_URL: 'mysql://root:hush@localhost',
      CROSSPOINT_SMTP_URL: 'nowhere',
      CROSSPOINT_LOG_LEVEL: 'loud',
      CROSSPOINT_LOG_FORMAT: 'xml',
      CROSSPOINT_DRAIN_SECONDS: '8 s',
      CROSSPOINT_MASTER_REALM: 'no realm!',
      CROSSPOINT_ADMIN_USERNAME: 'a b',
      CROSSPOINT_PROT: '8000',
    })
    expect(code).toBe(2)
    expect(output).toBe('')
    const named = [
      'PORT',
      'DATABASE_URL',
      'SMTP_URL',
      'LOG_LEVEL',
      'LOG_FORMAT',
      'DRAIN_SECONDS',
      'MASTER_REALM',
      'ADMIN_USERNAME',
      'PROT',
    ]
    for (const name of named) expect(errors).toMatch(new RegExp(`CROSSPOINT_${name}\\b`))
    expect(errors).not.toContain('hush')
    expect(existsSync(dataDir)).toBe(false)
  })

  it('on a port that is taken fails with its reason and leaves nothing running', async () => {
    const other = createServer().listen(0)
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { code, errors } = await runProgram(['serve'], {
      CROSSPOINT_DATA_DIR: folder,
      CROSSPOINT_PORT: String((other.address() as AddressInfo).port),
    })
    expect(code).toBe(1)
    expect(errors).toContain('EADDRINUSE')
  })

  it('without a database fails with its reason', async () => {
    const { code, errors } = await runProgram(['serve'], {
      CROSSPOINT_DATA_DIR: folder,
      CROSSPOINT_PORT: '0',
      CROSSPOINT_DATABASE_URL: 'postgres://nobody:hush@127.0.0.1:1/none',
    })
    expect(code).toBe(1)
    expect(errors).toContain('ECONNREFUSED')
    expect(errors).not.toContain('hush')
    expect(readdirSync(folder)).not.toContain('crosspoint.db')
  })

  it('lists every setting with --help, and refuses unknown commands', async () => {
    const { code, output } = await runProgram(['serve', '--help'], {})
    expect(code).toBe(0)
    for (const name of ['CROSSPOINT_PORT', 'CROSSPOINT_DATA_DIR', 'CROSSPOINT_DATABASE_URL']) {
      expect(output).toContain(name)
    }
    expect((await runProgram(['dance'], {})).code).toBe(2)
  })
})

describe.runIf(engines.includes('postgres'))('a server whose PostgreSQL goes away', () => {
  it('says 503 while it is away, lives on, and serves again without a restart', async () => {
    const place = await makePlace('postgres', { isUpgraded: true })
    const way = await createCuttable(place.databaseUrl as string)
    const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: way.url }, place.dataDir)
    const session = await openSession(server)
    await freeRequests(session)
    const statusOf = async (path: string) => (await fetch(server.url + path)).status
    const account = `/v2/accounts/${session.masterId}`
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200])

    way.cut()
    expect(await statusOf('/healthz')).toBe(200)
    await eventually(
      () => statusOf('/readyz'),
      (status) => status === 503,
    )
    const refused = await session.admin.get(account)
    expect([refused.status, refused.body.message]).toEqual([503, 'datastore_unreachable'])
    const unwritten = await session.admin.put('/v2/accounts', { name: 'Away' })
    expect(unwritten.status).toBe(503)

    way.mend()
    expect(await statusOf('/healthz')).toBe(200)
    await eventually(
      () => statusOf('/readyz'),
      (status) => status === 200,
    )
    expect((await session.admin.get(account)).status).toBe(200)
    expect((await session.admin.put('/v2/accounts', { name: 'Away' })).status).toBe(201)
    session.close()
    expect(await server.end()).toBe(0)
    expect(server.errors()).not.toMatch(/unhandled|uncaught/i)
    await way.close()
    await place.remove()
  })
})
