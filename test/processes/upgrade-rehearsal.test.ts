// Stores that earlier versions left, kept as backups in test/fixtures: this version takes them over as an operator would do it.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { upgrades } from '../../src/storage/upgrades.ts'
import { runHere } from '../support/command-here.ts'
import { environmentOf } from '../support/kazoo/first-start.ts'
import { describeAnySavable, openSavedPlaces, type SavedPlace, type SavedPlaces } from '../support/saved.ts'
import { startServerProcess } from '../support/server-process.ts'
import { openSession } from '../support/session.ts'

const fixtures = join(import.meta.dirname, '..', 'fixtures')
const newest = upgrades.at(-1)?.number ?? 0

const start = (place: SavedPlace, keys: Record<string, string> = {}) =>
  startServerProcess({ ...place.environment, ...keys }, place.dataDir)

const upgradeOf = async (place: SavedPlace) => {
  const db = place.open()
  const [row] = await db.all('SELECT max(number) AS number FROM storage_upgrades').finally(() => db.close())
  return row?.number
}

describeAnySavable('a store of an earlier version', (engine) => {
  let places: SavedPlaces

  beforeAll(async () => {
    places = await openSavedPlaces(engine)
  })

  afterAll(() => places.end())

  const kept = readdirSync(fixtures).filter((name) => name.endsWith(`.${engine}`))

  it('is kept for a rehearsal', () => {
    expect(kept).toContain(`store-at-upgrade-30.${engine}`)
  })

  it.each(kept)('%s is taken over whole: people sign in, money and audit are sound', async (name) => {
    const place = await places.make()
    const restored = await place.commands.here('restore', join(fixtures, name), '--json')
    expect(restored).toMatchObject({ status: 0, errors: '' })
    const { counts } = JSON.parse(restored.output)
    // Keys of these stores have their real cost.
    const server = await start(place, { CROSSPOINT_TEST_KEYS: 'real' })
    const { admin, masterId, close } = await openSession(server)
    const below = await admin.get(`/v2/accounts/${masterId}/descendants?page_size=200`)
    expect(below.data.length).toBeGreaterThan(10)
    const phones = await admin.get(`/v2/accounts/${below.data[0].id}/devices`)
    expect(phones).toSucceed()
    close()
    expect(server.faults()).toEqual([])
    expect(await server.end()).toBe(0)
    expect(await upgradeOf(place)).toBe(newest)
    const verified = JSON.parse((await runHere(environmentOf(place), ['verify', '--json'])).output)
    expect(verified).toMatchObject({ sound: true, faults: [] })
    const { records } = Object.fromEntries(
      verified.checks.map((check: { name: string; looked_at: number }) => [check.name, check.looked_at]),
    )
    expect(records).toBeGreaterThanOrEqual(counts.records)
  })
})

describeAnySavable('a store of a newer version', (engine) => {
  let places: SavedPlaces

  beforeAll(async () => {
    places = await openSavedPlaces(engine)
  })

  afterAll(() => places.end())

  it('is refused by an older program, and stays as it is', async () => {
    const place = await places.make()
    expect(await (await start(place)).end()).toBe(0)
    const db = place.open()
    await db.write({
      statements: [
        {
          sql: "INSERT INTO storage_upgrades (number, title, applied_at) VALUES ($1, 'of a newer version', 0)",
          params: [newest + 1],
        },
      ],
      stale: [],
    })
    await db.close()
    const says = `the store is at upgrade ${newest + 1}, this version knows ${newest}: run a newer Crosspoint`
    await expect(start(place)).rejects.toThrow(says)
    const { status, errors } = await place.commands.run('audit', 'verify')
    expect(status).not.toBe(0)
    expect(errors).toContain(says)
    expect(await upgradeOf(place)).toBe(newest + 1)
  })
})
