// A store that moves from one engine to the other and back, while its server is asked and the command is killed.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import { readConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { mistakeInPostgresUrl } from '../../src/lib/postgres-url.ts'
import { openPostgresSide } from '../../src/storage/moving/postgres-side.ts'
import { openSqliteSide } from '../../src/storage/moving/sqlite-side.ts'
import { digestOf } from '../../src/storage/moving/tables.ts'
import { createChance, seed } from '../fuzz/chance.ts'
import { environmentOf, runHere } from '../support/run/command-here.ts'
import { openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { countOf } from '../support/run/run-length.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { engines, onDatabase } from '../support/servers/postgres.ts'
import { copyFirstStart, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { Client, createTransport } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { walkLimitMs } from '../support/world/walk.ts'

const kills = countOf(1, 25)
const calls = countOf(150, 3000)

type Store = Pick<Place, 'dataDir' | 'databaseUrl'>

const fileOf = ({ dataDir }: Store) => join(dataDir, 'crosspoint.db')

const openSide = async (place: Store) =>
  place.databaseUrl === undefined ? openSqliteSide(fileOf(place)) : openPostgresSide(place.databaseUrl)

const onSide = async <T>(place: Store, look: (side: Awaited<ReturnType<typeof openSide>>) => Promise<T>) => {
  const side = await openSide(place)
  return look(side).finally(side.close)
}

const rowsIn = async (place: Store) => {
  if (place.databaseUrl === undefined && !existsSync(fileOf(place))) return 0
  return onSide(place, async (side) => {
    let rows = 0
    for (const { name } of await side.tables()) rows += await side.count(name)
    return rows
  })
}

/** Rows and digest of every table, which are the same on both engines. */
const contentOf = (place: Store) =>
  onSide(place, async (side) => {
    const content: Record<string, unknown> = {}
    for (const table of await side.tables()) content[table.name] = await digestOf(side, table)
    return content
  })

const storeMoved =
  'the store is being moved or was moved: this server only reads. Retry at the server of the new store'

const lists = [
  '',
  ...['users', 'devices', 'callflows', 'phone_numbers', 'cdrs', 'ledgers', 'transactions', 'invoices'],
  ...['audit', 'events', 'webhooks', 'tasks', 'services/summary', 'service_plans', 'limits', 'children'],
]

/** Responses of a server of the store that starts no scheduled jobs, and what it warns of. */
const responsesOf = async ({ dataDir, databaseUrl }: Store, { token, masterId }: Session) => {
  const config = readConfig({
    CROSSPOINT_DATA_DIR: dataDir,
    CROSSPOINT_DATABASE_URL: databaseUrl,
    CROSSPOINT_PORT: '0',
  })
  const { log, entries } = createTestLog()
  const server = await startServer(config, { clock: systemClock, log }, { onlyWokenJobs: true })
  const transport = createTransport(server.port)
  try {
    const admin = new Client(transport.send, { 'x-auth-token': token })
    const { data } = await admin.get(`/v2/accounts/${masterId}/descendants`, {
      query: { paginate: false },
    })
    const ids: string[] = data.map(({ id }: { id: string }) => id)
    const responses: Record<string, unknown> = {}
    for (const id of [masterId, ...ids.slice(0, countOf(3, ids.length))])
      for (const list of lists) {
        const path = `/v2/accounts/${id}/${list}`
        const { status, body } = await admin.get(path)
        expect([path, status]).toEqual([path, 200])
        responses[path] = [body.data, body.next_start_key, body.revision]
      }
    const warnings = entries.filter(({ level }) => level === 'warn').map(({ message }) => message)
    return { responses, warnings }
  } finally {
    transport.close()
    await server.stop()
  }
}

describe.runIf(engines.includes('postgres'))('crosspoint move', () => {
  const chance = createChance(seed)
  let old: Place
  let postgres: Place
  let back: Place
  let server: ServerProcess
  let session: Session

  beforeAll(async () => {
    old = await makePlace('sqlite')
    postgres = { ...(await makePlace('postgres')), dataDir: old.dataDir }
    back = await makePlace('sqlite')
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: undefined }, old.dataDir)
    session = await openSession(server)
    await freeRequests(session)
    expect(await runHere(environmentOf(old), ['demo', '--calls', String(calls)])).toMatchObject({ status: 0 })
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await Promise.all([old, postgres, back].map((place) => place.remove()))
  })

  /** Whether the old store is closed: an early kill happens before that. */
  const readsOnly = async () => {
    const { masterId, admin } = session
    const { status, body } = await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Another' })
    if (status === 201) return false
    expect(body).toMatchObject({ error: '503', message: 'store_moved', data: { message: storeMoved } })
    expect(await admin.get(`/v2/accounts/${masterId}/devices`)).toSucceed()
    return true
  }

  const acknowledged: string[] = []

  /** Creates devices until the store is closed. */
  const writeUntilClosed = async () => {
    const { masterId, admin } = session
    const writers = Array.from({ length: 6 }, async () => {
      for (;;) {
        const { status, body } = await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Written' })
        if (body.message === 'store_moved') return
        expect(status).toBe(201)
        acknowledged.push(body.data.id)
      }
    })
    await Promise.all(writers)
  }

  const devicesWritten = (place: Store) =>
    onSide(place, async (side) => {
      const table = (await side.tables()).find(({ name }) => name === 'records')
      if (!table) throw new Error('there is no table records')
      const at = (name: string) => table.columns.findIndex((column) => column.name === name)
      const rows = await side.page(table, [session.masterId, 'device', ''], 100_000)
      return rows
        .filter((row) => row[at('kind')] === 'device' && String(row[at('doc')]).includes('"Written"'))
        .map((row) => row[at('id')])
        .sort()
    })

  /** Moves a store with kills in between; `afterKill` is called after each. */
  const moveWithKills = async (from: Store, to: Store, afterKill: () => Promise<void>) => {
    const url = to.databaseUrl ?? `sqlite:${to.dataDir}`
    const rows = await rowsIn(from)
    const written = writeUntilClosed()
    for (let kill = 0; kill < kills; kill += 1) {
      const person = openCommandLine(environmentOf(from) as Record<string, string>)
      const command = person.start('move', '--to', url)
      // Beyond the last row it is killed while it compares.
      const enough = chance.below(Math.ceil(rows * 1.1))
      await eventually(
        async () => command.process.exitCode !== null || (await rowsIn(to)) >= Math.min(enough, rows),
        (isReached) => isReached,
      )
      command.process.kill('SIGKILL')
      await command.ended
      person.remove()
      await afterKill()
    }
    const ended = await runHere(environmentOf(from), ['move', '--to', url, '--json'])
    expect({ ...ended, output: ended.status === 0 ? '' : ended.output }).toEqual({
      status: 0,
      output: '',
      errors: '',
    })
    expect(JSON.parse(ended.output)).toMatchObject({ faults: [], sound: true })
    await written
    expect(await devicesWritten(to)).toEqual(acknowledged.sort())
  }

  const refusal = (reason: string) => ({ status: 1, output: '', errors: `crosspoint: ${reason}\n` })

  it('refuses a new store that cannot take the old one, and the old one keeps taking writes', async () => {
    const { masterId, admin } = session
    const used = await makePlace('postgres', { isUpgraded: true })
    const latin = await makePlace('postgres', { encoding: 'LATIN1' })
    const readOnly = await makePlace('postgres')
    const nameIn = ({ databaseUrl = '' }: Place) => new URL(databaseUrl).pathname.slice(1)
    await onDatabase(
      postgres.databaseUrl ?? '',
      `ALTER DATABASE ${nameIn(readOnly)} SET default_transaction_read_only = on`,
    )
    const neither = '--to must be a URL that begins with postgres://, or with sqlite:DIRECTORY'
    const titleOf = (place: Place) => `PostgreSQL ${new URL(place.databaseUrl ?? '').host}/${nameIn(place)}`
    const withUrl = (change: (url: URL) => void) => {
      const url = new URL(postgres.databaseUrl ?? '')
      change(url)
      return url.href
    }
    const cases: [url: string | undefined, reason: string][] = [
      ['mysql://host/name', neither],
      ['sqlite:', neither],
      ['postgres://u:p@@@', `--to ${mistakeInPostgresUrl('postgres://u:p@@@')}`],
      [
        `sqlite:${back.dataDir}`,
        '--to must begin with postgres://, because the store is on SQLite already. `crosspoint backup` and `crosspoint restore` copy a store within one engine',
      ],
      [
        used.databaseUrl,
        `${titleOf(used)} is not empty: name an empty database, or a directory without crosspoint.db`,
      ],
      [
        latin.databaseUrl,
        `${titleOf(latin)}: the database has the encoding LATIN1: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
      ],
      [
        withUrl((url) => {
          url.pathname = '/nosuch'
        }),
        '--to: database "nosuch" does not exist. Nothing was changed',
      ],
      [
        'postgres://crosspoint@127.0.0.1:1/crosspoint',
        '--to: connect ECONNREFUSED 127.0.0.1:1. Nothing was changed',
      ],
      [
        withUrl((url) => url.searchParams.set('sslmode', 'verify-full')),
        '--to: The server does not support SSL connections. Nothing was changed',
      ],
      [readOnly.databaseUrl, `${titleOf(readOnly)}: the store cannot be used: it is read-only, or a standby`],
    ]
    for (const [url = '', reason] of cases) {
      expect(await runHere(environmentOf(old), ['move', '--to', url])).toEqual(refusal(reason))
      expect(await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Before' })).toSucceed()
    }
    expect(await runHere(environmentOf(old), ['move'])).toMatchObject({ status: 1 })
    expect(await runHere(environmentOf(old), ['move', '--cancel'])).toEqual(
      refusal('no move of this store has started'),
    )
    const tables = [await rowsIn(latin), await rowsIn(readOnly)]
    expect(tables).toEqual([0, 0])
    await Promise.all([used, latin, readOnly].map((place) => place.remove()))
  })

  const refuseDirectories = async () => {
    const [used, foreign] = [await makePlace('sqlite'), await makePlace('sqlite')]
    await copyFirstStart(used.dataDir)
    const key = join(foreign.dataDir, 'keys', 'server.key')
    mkdirSync(dirname(key))
    writeFileSync(key, 'ab'.repeat(32))
    const before = await contentOf(used)
    const move = (url: string) => runHere(environmentOf(postgres), ['move', '--to', url])
    expect(await move(`sqlite:${used.dataDir}`)).toEqual(
      refusal(
        `sqlite:${used.dataDir} is not empty: name an empty database, or a directory without crosspoint.db`,
      ),
    )
    expect(await move(`sqlite:${foreign.dataDir}`)).toEqual(
      refusal(`${key} is the key of another store: use another directory`),
    )
    expect(await move(postgres.databaseUrl ?? '')).toEqual(
      refusal(
        '--to must begin with sqlite:, because the store is on PostgreSQL already. `crosspoint backup` and `crosspoint restore` copy a store within one engine',
      ),
    )
    expect(await contentOf(used)).toEqual(before)
    expect(readdirSync(foreign.dataDir)).toEqual(['keys'])
    expect(await readsOnly()).toBe(false)
    await Promise.all([used.remove(), foreign.remove()])
  }

  /** Fails when the rows are copied: a file has the name of the directory of mail. */
  const failLate = async () => {
    const { dataDir } = back
    writeFileSync(join(dataDir, 'outbox'), '')
    const failed = await runHere(environmentOf(postgres), ['move', '--to', `sqlite:${dataDir}`])
    expect(failed).toMatchObject({
      status: 1,
      errors: expect.stringMatching(
        /^crosspoint: E[A-Z]+: .*outbox.*\. The old store takes no writes: run the same command again, or run `crosspoint move --cancel` to use the old store$/m,
      ),
    })
    expect(await readsOnly()).toBe(true)
    expect(await runHere(environmentOf(postgres), ['move', '--cancel'])).toMatchObject({ status: 0 })
    rmSync(dataDir, { recursive: true })
    mkdirSync(dataDir)
  }

  const moveToPostgres = async () => {
    let before: unknown
    await moveWithKills(old, postgres, async () => {
      if (!(await readsOnly())) return
      before ??= await contentOf(old)
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
      const atNew = await runHere(environmentOf(postgres), ['account', 'admin', '--reset', 'admin'])
      expect(atNew).toMatchObject({ status: 1, output: '' })
    })
    const content = await contentOf(postgres)
    expect(content).toEqual(await contentOf(old))
    if (before) expect(content).toEqual(before)
    const [ofNew, ofOld] = [await responsesOf(postgres, session), await responsesOf(old, session)]
    expect(ofNew.responses).toEqual(ofOld.responses)
    expect(ofNew.warnings).toEqual([])
    expect(ofOld.warnings).toEqual([
      expect.stringMatching(/^the store is being moved to PostgreSQL 127\.0\.0\.1:/),
    ])
    expect(server.faults()).toEqual([])
    expect(await server.end()).toBe(0)
  }

  const moveBack = async () => {
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: postgres.databaseUrl }, postgres.dataDir)
    session.close()
    session = await openSession(server, session)
    const named = await session.admin.put(`/v2/accounts/${session.masterId}/devices`, {
      name: 'On PostgreSQL',
    })
    expect(named).toSucceed()
    await refuseDirectories()
    await failLate()
    await moveWithKills(postgres, back, async () => void (await readsOnly()))
    expect(await readsOnly()).toBe(true)
    expect(await contentOf(back)).toEqual(await contentOf(postgres))
    const [ours, theirs] = [back, old].map(({ dataDir }) =>
      readFileSync(join(dataDir, 'keys', 'server.key'), 'utf8'),
    )
    expect(ours).toBe(theirs)
    expect(readdirSync(join(back.dataDir, 'outbox'))).toEqual(readdirSync(join(old.dataDir, 'outbox')))
    const [ofNew, ofOld] = [await responsesOf(back, session), await responsesOf(postgres, session)]
    expect(ofNew.responses).toEqual(ofOld.responses)
    expect(await runHere(environmentOf(postgres), ['move', '--to', `sqlite:${back.dataDir}`])).toMatchObject({
      status: 0,
      output: [
        `The store was moved to sqlite:${back.dataDir} before.`,
        `Unset CROSSPOINT_DATABASE_URL, set CROSSPOINT_DATA_DIR to ${back.dataDir} and restart the server.`,
        'The old store only reads. Remove it after a backup of the new one, or run `crosspoint move --cancel` to use it again.',
        '',
      ].join('\n'),
    })
    for (const place of [old, postgres])
      expect(await runHere(environmentOf(place), ['move', '--cancel'])).toEqual({
        status: 0,
        output: 'The store takes writes again.\n',
        errors: '',
      })
    expect(await readsOnly()).toBe(false)
    const again = await startServerProcess({ CROSSPOINT_DATABASE_URL: undefined }, old.dataDir)
    const { admin, close } = await openSession(again)
    expect(await admin.put(`/v2/accounts/${session.masterId}/devices`, { name: 'Again' })).toSucceed()
    close()
    expect(await again.end()).toBe(0)
  }

  it(
    'copies a store to PostgreSQL and back although it is killed, and its old servers only read',
    async () => {
      await moveToPostgres()
      await moveBack()
    },
    walkLimitMs,
  )
})
