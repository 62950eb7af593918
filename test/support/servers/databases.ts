import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Database } from '../../../src/storage/db.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { upgradeStorage } from '../../../src/storage/upgrades.ts'
import { isFullRun } from '../run/run-length.ts'
import { lendStore } from './lent-stores.ts'
import { createDatabase, type DatabaseOptions, type Engine, engines } from './postgres.ts'

export type { Engine }

/** Repeats a suite for each engine: its subject is SQL, transactions, locks, ordering or collation. */
export const describeEngines = (title: string, suite: (engine: Engine) => void) =>
  describe.each<Engine>(engines)(`${title} on %s`, (engine) => suite(engine))

/** Runs a suite that needs a store, but whose subject is not SQL: on one engine in `npm test`, on each in `npm run test:all`. */
export const describeAnyEngine = (title: string, suite: (engine: Engine) => void) =>
  describe.each<Engine>(isFullRun ? engines : engines.slice(0, 1))(`${title} on %s`, (engine) =>
    suite(engine),
  )

/** Runs a suite whose subject is the same on every engine, once. */
export const describeOnce = (title: string, suite: (engine: Engine) => void) =>
  describe.each<Engine>(engines.slice(0, 1))(title, (engine) => suite(engine))

/** The storage of a server in a test: a directory, and a separate database when the engine needs one. */
export interface Place {
  dataDir: string
  databaseUrl: string | undefined
  remove(): Promise<void>
}

const newDirectory = () => mkdtemp(join(tmpdir(), 'crosspoint-test-'))
const fileIn = (dataDir: string) => join(dataDir, 'crosspoint.db')

const makeFile = async () => {
  const directory = await newDirectory()
  const db = openSqlite(fileIn(directory))
  await upgradeStorage(db, systemClock)
  await db.close()
  const content = await readFile(fileIn(directory))
  await rm(directory, { recursive: true })
  return content
}

let made: ReturnType<typeof makeFile> | undefined

/** The file of an empty store of the newest structure, made once by each process of the tests. */
const emptyFile = () => {
  made ??= makeFile()
  return made
}

export interface PlaceOptions extends DatabaseOptions {
  /** Holds an empty store of the newest structure, which is copied: an upgrade takes longer than most tests. */
  isUpgraded?: boolean
}

export const makePlace = async (
  engine: Engine,
  { isUpgraded = false, ...options }: PlaceOptions = {},
): Promise<Place> => {
  const dataDir = await newDirectory()
  const serverUrl = engine === 'postgres' ? inject('postgresUrl') : undefined
  const template = isUpgraded ? inject('postgresTemplate') : undefined
  const database = serverUrl ? await createDatabase(serverUrl, { template, ...options }) : undefined
  if (engine === 'postgres' && !database) throw new Error('this run has no PostgreSQL')
  if (isUpgraded && !database) await writeFile(fileIn(dataDir), await emptyFile(), { mode: 0o600 })
  return {
    dataDir,
    databaseUrl: database?.url,
    async remove() {
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** A copy of a place that no server uses; on PostgreSQL in a database that tests use one after the other, and which is open already. */
export const copyPlace = async (original: Place): Promise<{ place: Place; db: Database | undefined }> => {
  const template = original.databaseUrl && new URL(original.databaseUrl).pathname.slice(1)
  const database = template ? await lendStore(template) : undefined
  const dataDir = await newDirectory()
  await cp(original.dataDir, dataDir, { recursive: true })
  const remove = async () => {
    await rm(dataDir, { recursive: true, force: true })
    database?.giveBack()
  }
  return { place: { dataDir, databaseUrl: database?.url, remove }, db: database?.db }
}

export interface TestDatabase {
  db: Database
  /** Opens the same store once more, as another process would. */
  reopen(): Database
  close(): Promise<void>
}

/**
 * A store for one user at a time: on PostgreSQL tests share it one after the other, unless the options need a
 * special server.
 */
const openEmpty = async (engine: Engine, options: DatabaseOptions) => {
  const template = inject('postgresTemplate')
  if (engine === 'postgres' && template && Object.keys(options).length === 0) {
    const { url, db, giveBack } = await lendStore(template)
    return { db, open: () => openPostgres(url), remove: async () => giveBack() }
  }
  const { databaseUrl, dataDir, remove } = await makePlace(engine, { isUpgraded: true, ...options })
  const open = () => (databaseUrl ? openPostgres(databaseUrl) : openSqlite(fileIn(dataDir)))
  const db = open()
  await upgradeStorage(db, systemClock)
  return { db, open, remove }
}

/** A fresh store of the newest structure. */
export const openTestDatabase = async (
  engine: Engine,
  options: DatabaseOptions = {},
): Promise<TestDatabase> => {
  const { db, open, remove } = await openEmpty(engine, options)
  const opened = [db]
  return {
    db,
    reopen() {
      const another = open()
      opened.push(another)
      return another
    },
    async close() {
      await Promise.all(opened.map((one) => one.close()))
      await remove()
    },
  }
}

/** A value that a suite creates once for all its tests. */
export const sharedBySuite = <T extends object>(
  make: () => Promise<T>,
  end: (made: T) => Promise<void>,
): T => {
  let made: T | undefined
  beforeAll(async () => {
    made = await make()
  })
  afterAll(async () => {
    if (made) await end(made)
  })
  return new Proxy({} as T, {
    get(_target, key) {
      if (!made) throw new Error(`'${String(key)}' is read before the suite's first test`)
      const value: unknown = Reflect.get(made, key)
      return typeof value === 'function' ? value.bind(made) : value
    },
  })
}
