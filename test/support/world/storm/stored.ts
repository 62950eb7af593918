// Compares the content of the store after a load with the granted requests.
import { openPostgres } from '../../../../src/storage/postgres.ts'

/** Granted names that are missing or stored more than once, and stored names that were not granted. */
export const differences = (granted: readonly string[], found: readonly string[]) => {
  const [expected, distinct] = [new Set(granted), new Set(found)]
  const seen = new Set<string>()
  return {
    lost: [...expected].filter((name) => !distinct.has(name)),
    doubled: found.filter((name) => seen.size === seen.add(name).size),
    unasked: [...distinct].filter((name) => !expected.has(name)),
  }
}

export const noDifference = { lost: [], doubled: [], unasked: [] }

const asking = async <T>(databaseUrl: string, ask: (db: ReturnType<typeof openPostgres>) => Promise<T>) => {
  const db = openPostgres(databaseUrl)
  try {
    return await ask(db)
  } finally {
    await db.close()
  }
}

export const storedIn = (databaseUrl: string) =>
  asking(databaseUrl, async (db) => {
    const list = async (sql: string) => (await db.scan<{ name: string }>(sql)).map(({ name }) => name)
    const [counted] = await db.all<{ calls: number }>(
      "SELECT sum(calls)::bigint AS calls FROM cdr_tallies WHERE dimension = 'all' AND seconds = 900",
    )
    return {
      devices: await list("SELECT doc::json ->> 'name' AS name FROM records WHERE kind = 'device'"),
      legs: (await list('SELECT id AS name FROM cdrs')).map((id) => id.slice(7)),
      counted: counted?.calls,
      entries: await list("SELECT id AS name FROM ledger_entries WHERE source_service = 'payments'"),
      tasks: await list("SELECT id AS name FROM records WHERE kind = 'task'"),
      /** A number each time that something was done to it. */
      marks: await list("SELECT record_id AS name FROM audit_log WHERE kind = 'number'"),
    }
  })

export const keysUnderWayIn = (databaseUrl: string) =>
  asking(databaseUrl, async (db) => {
    const [row] = await db.all<{ keys: number }>(
      'SELECT count(*) AS keys FROM idempotency_keys WHERE answer IS NULL',
    )
    return row?.keys
  })
