// What it takes to read call records that lie in files.
import { expect, it } from 'vitest'
import type { CdrRow } from '../../src/areas/cdrs/columns.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import type { ObjectStore } from '../../src/object-store/object-store.ts'
import { createStore } from '../../src/storage/store.ts'
import { bareLeg, edge } from '../support/any-legs.ts'
import { archiveAround, insertLegs } from '../support/call-archive.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'

const month = 202601

describeEngines('Call records in files', (engine) => {
  let reads: string[] = []
  const counting = (directory: ObjectStore): ObjectStore => ({
    ...directory,
    read(path, from, to) {
      reads.push(path)
      return directory.read(path, from, to)
    },
  })

  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const store = createStore(opened.db, systemClock)
      return { opened, store, around: archiveAround(store, undefined, counting) }
    },
    async ({ opened, around }) => {
      around.remove()
      await opened.close()
    },
  )

  /** An account with so many records of one month, a second after the other; 12 of them fill a file, 5 a group. */
  const archived = async (count: number, more: (at: number) => Partial<CdrRow> = () => ({})) => {
    const accountId = randomHex(16)
    const legs = Array.from({ length: count }, (_, at) =>
      bareLeg({
        account_id: accountId,
        id: `${month}-${String(at).padStart(3, '0')}`,
        created: edge + at,
        ...more(at),
      }),
    )
    await insertLegs(place.store, legs)
    await place.around.archive()
    reads = []
    return { accountId, legs }
  }

  it('need one look into each file to say that there is no such record, and none the next time', async () => {
    const { accountId } = await archived(36)
    const { reading, register } = place.around
    const files = await register.partsOf(accountId, { first: month, last: month })
    expect(files.length).toBeGreaterThan(1)
    // The ends are read first, whole groups not at all.
    expect(await reading.find(accountId, `${month}-nobody`)).toBeUndefined()
    expect(reads.sort()).toEqual(files.flatMap(({ path }) => [path, path]).sort())
    reads = []
    expect(await reading.find(accountId, `${month}-noone`)).toBeUndefined()
    expect(reads).toEqual([])
  })
})
