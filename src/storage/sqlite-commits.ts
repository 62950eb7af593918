import type { DatabaseSync } from 'node:sqlite'
import type { createStatements } from './sqlite-open.ts'

// Processes of one file count their commits. Commands next to a server also write the stale keys; a server makes others reset their
// caches, because the keys would cost a page for each commit.

const maxWriters = 100
// The maximum of a process. A slower reader resets its cache.
const maxTold = 64
// More keys count as everything.
const longestKeys = 100_000

const countCommit = `INSERT INTO writers (process, commits) VALUES (?1, 1)
  ON CONFLICT (process) DO UPDATE SET commits = commits + 1 RETURNING commits`
const tell = 'INSERT OR REPLACE INTO told_keys (process, number, keys) VALUES (?1, ?2, ?3)'
const forgetTold = 'DELETE FROM told_keys WHERE process = ?1 AND number <= ?2'

export const prepareCommits = (connection: DatabaseSync) => {
  connection.exec(`
    CREATE TABLE IF NOT EXISTS writers (process TEXT PRIMARY KEY, commits INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS told_keys
      (process TEXT, number INTEGER, keys TEXT NOT NULL, PRIMARY KEY (process, number)) WITHOUT ROWID`)
  foldWriters(connection)
}

/**
 * Each command leaves a row that others read. Many rows are folded into one; running processes then reset their caches once.
 */
const foldWriters = (connection: DatabaseSync) => {
  const writers = Number(connection.prepare('SELECT count(*) AS count FROM writers').get()?.count)
  if (writers <= maxWriters) return
  connection.exec(`BEGIN IMMEDIATE;
    INSERT INTO writers (process, commits) SELECT 'folded', total(commits) FROM writers WHERE process <> 'folded'
      ON CONFLICT (process) DO UPDATE SET commits = commits + excluded.commits;
    DELETE FROM writers WHERE process <> 'folded';
    DELETE FROM told_keys;
    COMMIT`)
}

/** `keys`: stale keys for other processes. */
export const noteCommit = (
  prepared: ReturnType<typeof createStatements>,
  processId: string,
  keys: readonly string[] | undefined,
) => {
  const number = Number(prepared(countCommit).get(processId)?.commits)
  if (keys === undefined) return
  const text = JSON.stringify(keys)
  if (text.length <= longestKeys) prepared(tell).run(processId, number, text)
  if (number % maxTold === 0) prepared(forgetTold).run(processId, number - maxTold)
}

/** Stale keys of other processes' commits since the last call: empty for own commits, undefined without a commit. */
export const createForeignCommits = (connection: DatabaseSync, processId: string) => {
  const dataVersion = connection.prepare('PRAGMA data_version')
  const sumOfOthers = connection.prepare('SELECT total(commits) AS sum FROM writers WHERE process <> ?1')
  const others = connection.prepare('SELECT process, commits FROM writers WHERE process <> ?1')
  const told = connection.prepare(
    'SELECT keys FROM told_keys WHERE process = ?1 AND number > ?2 AND number <= ?3',
  )
  const readVersion = () => Number(dataVersion.get()?.data_version)
  const readSum = () => Number(sumOfOthers.get(processId)?.sum)
  const readCounts = () =>
    new Map(others.all(processId).map(({ process, commits }) => [String(process), Number(commits)]))
  let version = readVersion()
  let sum = readSum()
  let counts = readCounts()

  /** Undefined if some are missing. */
  const keysOf = (process: string, commits: number) => {
    const before = counts.get(process) ?? 0
    if (commits === before) return []
    const rows = told.all(process, before, commits)
    if (rows.length !== commits - before) return undefined
    return rows.flatMap(({ keys }) => JSON.parse(String(keys)) as string[])
  }

  const keysOfAll = (now: ReadonlyMap<string, number>) => {
    const all: string[] = []
    for (const [process, commits] of now) {
      const keys = keysOf(process, commits)
      if (!keys) return 'everything'
      all.push(...keys)
    }
    return all
  }

  return (): readonly string[] | 'everything' | undefined => {
    const current = readVersion()
    if (current === version) return undefined
    version = current
    const newSum = readSum()
    if (newSum === sum) return []
    sum = newSum
    const now = readCounts()
    const keys = keysOfAll(now)
    counts = now
    return keys
  }
}
