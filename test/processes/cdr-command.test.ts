import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import type { Json } from '../../src/lib/json.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { runHere } from '../support/run/command-here.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { storedCdrs } from '../support/world/stored-cdrs.ts'

// 2026-02-10 and 2026-03-10, in Gregorian seconds.
const february = 63_937_900_800
const march = february + 28 * 86_400

describeAnyEngine('crosspoint cdrs', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
    await freeRequests(session)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await place.remove()
  })

  const crosspoint = (...args: string[]) => {
    const environment = { CROSSPOINT_DATA_DIR: place.dataDir, CROSSPOINT_DATABASE_URL: place.databaseUrl }
    return runHere(environment, ['cdrs', ...args])
  }

  const legOf = (callId: string, timestamp: number, more: Json = {}) => ({
    call_id: callId,
    timestamp,
    duration_seconds: 10,
    billing_seconds: 9,
    caller_id_name: 'Łukasz, "Lucky"',
    custom_channel_vars: { account_id: session.masterId, tags: ['a', { b: 1 }] },
    ...more,
  })

  const file = (name: string, content: string | Buffer) => {
    const path = join(place.dataDir, name)
    writeFileSync(path, content)
    return path
  }

  const linesOf = (records: readonly object[]) =>
    records.map((record) => `${JSON.stringify(record)}\n`).join('')

  const stored = async () => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    const store = createStore(db, systemClock)
    const found = {
      cdrs: await storedCdrs(store),
      tallies: await store.all('SELECT * FROM cdr_tallies ORDER BY 1, 2, 3, 4, 5'),
    }
    await db.close()
    return found
  }

  it('imports a file while a server runs, and changes nothing the second time', async () => {
    const records = Array.from({ length: 1200 }, (_, index) => legOf(`first-${index}`, february + index))
    const path = file('first.ndjson', linesOf(records))
    const earlier = (await stored()).cdrs.length
    const sent = session.admin.put('/v2/cdrs', [legOf('by http', february)])
    expect(await crosspoint('import', path)).toEqual({
      status: 0,
      output: '1,200 records stored, 0 already stored, 0 ignored, 0 rejected\n',
      errors: '',
    })
    expect((await sent).data.accepted).toBe(1)
    const before = await stored()
    expect(before.cdrs).toHaveLength(earlier + 1201)
    expect((await crosspoint('import', path)).output).toBe(
      '0 records stored, 1,200 already stored, 0 ignored, 0 rejected\n',
    )
    expect(await stored()).toEqual(before)
  })

  it('takes what calls cost from the ledger, unless they were paid elsewhere', async () => {
    const customer = await session.admin.put('/v2/accounts', { name: 'Caller' })
    const paid = (callId: string) =>
      legOf(callId, february, {
        custom_channel_vars: { account_id: customer.data.id, account_billing: 'per_minute', rate: 100 },
      })
    const total = async () =>
      (await session.admin.get(`/v2/accounts/${customer.data.id}/ledgers/total`)).data.amount
    const history = file('history.ndjson', linesOf([paid('old')]))
    expect(await crosspoint('import', history, '--paid-elsewhere')).toMatchObject({ status: 0 })
    expect(await total()).toBe(0)
    const fresh = file('fresh.ndjson', linesOf([paid('old'), paid('new')]))
    expect(await crosspoint('import', fresh)).toMatchObject({
      status: 0,
      output: '1 records stored, 1 already stored, 0 ignored, 0 rejected\n',
    })
    expect(await total()).toBe(-0.01)
    expect(await crosspoint('import', fresh, '--nonsense')).toMatchObject({ status: 2 })
  })

  it('imports a gzipped file', async () => {
    const path = file('second.gz', gzipSync(linesOf([legOf('second', february)])))
    expect(await crosspoint('import', path)).toMatchObject({
      status: 0,
      output: '1 records stored, 0 already stored, 0 ignored, 0 rejected\n',
    })
  })

  it('reports the lines that it cannot use, and takes the others', async () => {
    const path = file(
      'third.ndjson',
      `nonsense\n${linesOf([legOf('third', february), { call_id: 'no account' }])}`,
    )
    expect(await crosspoint('import', path)).toEqual({
      status: 1,
      output: '1 records stored, 0 already stored, 0 ignored, 2 rejected\n',
      errors: expect.stringMatching(/^line 1: .+\nline 3: custom_channel_vars.account_id: is missing\n$/),
    })
  })

  it('says so when it cannot read the file', async () => {
    const missing = await crosspoint('import', join(place.dataDir, 'missing'))
    expect(missing).toEqual({ status: 1, output: '', errors: expect.stringMatching(/^crosspoint: ENOENT/) })
    const broken = file('broken.gz', gzipSync(linesOf([legOf('broken', february)])).subarray(0, 40))
    expect(await crosspoint('import', broken)).toMatchObject({
      status: 1,
      errors: expect.stringMatching(/^crosspoint: /),
    })
  })

  it('archives a month, drops it, and reads it back as it was', async () => {
    await session.admin.put('/v2/cdrs', [legOf('of march', march), legOf('more of march', march + 5)])
    const before = await stored()
    const path = join(place.dataDir, 'march.ndjson.gz')
    expect(await crosspoint('archive', '202603', path)).toEqual({
      status: 0,
      output: `2 records of 202603 written to ${path}\n`,
      errors: '',
    })
    const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      before.cdrs
        .filter(({ id }) => String(id).startsWith('202603'))
        .toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp)),
    )
    expect(await crosspoint('archive', '202603', path)).toMatchObject({
      status: 1,
      errors: `crosspoint: ${path} exists\n`,
    })

    const unsure = await crosspoint('drop', '202603')
    expect(unsure).toMatchObject({
      status: 1,
      errors: 'crosspoint: 2 records of 202603 would be deleted permanently: confirm with --yes\n',
    })
    expect(await stored()).toEqual(before)
    expect(await crosspoint('drop', '202603', '--yes')).toEqual({
      status: 0,
      output: '2 records of 202603 were deleted\n',
      errors: '',
    })
    const without = before.cdrs.filter(({ id }) => !String(id).startsWith('202603'))
    expect(await stored()).toEqual({ cdrs: without, tallies: before.tallies })

    expect((await crosspoint('import', path)).output).toBe(
      '2 records stored, 0 already stored, 0 ignored, 0 rejected\n',
    )
    expect(await stored()).toEqual(before)
    // The running server knows the month again.
    const again = await session.admin.put('/v2/cdrs', [
      legOf('of march', march),
      legOf('new in march', march),
    ])
    expect(again.data).toMatchObject({ accepted: 1, duplicates: 1 })
  })

  it('archives to a plain file when its name does not end in .gz', async () => {
    const sent = await session.admin.put('/v2/cdrs', [legOf('archived as text', february)])
    expect(sent.data.accepted).toBe(1)
    const path = join(place.dataDir, 'february.ndjson')
    expect((await crosspoint('archive', '202602', path)).status).toBe(0)
    expect(readFileSync(path, 'utf8').split('\n')[0]).toContain('"id":"202602-')
  })

  it('knows months that have no records, and texts that are no months', async () => {
    const none = { status: 1, output: '', errors: 'crosspoint: no records of this month\n' }
    expect(await crosspoint('drop', '201901', '--yes')).toEqual(none)
    expect(await crosspoint('archive', '201901', join(place.dataDir, 'none.gz'))).toEqual(none)
    expect((await crosspoint('drop', '2019-01', '--yes')).status).toBe(2)
    expect((await crosspoint('archive', '201913', 'x')).status).toBe(2)
  })

  it('explains itself', async () => {
    expect(await crosspoint('--help')).toMatchObject({
      status: 0,
      output: expect.stringContaining('cdrs import FILE'),
    })
    expect(await crosspoint('vanish')).toMatchObject({
      status: 2,
      errors: expect.stringContaining('cdrs import FILE'),
    })
    expect((await crosspoint('import')).status).toBe(2)
  })
})
