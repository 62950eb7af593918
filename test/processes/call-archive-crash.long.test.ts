// If a server dies while it archives call records, each acknowledged record exists once, and the store knows all files.

import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { monthAt } from '../../src/areas/calls/cdrs/places.rules.ts'
import { checkCallArchive } from '../../src/commands/verification/call-archive.ts'
import type { Fault } from '../../src/lib/check.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import type { ObjectStore } from '../../src/object-store/object-store.ts'
import { openDirectory, openS3 } from '../../src/object-store/open.ts'
import { createScheduleRows } from '../../src/storage/leases.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { type Chance, createChance, seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import {
  describeEngines,
  describeOnce,
  type Engine,
  makePlace,
  type Place,
} from '../support/servers/databases.ts'
import { startObjectServer } from '../support/servers/object-server.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const kills = 40
const job = 'cdr-archive'
const legsPerBody = 25
const bodiesPerTurn = 6

const today = new Date(systemClock.now())
/** The tenth days of months that are old enough to be archived, in Gregorian seconds. */
const days = [2, 3, 4, 5, 6].map(
  (ago) => Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - ago, 10) / 1000 + gregorianUnixOffset,
)
const first = Math.min(...days)

/** The archive folder of a server, and its files. */
interface Archive {
  environment: Record<string, string>
  objects: ObjectStore
  keys(): string[]
  remove(): Promise<unknown>
}

const makeDirectory = async (): Promise<Archive> => {
  const folder = await mkdtemp(join(tmpdir(), 'call-archive-'))
  return {
    environment: { CROSSPOINT_CALL_ARCHIVE: folder },
    objects: openDirectory(folder),
    keys: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => relative(folder, join(parentPath, name))),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

const makeBucket = async (): Promise<Archive> => {
  const server = await startObjectServer()
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey } = server.place
  return {
    environment: {
      CROSSPOINT_CALL_ARCHIVE: `s3://${bucket}/${prefix.replace(/\/$/, '')}`,
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    },
    objects: openS3(server.place),
    keys: () => [...server.objects.keys()].map((key) => key.slice(prefix.length)),
    remove: server.stop,
  }
}

const openStore = ({ databaseUrl, dataDir }: Place) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  return { store: createStore(db, systemClock), close: () => db.close() }
}

/** The outcome of each record that was sent. */
interface Ledger {
  acknowledged: Map<string, Json>
  /** Ids of records whose outcome is unknown. */
  unanswered: Set<string>
}

const put = async ({ admin }: Session, legs: readonly Json[], ledger: Ledger) => {
  for (const { call_id: id } of legs) ledger.unanswered.add(String(id))
  const answer = await admin.put('/v2/cdrs', legs)
  if (answer.status === 201)
    for (const leg of legs) {
      ledger.acknowledged.set(String(leg.call_id), leg)
      ledger.unanswered.delete(String(leg.call_id))
    }
  return answer
}

const kill = async (server: ServerProcess) => {
  server.process.kill('SIGKILL')
  await once(server.process, 'exit')
}

const isCut = (error: unknown) =>
  /ECONNRESET|ECONNREFUSED|EPIPE|socket hang up/.test(String((error as NodeJS.ErrnoException).code ?? error))

/** Everything that a list has, page after page. */
const idsIn = async ({ admin, masterId }: Session): Promise<string[]> => {
  const ids: string[] = []
  for (let key: string | undefined = ''; key !== undefined; ) {
    const query = {
      created_from: String(first - 86_400),
      page_size: '500',
      ...(key ? { start_key: key } : {}),
    }
    const { status, text, data, body } = await admin.get(`/v2/accounts/${masterId}/cdrs`, { query })
    expect(status, text).toBe(200)
    ids.push(...data.map((row: Json) => String(row.id).slice('202601-'.length)))
    key = body.next_start_key
  }
  return ids
}

/** How many calls the statistics have. */
const callsIn = async ({ admin, masterId }: Session) => {
  const query = { created_from: String(first - 86_400), interval: 'month' }
  const { status, text, data } = await admin.get(`/v2/accounts/${masterId}/cdrs/stats`, { query })
  expect(status, text).toBe(200)
  return data.reduce((sum: number, { calls }: Json) => sum + Number(calls), 0)
}

