import { existsSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { namingPath } from '../lib/error-facts.ts'
import type { Row } from './db.ts'
import { pieceBytes, Refusal, type StoreCopy } from './saved-store.ts'
import { openFile } from './sqlite-open.ts'
import { countsOf, isSetUp, type Run, type StoreTables, standingOf } from './upgrades.ts'

const tableNames = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`

const runnerOn =
  (connection: DatabaseSync): Run =>
  async (sql) =>
    connection.prepare(sql).all() as Row[]

const lookInto = async <T>(file: string, look: (run: Run, found: StoreTables) => Promise<T>) => {
  const connection = openFile(file, { readOnly: true })
  try {
    const run = runnerOn(connection)
    const names = (await run(tableNames)).map(({ name }) => String(name))
    return await look(run, await standingOf(run, names))
  } catch (error) {
    throw namingPath(file, error)
  } finally {
    connection.close()
  }
}

export const upgradeOfSqlite = async (file: string): Promise<number> => {
  if (!existsSync(file)) throw new Refusal(`${file} does not exist: there is no store`)
  const upgrade = await lookInto(file, async (_run, found) => found.upgrade)
  if (upgrade === undefined) throw new Refusal(`${file} is not a store of Crosspoint`)
  return upgrade
}

export const isSqliteSetUp = async (file: string): Promise<boolean> =>
  existsSync(file) && lookInto(file, isSetUp)

export const accountsInSqlite = async (file: string): Promise<number> => {
  if (!(await isSqliteSetUp(file))) return 0
  const count = "SELECT count(*) AS count FROM records WHERE kind = 'account'"
  return lookInto(file, async (run) => Number((await run(count))[0]?.count))
}

/**
 * Copies in one read transaction: SQLite's online backup restarts whenever another process writes. Deleted content is not copied.
 */
const copyTo = (file: string, copy: string) => {
  const connection = openFile(file)
  try {
    connection.exec('PRAGMA busy_timeout = 5000; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000')
    connection.prepare('VACUUM INTO ?').run(copy)
  } finally {
    connection.close()
  }
}

async function* piecesIn(handle: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(pieceBytes))
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** The copy uses space in `folder` until it is closed. */
export const copySqlite = async (file: string, folder: string): Promise<StoreCopy> => {
  await upgradeOfSqlite(file)
  const copy = join(folder, 'crosspoint.db')
  copyTo(file, copy)
  // A newer version may have upgraded the store.
  const upgrade = await upgradeOfSqlite(copy)
  const counts = await lookInto(copy, (run, { names }) => countsOf(run, names))
  const handle = await open(copy)
  return {
    upgrade,
    counts,
    pieces: piecesIn(handle),
    async close() {
      await handle.close()
      await rm(copy, { force: true })
    },
  }
}
