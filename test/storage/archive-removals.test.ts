// The files that the archive of call records leaves when an operation fails.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkCallArchive } from '../../src/commands/verification/call-archive.ts'
import type { Fault } from '../../src/lib/check.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { type ObjectStore, ObjectStoreError } from '../../src/object-store/object-store.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'
import { bareLeg, edge } from '../support/world/any-legs.ts'
import { archiveAround, guard, insertLegs } from '../support/world/call-archive.ts'

describeEngines('The archive of call records', (engine) => {
  let opened: TestDatabase
  let store: Store
  let around: ReturnType<typeof archiveAround>

  beforeEach(async () => {
    opened = await openTestDatabase(engine)
    store = createStore(opened.db, systemClock)
  })
  afterEach(async () => {
    await around.remove()
    await opened.close()
  })

  const archiveIn = (changed: (directory: ObjectStore) => ObjectStore) => {
    around = archiveAround(store, undefined, changed)
    return around
  }

  const insertOne = () =>
    insertLegs(store, [bareLeg({ account_id: randomHex(16), id: '202601-a', created: edge + 1 })])

  it('removes what it can, also when one file cannot be removed', async () => {
    const paths = ['a', 'b', 'c'].map((name) => `cdrs/202601/${name}.parquet`)
    const { register, objects, archive } = archiveIn((directory) => ({
      ...directory,
      remove: (path) =>
        path === paths[0]
          ? Promise.reject(new ObjectStoreError('this place', 'it does not let go of the first'))
          : directory.remove(path),
    }))
    for (const path of paths) {
      await register.begin(guard, path, 202601)
      await objects.put(path, Uint8Array.of(1))
    }
    await expect(archive()).rejects.toThrow('it does not let go of the first')
    expect((await register.unread()).map(({ path }) => path)).toEqual(paths.slice(0, 1))
    expect(paths.map((path) => existsSync(join(around.folder, path)))).toEqual([true, false, false])
  })

  it('rewrites only the files that contain records of a removed account', async () => {
    const { register, archive } = archiveIn((directory) => directory)
    const [leaving, staying] = ['a'.repeat(32), 'b'.repeat(32)] as const
    // A file has room for twelve records: one has all of the leaving account.
    for (const account_id of [leaving, staying])
      await insertLegs(
        store,
        Array.from({ length: 12 }, (_, at) =>
          bareLeg({ account_id, id: `202601-${account_id[0]}${at}`, created: edge + at }),
        ),
      )
    await archive()
    await store.writeUnrecorded(register.leave(leaving, 202601))
    const files = await store.all('SELECT departures FROM cdr_files ORDER BY departures')
    expect(files).toEqual([{ departures: 0 }, { departures: 1 }])
  })

  it('leaves no file that another process has forgotten before it was there', async () => {
    const sent: string[] = []
    const { archive, folder, register } = archiveIn((directory) => ({
      ...directory,
      async put(path, bytes) {
        sent.push(path)
        await register.forget(guard, path)
        await directory.put(path, bytes)
      },
    }))
    await insertOne()
    await expect(archive()).rejects.toThrow('datastore_conflict')
    expect(sent).not.toEqual([])
    expect(sent.filter((path) => existsSync(join(folder, path)))).toEqual([])
    expect(await store.cdrs.months()).toEqual([202601])
  })

  it('says why a file could not be sent, also when that cannot be taken back', async () => {
    const { archive } = archiveIn((directory) => ({
      ...directory,
      put: () => Promise.reject(new ObjectStoreError('this place', 'it is full')),
      remove: () => Promise.reject(new ObjectStoreError('this place', 'it is read-only')),
    }))
    await insertOne()
    await expect(archive()).rejects.toThrow('it is full')
  })

  it('finds files that are missing or damaged, or whose accounts have other records than they hold', async () => {
    const { archive, folder, objects, register } = archiveIn((directory) => directory)
    const check = async () => {
      const faults: Fault[] = []
      const checked = await checkCallArchive(store, objects).run((fault) => void faults.push(fault))
      return { checked, faults }
    }
    await insertOne()
    await archive()
    expect(await check()).toEqual({ checked: 1, faults: [] })

    const [{ path } = { path: '' }] = await register.live()
    await store.writeUnrecorded([{ sql: 'UPDATE cdr_file_accounts SET records = 2', params: [] }])
    const place = `file ${path}`
    expect((await check()).faults).toEqual([
      { place, reason: 'it contains 1 records, but its accounts count 2' },
    ])
    const file = join(folder, path)
    writeFileSync(file, readFileSync(file).fill(0, 0, 1))
    expect((await check()).faults).toEqual([{ place, reason: 'its content was changed' }])
    rmSync(file)
    expect((await check()).faults).toEqual([
      { place, reason: expect.stringMatching(/^it does not exist or does not have \d+ bytes$/) },
    ])
  })
})
