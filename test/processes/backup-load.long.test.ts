// Backups while several clients write: what was acknowledged before one began is in it, and what it holds is of one moment.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { describeSavable, openSavedPlaces, type SavedPlace, type SavedPlaces } from '../support/run/saved.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const rounds = 20
const writers = 6

describeSavable('a backup under load', (engine) => {
  let places: SavedPlaces
  let origin: SavedPlace
  let server: ServerProcess
  let session: Session

  beforeAll(async () => {
    places = await openSavedPlaces(engine)
    origin = await places.make()
    server = await startServerProcess(origin.environment, origin.dataDir)
    session = await openSession(server)
    await freeRequests(session)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await places.end()
  })

  /** Writers that run until they are stopped. Each counts its devices; `acknowledged` is the count of each. */
  const write = (round: number) => {
    const acknowledged = Array.from({ length: writers }, () => 0)
    let isStopped = false
    const one = async (writer: number) => {
      for (let number = 1; !isStopped; number += 1) {
        const name = `${round} ${writer} ${number}`
        const answer = await session.admin.put(`/v2/accounts/${session.masterId}/devices`, { name })
        if (answer.status !== 201) throw new Error(answer.text)
        acknowledged[writer] = number
      }
    }
    const all = Promise.all(acknowledged.map((_, writer) => one(writer)))
    return {
      acknowledged,
      async stop() {
        isStopped = true
        await all
      },
    }
  }

  /** Number of devices of each writer in a store; none may be missing before the last. */
  const heldBy = async (place: SavedPlace, round: number) => {
    const db = place.open()
    const rows = await db.all("SELECT doc FROM records WHERE kind = 'device'").finally(() => db.close())
    const names = rows.map(({ doc }) =>
      String(JSON.parse(String(doc)).name)
        .split(' ')
        .map(Number),
    )
    return Array.from({ length: writers }, (_, writer) => {
      const numbers = names.filter(([of, by]) => of === round && by === writer).map(([, , number]) => number)
      const sorted = numbers.sort((a = 0, b = 0) => a - b)
      expect(sorted).toEqual(sorted.map((_number, index) => index + 1))
      return sorted.length
    })
  }

  it(`holds whatever was acknowledged before it began, ${rounds} times`, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const load = write(round)
      await eventually(
        () => load.acknowledged,
        (counts) => counts.every((count) => count > 0),
      )
      const file = join(places.folder, `backup-${round}`)
      const before = [...load.acknowledged]
      const made = await origin.commands.run('backup', file)
      const after = [...load.acknowledged]
      await load.stop()
      expect(made).toMatchObject({ status: 0, errors: '' })
      const place = await places.make()
      expect(await place.commands.here('restore', file)).toMatchObject({ status: 0, errors: '' })
      const held = await heldBy(place, round)
      for (const [writer, count] of held.entries()) {
        expect(count).toBeGreaterThanOrEqual(before[writer] ?? 0)
        // One more may have been committed, and not yet answered, when its snapshot was taken.
        expect(count).toBeLessThanOrEqual((after[writer] ?? 0) + 1)
      }
      const verified = await place.commands.here('verify', '--json')
      expect(JSON.parse(verified.output)).toMatchObject({ sound: true, faults: [] })
    }
    expect(server.faults()).toEqual([])
  })
})
