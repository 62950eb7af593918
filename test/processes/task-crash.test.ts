// A server that dies in the middle of a task loses no finished row and repeats none.
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const kills = countOf(2, 10)
const rowsBetweenKills = countOf(400, 5000)
// Many more than those that a server does before the last kill arrives.
const rowCount = countOf(6000, 100_000)
/** After this kill the task is stopped, and a new one continues it. */
const stopBehind = kills / 2
const rowsAtOnce = countOf(100, 500)
/** These rows fail: their numbers lack the plus. */
const isBad = (number: string) => !number.startsWith('+')

const numbers = Array.from(
  { length: rowCount },
  (_, row) => `${row % 10 === 0 ? '' : '+'}1415${5_000_000 + row}`,
)
const input = ['e164', ...numbers].join('\n')
const badCount = numbers.filter(isBad).length

describeAnyEngine('a task of many rows, killed several times and stopped once', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  })

  afterEach(() => place.remove())

  const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

  const kill = async (server: ServerProcess) => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
  }

  const ask = async <T>(sql: string) => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    try {
      return await db.scan<T>(sql)
    } finally {
      await db.close()
    }
  }

  /** How many rows of the task are done. */
  const done = async ({ admin }: Session, path: string) => {
    const { metadata } = (await admin.get(path)).body
    return Number(metadata.success_count ?? 0) + Number(metadata.failure_count ?? 0)
  }

  it('ends with each row done once and a complete output', async () => {
    let server = await start()
    let session = await openSession(server)
    await freeRequests(session)
    const batches = await session.admin.put('/v2/system_configs/tasks', {
      default: { rows_at_once: rowsAtOnce },
    })
    expect(batches.status, batches.text).toBe(201)
    const made = await session.admin.put('/v2/tasks?category=number_management&action=import', undefined, {
      body: Buffer.from(input),
      headers: { 'content-type': 'text/csv' },
    })
    expect(made.status, made.text).toBe(201)
    let path = `/v2/tasks/${made.body.metadata.id}`
    const first = path
    /** Rows that the first task did. */
    let doneBefore = 0
    expect((await session.admin.patch(path)).status).toBe(200)
    for (let round = 1; round <= kills; round += 1) {
      const before = await eventually(
        () => done(session, path),
        (count) => doneBefore + count >= round * rowsBetweenKills,
      )
      await kill(server)
      expect(before).toBeLessThan(rowCount)
      session.close()
      server = await start()
      session = await openSession(server, session)
      expect(await done(session, path)).toBeGreaterThanOrEqual(before)
      if (round !== stopBehind) continue
      expect((await session.admin.patch(`${path}/stop`)).status).toBe(200)
      doneBefore = await done(session, path)
      const next = await session.admin.put(`${path}/continue`)
      expect(next.status, next.text).toBe(201)
      expect(next.body.metadata.total_count).toBe(rowCount - doneBefore)
      path = `/v2/tasks/${next.body.metadata.id}`
      expect((await session.admin.patch(path)).status).toBe(200)
    }
    const { metadata } = await eventually(
      async () => (await session.admin.get(path)).body,
      ({ metadata: { status } }) => status !== 'executing',
    )
    expect(metadata).toMatchObject({ status: 'partial', total_count: rowCount - doneBefore })
    const before = (await session.admin.get(first)).body.metadata
    expect(before).toMatchObject({ status: 'stopped', total_count: rowCount })
    const sum = (name: string) => Number(before[name]) + Number(metadata[name])
    expect([sum('success_count'), sum('failure_count')]).toEqual([rowCount - badCount, badCount])
    const rowsOf = async (task: string) => {
      const output = (await session.admin.get(`${task}/output`)).text.split('\r\n')
      expect(output[0]).toMatch(/^e164,.*,error$/)
      expect(output.at(-1)).toBe('')
      return output.slice(1, -1)
    }
    const told = [...(await rowsOf(first)), ...(await rowsOf(path))]
    // Compared as texts: the difference of two long lists takes long to print.
    expect(told.map((line) => line.split(',', 1)[0]).join() === numbers.join()).toBe(true)
    expect(told.filter((line) => line.endsWith(',bad field(s) e164'))).toHaveLength(badCount)
    session.close()
    expect(await server.end()).toBe(0)
    // What was done leaves a mark for each time.
    const marks = await ask<{ marks: number; records: number }>(
      "SELECT count(*) AS marks, count(DISTINCT record_id) AS records FROM audit_log WHERE kind = 'number'",
    )
    const expected = rowCount - badCount
    expect(marks.map((row) => ({ marks: Number(row.marks), records: Number(row.records) }))).toEqual([
      { marks: expected, records: expected },
    ])
  })
})
