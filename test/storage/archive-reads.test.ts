// The cost of reading call records in files.
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { CdrRow } from '../../src/areas/calls/cdrs/columns.ts'
import { createInteractionStore } from '../../src/areas/calls/cdrs/interactions.sql.ts'
import { createCdrStore } from '../../src/areas/calls/cdrs/store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import type { ObjectStore } from '../../src/object-store/object-store.ts'
import { createStore } from '../../src/storage/store.ts'
import { turnsDuring } from '../support/run/event-loop-turns.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { bareLeg, edge, idsOf, pagesOf, whole } from '../support/world/any-legs.ts'
import { archiveAround, insertLegs } from '../support/world/call-archive.ts'
import { someOf } from '../support/world/walk.ts'

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
      await around.remove()
      await opened.close()
    },
  )

  /**
   * An account with the given number of records of one month, a second after the other; 12 of them fill a file,
   * 5 a group.
   */
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

  it('are read once for several pages, also if their group is larger than the cache of rows', async () => {
    // A megabyte that does not compress for each record: the cache has room for 32 MB of rows, 12 bytes for each in a file.
    const long = (at: number) =>
      createHash('shake256', { outputLength: 750_000 }).update(`${at}`).digest('base64')
    const { accountId, legs } = await archived(5, (at) => ({ rest: JSON.stringify({ text: long(at) }) }))
    const { files, register } = place.around
    const [part] = await register.partsOf(accountId, { first: month, last: month })
    const [group] = part ? await files.groups(part) : []
    if (!part || !group) throw new Error('there is no file')
    reads = []
    expect(idsOf([...(await files.rows(part, group))])).toEqual(idsOf(legs))
    expect(idsOf([...(await files.rows(part, group))])).toEqual(idsOf(legs))
    expect(reads).toEqual([part.path])
  })

  const scopeOf = (accountId: string) => ({ accountId, ownerId: 'u1', ...whole })
  const reading = { after: undefined, limit: 50, descending: false, long: false }

  describe.each(['legs', 'interactions'] as const)('(%s of a user)', (kind) => {
    /** A store that searches the given number of records for one chunk. */
    const listOf = (tried: number) => {
      const { store, around } = place
      if (kind === 'legs') return createCdrStore(store, around.reading, tried)
      return createInteractionStore(store, around.reading, tried)
    }

    it.each(someOf(1, [false, true]))(
      'are looked for in a limited number of records at a time (descending: %s)',
      async (descending) => {
        const { accountId, legs } = await archived(60, (at) => ({ owner_id: at % 30 === 7 ? 'u1' : 'u2' }))
        const { batch } = listOf(10)
        const scope = scopeOf(accountId)
        const { items, next } = await batch(scope, { ...reading, descending })
        // The end of each file is read once; two groups have 10 records, and the next one may begin where they end.
        expect(reads.length - new Set(reads).size).toBeLessThanOrEqual(3)
        expect(items.length).toBeLessThanOrEqual(1)
        expect(next).toEqual({ time: expect.any(Number), mark: expect.any(String) })
        const own = legs.filter(({ owner_id: owner }) => owner === 'u1')
        expect(idsOf(await pagesOf(batch, scope, { limit: 50, descending }))).toEqual(
          idsOf(descending ? own.reverse() : own),
        )
      },
    )
  })

  it('are gone through in turns with other work, also where all of them are kept', async () => {
    const { accountId } = await archived(36)
    const { files, register } = place.around
    const [part] = await register.partsOf(accountId, { first: month, last: month })
    if (!part) throw new Error('there is no file')
    const groups = await files.groups(part)
    const readAll = async () => {
      for (const group of groups) await files.rows(part, group)
    }
    await readAll()
    expect(await turnsDuring(readAll)).toBeGreaterThanOrEqual(groups.length)
    expect(groups.length).toBeGreaterThan(1)
  })
})
