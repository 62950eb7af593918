// How documents of a Kazoo are stored in batches, and what happens to documents that the store refuses.
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createBatches } from '../../import-kazoo/import-run/batches.ts'
import { type BatchProgress, createReading } from '../../import-kazoo/import-run/reading.ts'
import { createRunStore } from '../../import-kazoo/import-run/store.ts'
import type { Facts, ImportSection } from '../../import-kazoo/import-sections/section.ts'
import { openSource } from '../../import-kazoo/source/open.ts'
import type { Importer } from '../../src/areas/adoption.ts'
import { createKeyring } from '../../src/auth/keyring.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { datastoreConflict, failure } from '../../src/lib/failure.ts'
import { createStore } from '../../src/storage/store.ts'
import { startKazoo } from '../support/kazoo/stand-in.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

const masterId = 'a'.repeat(32)
const megabyte = 1024 * 1024

describeEngines('documents of a Kazoo', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      return { opened, store: createStore(opened.db, systemClock) }
    },
    ({ opened }) => opened.close(),
  )

  /** Reads a database whose documents become things; of refused ids the store takes none. */
  const stageFor = async (database: string, reads: ImportSection['reads']) => {
    const { store } = place
    const kazoo = await startKazoo(new Map())
    const refused = new Set<string>()
    const taken: string[] = []
    const removed: string[] = []
    const told: BatchProgress[] = []
    const thing: Importer = {
      async put(set, { accountId, id }) {
        if (refused.has(id)) throw failure(datastoreConflict, {})
        taken.push(id)
        set.record({ accountId, kind: 'thing', id, action: 'edited' })
        return true
      },
      async remove(_set, { id }) {
        removed.push(id)
        return true
      },
    }
    const run = createRunStore(store)
    const batches = createBatches({
      store,
      run,
      adoptions: { thing },
      validate: () => Promise.reject(new Error('things have no schema')),
      keyring: createKeyring(randomBytes(32)),
      author: { requestId: 'import' },
    })
    const chapter: ImportSection = {
      name: 'things',
      reads,
      databases: () => [database],
      convert: (documents) =>
        documents.map((document) => ({
          document,
          outcome: 'imported',
          drafts: [
            {
              as: 'thing',
              accountId: masterId,
              id: document.id,
              created: 1,
              modified: 1,
              doc: {},
              facts: {},
              files: Object.entries(document.fields._attachments ?? {}).map(([name, { length }]) => ({
                role: 'file',
                name,
                contentType: 'text/plain',
                length,
              })),
            },
          ],
          findings: [],
        })),
    }
    return {
      kazoo,
      refused,
      removed,
      told,
      run,
      /** Runs the command once. Returns the imported documents. */
      async read({ triesAgain = true } = {}) {
        const source = await openSource(kazoo.url)
        const facts = { source, masterId } as unknown as Facts
        const onBatch = (batch: BatchProgress) => void told.push(batch)
        taken.length = 0
        await createReading({ run, batches, triesAgain, isLastPass: false, onBatch }).read(
          chapter,
          facts,
          database,
        )
        await source.close()
        return [...new Set(taken)]
      },
    }
  }

  it.each(['whole', 'pages'] as const)(
    'that were refused are tried again by the next run: %s',
    async (reads) => {
      const { kazoo, refused, run, read } = await stageFor(`things ${reads}`, reads)
      for (const id of ['a', 'b', 'c']) kazoo.put(`things ${reads}`, { _id: id, pvt_type: 'thing' })
      refused.add('b')
      await read()
      const outcomeOf = async () => (await run.known(`things ${reads}`, ['b'])).get('b')?.outcome
      expect(await outcomeOf()).toBe('rejected')

      refused.clear()
      expect(await read({ triesAgain: false })).toEqual([])
      expect(await read()).toEqual(['b'])
      expect(await outcomeOf()).toBe('imported')
      expect(await read()).toEqual([])
      await kazoo.close()
    },
  )

  it.each(['whole', 'pages'] as const)(
    'that the source has deleted lose their records and findings: %s',
    async (reads) => {
      const database = `deleted ${reads}`
      const { kazoo, refused, removed, run, read } = await stageFor(database, reads)
      for (const id of ['a', 'b', 'c']) kazoo.put(database, { _id: id, pvt_type: 'thing' })
      refused.add('b')
      await read()
      const codes = async () => (await run.findingsOf(database, 'b')).map(({ code }) => code)
      expect(await codes()).toEqual(['refused'])

      for (const id of ['a', 'b']) kazoo.remove(database, id)
      await read()
      expect(removed).toEqual(['a'])
      expect([...(await run.known(database, ['a', 'b', 'c'])).keys()]).toEqual(['c'])
      expect(await codes()).toEqual([])
      await kazoo.close()
    },
  )

  it.each(['whole', 'pages'] as const)('with large files are stored few at once: %s', async (reads) => {
    const { kazoo, told, read } = await stageFor(`files ${reads}`, reads)
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const bytes = Buffer.alloc(6 * megabyte, id)
      kazoo.put(`files ${reads}`, { _id: id, pvt_type: 'thing' }, [
        { name: 'x', contentType: 'text/plain', bytes, revpos: 1 },
      ])
    }
    expect(await read()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(told.map(({ documents }) => documents).filter((count) => count > 0)).toEqual([2, 2, 1])
    await kazoo.close()
  })
})
