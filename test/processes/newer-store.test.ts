import { afterAll, beforeAll, expect, it } from 'vitest'
import { upgrades } from '../../src/storage/upgrades.ts'
import {
  describeAnySavable,
  openSavedPlaces,
  type SavedPlace,
  type SavedPlaces,
} from '../support/run/saved.ts'
import { startServerProcess } from '../support/servers/server-process.ts'

const newest = upgrades.at(-1)?.number ?? 0

const start = (place: SavedPlace) => startServerProcess(place.environment, place.dataDir)

const upgradeOf = async (place: SavedPlace) => {
  const db = place.open()
  const [row] = await db.all('SELECT max(number) AS number FROM storage_upgrades').finally(() => db.close())
  return row?.number
}

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
    const says = `the store is at upgrade ${newest + 1}, this version supports ${newest}: run a newer Crosspoint`
    await expect(start(place)).rejects.toThrow(says)
    const { status, errors } = await place.commands.run('audit', 'verify')
    expect(status).not.toBe(0)
    expect(errors).toContain(says)
    expect(await upgradeOf(place)).toBe(newest + 1)
  })
})
