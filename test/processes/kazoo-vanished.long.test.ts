// Databases that go while an import reads them.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ImportStage, openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf } from '../support/kazoo/sample.ts'
import type { KazooRequest } from '../support/kazoo/stand-in.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'

describeAnyEngine('a database that goes while a Kazoo is read', (engine) => {
  let stage: ImportStage

  beforeAll(async () => {
    stage = await openImportStage(engine)
  })
  afterAll(() => stage.close())

  /** Deletes databases at the given number of requests for their documents. */
  const vanishing = (times: Readonly<Record<string, number>>) => {
    const asked = new Map<string, number>()
    return ({ path }: KazooRequest) => {
      const [database = '', what] = path
      if (what !== '_all_docs' || times[database] === undefined) return undefined
      const count = (asked.get(database) ?? 0) + 1
      asked.set(database, count)
      if (count === times[database]) stage.kazoo.removeDatabase(database)
      return undefined
    }
  }

  it('ends only its own part, is reported, and is read from its beginning when it is there again', async () => {
    const { kazoo } = stage
    const [people, month] = [databaseOf(accounts.G), databaseOf(accounts.C, '202503')]
    // Data of all accounts is gathered first.
    kazoo.faults.faultFor = vanishing({ [people]: 2, [month]: 1, alerts: 1 })
    const report = await stage.import()
    const told = (database: string) => ({
      severity: 'left_out',
      code: 'database_vanished',
      database,
      id: '',
    })
    expect(toldOf(report, 'database_vanished')).toEqual({
      severity: 'left_out',
      code: 'database_vanished',
      count: 3,
      first: [people, month, 'alerts'].sort().map(told),
    })
    expect(report.imported).toMatchObject({ task: 1, user: 8, cdr: 8 })
    expect(report.imported.alert).toBeUndefined()

    kazoo.faults.faultFor = undefined
    kazoo.restoreDatabase('alerts')
    const again = await stage.import()
    expect(again.imported.alert).toBe(1)
    expect(toldOf(again, 'database_vanished')).toMatchObject({ count: 2 })
  })
})

describeAnyEngine('a database of the system that goes while a Kazoo is looked at', (engine) => {
  let stage: ImportStage

  beforeAll(async () => {
    stage = await openImportStage(engine)
  })
  afterAll(() => stage.close())

  it('ends the run, because nothing can be reported without it, and is imported whole by the next run', async () => {
    const { kazoo } = stage
    for (const database of ['accounts', 'system_config', 'numbers/managed']) {
      // It is deleted between the list of databases and its first read.
      kazoo.faults.faultFor = ({ path: [name] }: KazooRequest) => {
        if (name === database) kazoo.removeDatabase(database)
        return undefined
      }
      const { status, errors } = await stage.refused()
      expect(status).toBe(1)
      expect(errors).toContain(
        `the database ${database} no longer exists, and the others cannot be converted without it`,
      )
      kazoo.faults.faultFor = undefined
      kazoo.restoreDatabase(database)
    }
    const report = await stage.import()
    expect(report.imported).toMatchObject({ account: 9, user: 8, cdr: 8 })
    expect(toldOf(report, 'database_vanished')).toBeUndefined()
  })
})
