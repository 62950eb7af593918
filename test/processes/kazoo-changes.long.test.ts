// An import follows a Kazoo in which users continue to work: when it is finished, the store has all that they
// did, as if it had been there from the beginning.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeyring, readServerKey } from '../../src/auth/keyring.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { createChanges } from '../support/kazoo/changes.ts'
import { generatedSystem } from '../support/kazoo/generated.ts'
import { type ImportStage, openImportStage } from '../support/kazoo/import-stage.ts'
import { importedContentOf } from '../support/kazoo/imported-content.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, type Place } from '../support/servers/databases.ts'

const changesMade = countOf(200, 20_000)
// They are made as the import sends requests: 20,000 take longer than the limits of other tests.
const changesMs = countOf(120_000, 900_000)
const timeout = countOf(300_000, 1_500_000)
// Several looks at all databases: some of them begin, and end, amid changes.
const changesAtOnce = 20
const size = { accounts: 12, users: 12, numbers: 60, calls: 240, months: 2, rates: 20 }

const contentAt = async ({ dataDir, databaseUrl }: Place) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  try {
    const store = createStore(db, systemClock)
    const key = readServerKey(dataDir)
    if (!key) throw new Error('the start has made no key')
    store.sealing.use(createKeyring(key))
    return await importedContentOf(store)
  } finally {
    await db.close()
  }
}

describeAnyEngine('an import that follows what people do in a Kazoo', (engine) => {
  let [stage, later] = [] as ImportStage[]

  beforeAll(async () => {
    stage = await openImportStage(engine, generatedSystem(size))
    later = await openImportStage(engine, new Map())
  })
  afterAll(async () => {
    await stage?.close()
    await later?.close()
  })

  it(
    'ends in the store of one that began when all of it was done',
    async () => {
      if (!stage || !later) throw new Error('nothing has been opened')
      const { kazoo, commands } = stage
      await stage.import()
      const change = createChanges(kazoo, generatedSystem(size), 'what people do')
      const looks = () => kazoo.requests.filter(({ path: [name] }) => name === '_all_dbs').length
      let made = 0
      kazoo.faults.faultFor = () => {
        for (let at = 0; at < changesAtOnce && made < changesMade; at += 1) made = change()
        return undefined
      }
      const following = commands.start('import', 'kazoo', kazoo.url, '--follow')
      await eventually(
        () => made,
        (count) => count === changesMade,
        changesMs,
      )
      const before = looks()
      await eventually(looks, (count) => count > before + 1)
      following.process.kill('SIGINT')
      expect((await following.ended).status).toBeLessThan(3)

      const anew = await later.run('import', 'kazoo', kazoo.url)
      expect(anew.errors).not.toContain('crosspoint:')
      // Routes of numbers and closing balances of months may depend on later records: the end of the import
      // corrects them.
      const { records, tree, calls } = await contentAt(later.place)
      expect(await contentAt(stage.place)).toMatchObject({ records, tree, calls })

      await stage.import('--finish')
      expect((await later.run('import', 'kazoo', kazoo.url, '--finish')).status).toBeLessThan(3)
      expect(await contentAt(stage.place)).toEqual(await contentAt(later.place))
    },
    timeout,
  )
})