const diesOften = (engine: Engine, makeArchive: () => Promise<Archive>) => {
  let place: Place
  let archive: Archive

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    archive = await makeArchive()
  })

  afterEach(async () => {
    await archive.remove()
    await place.remove()
  })

  const start = () =>
    startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl, ...archive.environment }, place.dataDir)

  const setUp = async () => {
    const server = await start()
    const session = await openSession(server)
    await freeRequests(session)
    const set = async (name: string, values: Json) => {
      const answer = await session.admin.patch(`/v2/system_configs/${name}`, { default: values })
      expect(answer.status, answer.text).toBeLessThan(300)
    }
    await set('cdr', { archive_after_months: 1 })
    await set('crossbar.cdrs', { maximum_range: 400 * 86_400 })
    return { server, session }
  }

  const isDone = async (store: Store) => (await createScheduleRows(store).doneAt(job)) > 0

  /** The next server runs the job when it starts. */
  const askAgain = (store: Store) =>
    store.writeUnrecorded([{ sql: 'DELETE FROM scheduled_jobs WHERE name = $1', params: [job] }])

  const untilDone = (store: Store) => eventually(() => isDone(store), Boolean)

  const legsOf = ({ masterId }: Session, name: string, day: number) =>
    Array.from(
      { length: legsPerBody },
      (_, at): Json => ({
        call_id: `${name}-${at}`,
        timestamp: day + at,
        duration_seconds: 1,
        custom_channel_vars: { account_id: masterId },
      }),
    )

  const sendFirst = async (session: Session, name: string, ledger: Ledger) => {
    for (const [at, day] of days.entries()) {
      const answer = await put(session, legsOf(session, `${name}-${at}`, day), ledger)
      expect(answer.status, answer.text).toBe(201)
    }
  }

  /** Further records of months that are just being moved, and some that are there already. */
  const sendMore = async (session: Session, name: string, { pick, once: oneIn }: Chance, ledger: Ledger) => {
    for (let body = 0; body < bodiesPerTurn; body += 1) {
      const answer = await put(session, legsOf(session, `${name}-${body}`, pick(days)), ledger)
      expect([201, 409, 503], answer.text).toContain(answer.status)
      if (!oneIn(2)) continue
      const known = [...ledger.acknowledged.values()].slice(-legsPerBody)
      const again = await session.admin.put('/v2/cdrs', known)
      expect([201, 409, 503], again.text).toContain(again.status)
      if (again.status === 201) expect(again.data).toMatchObject({ accepted: 0, duplicates: known.length })
    }
  }

  /** Returns the content of files, once all records are in files. */
  const filesOf = async (store: Store) => {
    await store.fence()
    expect((await store.cdrs.months()).filter((month) => days.some((day) => month === monthAt(day)))).toEqual(
      [],
    )
    const rows = await store.all<{ path: string; state: string; records: number }>(
      'SELECT path, state, records FROM cdr_files ORDER BY path',
    )
    expect(rows.filter(({ state }) => state !== 'live')).toEqual([])
    return rows
  }

  it('has each record that it acknowledged once, and no file that the store does not know', {
    timeout: 120_000 + kills * 20_000,
  }, async () => {
    const chance = createChance(seed)
    const ledger: Ledger = { acknowledged: new Map(), unanswered: new Set() }
    let { server, session } = await setUp()
    const { store, close } = openStore(place)
    const restart = async () => {
      await askAgain(store)
      server = await start()
      session.close()
      session = await openSession(server, session)
    }
    await sendFirst(session, 'first', ledger)
    expect(await server.end()).toBe(0)
    await restart()
    const began = performance.now()
    await untilDone(store)
    // How long the job takes without a kill. Each kill comes within this time.
    const span = performance.now() - began
    await sendFirst(session, 'second', ledger)
    await kill(server)
    const untilNextKill = () => sleep(chance.below(span))

    let interrupted = 0
    // A kill may come after the end of the job. At least one comes before.
    for (let turn = 0; turn < kills || interrupted === 0; turn += 1) {
      await restart()
      const sending = sendMore(session, `turn-${turn}`, chance, ledger)
      const [ended] = await Promise.all([
        Promise.allSettled([sending]),
        untilNextKill().then(() => kill(server)),
      ])
      for (const result of ended)
        if (result.status === 'rejected' && !isCut(result.reason)) throw result.reason
      if (!(await isDone(store))) interrupted += 1
    }

    await restart()
    await untilDone(store)
    expect(server.errors()).not.toContain('could not be archived')
    const ids = await idsIn(session)
    const listed = new Set(ids)
    expect(ids.length, 'no record twice').toBe(listed.size)
    expect([...ledger.acknowledged.keys()].filter((id) => !listed.has(id))).toEqual([])
    expect(ids.filter((id) => !ledger.acknowledged.has(id) && !ledger.unanswered.has(id))).toEqual([])
    expect(await callsIn(session)).toBe(ids.length)

    const files = await filesOf(store)
    expect(archive.keys().sort()).toEqual(files.map(({ path }) => path))
    expect(files.reduce((sum, { records }) => sum + Number(records), 0)).toBe(ids.length)
    const faults: Fault[] = []
    await checkCallArchive(store, archive.objects).run((fault) => faults.push(fault))
    expect(faults).toEqual([])
    session.close()
    expect(await server.end()).toBe(0)
    await close()
  })
}

describeEngines('A server that is killed while it moves call records to a directory', (engine) =>
  diesOften(engine, makeDirectory),
)

describeOnce('A server that is killed while it moves call records to a bucket', (engine) =>
  diesOften(engine, makeBucket),
)
