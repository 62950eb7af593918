import { codeOf } from '../lib/error-facts.ts'
import { type ChangeSet, systemScope } from './change-set.ts'
import { cacheKey, type Database, type Statement } from './db.ts'
import { type RowShape, unnested } from './sql-words.ts'
import { integer, oneOf, placeholders, shape, text } from './table.ts'

type Month = number

type MonthlyRow = Readonly<Record<string, string | number | null>>

export type ArchivedMonths = ReadonlyMap<Month, number>

/** Both included. */
export interface MonthRange {
  first: Month
  last: Month
  /** The archived months that the caller has read from the archive. */
  archived?: ArchivedMonths
}

/** A month moved while it was read: the result is incomplete. */
export class MonthMoved extends Error {
  constructor(month: Month) {
    super(`${month} was moved while it was read`)
    this.name = 'MonthMoved'
  }
}

export const readingAgain = async <T>(read: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      // A month moves once.
      if (!(error instanceof MonthMoved)) throw error
    }
  }
}

type InsertFailure = NonNullable<Parameters<ChangeSet['run']>[2]>['orElse']

/** Whether readers prevented the drop (PostgreSQL). */
export const isInUse = (error: unknown) => codeOf(error) === '55P03'

const monthForm = /^\d{6}$/

const checked = (month: Month) => {
  // It becomes a part of SQL text.
  if (!monthForm.test(String(month))) throw new Error(`${month} is not a month`)
  return month
}

const registered = shape({ month: integer(), state: text(), changes: integer() })
const patterns = shape({ sql: text() })

const register = 'INSERT INTO monthly_tables (name, month, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING'
const keep = 'UPDATE monthly_tables SET state = state WHERE name = $1 AND month = $2 AND state = $3'
const forget = 'DELETE FROM monthly_tables WHERE name = $1 AND month = $2 AND state = $3'

// One row for each state of a month: an archived one may have a table again. `changes`: of rows while the month is being archived;
// of an archived month, how often it was.
const countChange =
  'UPDATE monthly_tables SET changes = changes + 1 WHERE name = $1 AND month = $2 AND state = $3'
const unchanged = 'DELETE FROM monthly_tables WHERE name = $1 AND month = $2 AND state = $3 AND changes = 0'

interface Known {
  present: readonly Month[]
  dropped: readonly Month[]
  archived: ArchivedMonths
}

interface Layout {
  from(months: readonly Month[]): string
  create(month: Month): Promise<readonly string[]>
  /** Fails the set if a row exists. */
  insertions(
    month: Month,
    rows: readonly MonthlyRow[],
    orElse: InsertFailure,
  ): Statement[] | Promise<Statement[]>
  /** Waits for writers and excludes them until the end of the transaction. */
  still(month: Month): readonly string[]
  alone(month: Month): readonly string[]
  drop(month: Month): readonly string[]
}

const tableNameOf = (name: string, month: Month) => `${name}_${checked(month)}`

const unionOf = (name: string, months: readonly Month[]) =>
  `(${months.map((month) => `SELECT * FROM ${tableNameOf(name, month)}`).join(' UNION ALL ')}) AS ${name}`

const keysOf = ([first]: readonly MonthlyRow[]) => Object.keys(first ?? {})

const valuesOf = (row: MonthlyRow, keys: readonly string[]) => keys.map((key) => row[key] ?? null)

const sqliteLayout = (db: Database, name: string): Layout => {
  const tableOf = (month: Month) => tableNameOf(name, month)
  const inserts = new Map<string, string>()
  let pattern: Promise<string[]> | undefined

  const readPattern = async () => {
    const rows = await db.all(
      "SELECT sql FROM sqlite_master WHERE tbl_name = $1 AND sql IS NOT NULL ORDER BY type = 'index'",
      [name],
    )
    return patterns.list(rows).map(({ sql }) => sql)
  }

  // `CREATE INDEX cdrs_listed ON cdrs (..)` becomes `CREATE INDEX IF NOT EXISTS cdrs_202611_listed ON cdrs_202611 (..)`.
  const copied = (sql: string, table: string) =>
    sql
      .replace(/^CREATE (TABLE|INDEX) /, 'CREATE $1 IF NOT EXISTS ')
      .replace(new RegExp(`\\b${name}(?=_|\\b)`, 'g'), table)

  const insertOf = (table: string, keys: readonly string[]) => {
    const name = `${table} ${keys.join()}`
    let sql = inserts.get(name)
    if (!sql) {
      sql = `INSERT INTO ${table} (${keys.join(', ')}) VALUES (${placeholders(keys.length)}) ON CONFLICT DO NOTHING`
      inserts.set(name, sql)
    }
    return sql
  }

  return {
    from: (months) => (months.length === 0 ? name : unionOf(name, months)),
    async create(month) {
      pattern ??= readPattern()
      return (await pattern).map((sql) => copied(sql, tableOf(month)))
    },
    // One statement for each row is prepared once: twice as fast as reading a JSON text in SQL.
    insertions(month, rows, orElse) {
      const keys = keysOf(rows)
      const sql = insertOf(tableOf(month), keys)
      const expect = { rows: 1, orElse }
      return rows.map((row) => ({ sql, params: valuesOf(row, keys), expect }))
    },
    still: () => [],
    alone: () => [],
    drop: (month) => [`DROP TABLE IF EXISTS ${tableOf(month)}`],
  }
}

const postgresColumns = shape({ name: text(), type: oneOf(['text', 'integer']) })

const postgresLayout = (db: Database, name: string): Layout => {
  const tableOf = (month: Month) => tableNameOf(name, month)
  const shapes = new Map<string, RowShape>()

  const readShape = async (keys: readonly string[]): Promise<RowShape> => {
    const rows = await db.all(
      `SELECT attname::text AS name,
          CASE WHEN atttypid IN ('bigint'::regtype, 'integer'::regtype) THEN 'integer' ELSE format_type(atttypid, NULL) END AS type
        FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
      [name],
    )
    const types = new Map(postgresColumns.list(rows).map((column) => [column.name, column.type]))
    const columns = keys.map((key) => {
      const type = types.get(key)
      if (!type) throw new Error(`${name} has no column ${key}`)
      return [key, type] as const
    })
    return Object.fromEntries(columns)
  }

  const shapeOf = async (keys: readonly string[]) => {
    const id = keys.join()
    const found = shapes.get(id) ?? (await readShape(keys))
    shapes.set(id, found)
    return found
  }

  // Readers wait behind a waiting lock, so its wait is short and it is tried again.
  const waitingShortly = (...statements: readonly string[]) => [
    "SET LOCAL lock_timeout = '500ms'",
    ...statements,
    'SET LOCAL lock_timeout = DEFAULT',
  ]
  return {
    // Partitions by name: with a condition on month each row would be read.
    from: (months) =>
      months.length === 0 ? `(SELECT * FROM ${name} WHERE month = 0) AS ${name}` : unionOf(name, months),
    // Created and then attached: unlike PARTITION OF this neither waits for readers nor stops them.
    create: async (month) => [
      `DO $$ BEGIN
        IF to_regclass('${tableOf(month)}') IS NULL THEN
          PERFORM pg_advisory_xact_lock(hashtext('crosspoint months'));
          -- Another process may just have made it: to_regclass would still answer from this session's memory.
          IF NOT EXISTS (
            SELECT 1 FROM pg_class WHERE relname = '${tableOf(month)}'
              AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '${name}'::regclass)
          ) THEN
            CREATE TABLE ${tableOf(month)} (LIKE ${name} INCLUDING ALL);
            ALTER TABLE ${name} ATTACH PARTITION ${tableOf(month)} FOR VALUES IN (${month});
          END IF;
        END IF;
      END $$`,
    ],
    // One statement with an array for each column: one round trip.
    async insertions(month, rows, orElse) {
      if (rows.length === 0) return []
      const keys = keysOf(rows)
      const lists = rows.map((row) => valuesOf(row, keys))
      const { from, params } = unnested(await shapeOf(keys), lists, 2)
      const sql = `INSERT INTO ${name} (month, ${keys.join(', ')})
        SELECT $1::integer, * FROM ${from} ON CONFLICT DO NOTHING`
      return [{ sql, params: [month, ...params], expect: { rows: rows.length, orElse } }]
    },
    still: (month) => waitingShortly(`LOCK TABLE ${tableOf(month)} IN SHARE MODE`),
    alone: (month) => waitingShortly(`LOCK TABLE ${tableOf(month)} IN ACCESS EXCLUSIVE MODE`),
    drop: (month) => waitingShortly(`DROP TABLE IF EXISTS ${tableOf(month)}`),
  }
}

const undefinedTable = '42P01'

/** Whether a month's table was removed during the read. */
export const isMissing = (error: unknown) =>
  error instanceof Error && (/no such table/.test(error.message) || codeOf(error) === undefinedTable)

const [scope, kind] = [systemScope, 'monthly_tables']

const monthOf = ({ month }: { month: Month }) => month

const isWithin = (month: Month, { first, last }: MonthRange) => month >= first && month <= last

/** The months of a table by state, cached until one changes. */
const createMonthList = (db: Database, name: string) => {
  const key = cacheKey(scope, kind, name)
  let known: Promise<Known> | undefined
  db.onStale((keys) => {
    if (keys === 'everything' || keys.includes(key)) known = undefined
  })

  const load = async (): Promise<Known> => {
    const rows = registered.list(
      await db.all(`SELECT ${registered.columns} FROM monthly_tables WHERE name = $1 ORDER BY month`, [name]),
    )
    const { present = [], dropped = [], archived = [] } = Object.groupBy(rows, ({ state }) => state)
    return {
      present: present.map(monthOf),
      dropped: dropped.map(monthOf),
      archived: new Map(archived.map(({ month, changes }) => [month, changes])),
    }
  }

  const learn = () => {
    if (known) return known
    const loading = load()
    known = loading
    loading.catch(() => {
      if (known === loading) known = undefined
    })
    return loading
  }

  return {
    learn,
    forget() {
      known = undefined
    },
    /** Fails if rows of one were archived since then. */
    async presentIn(range: MonthRange, since: ArchivedMonths) {
      const { present, archived } = await learn()
      for (const [month, times] of archived)
        if (isWithin(month, range) && since.get(month) !== times) throw new MonthMoved(month)
      return present.filter((month) => isWithin(month, range))
    },
  }
}

const runAll = (set: ChangeSet, statements: readonly string[]) => {
  for (const sql of statements) set.run(sql, [])
}

/** Drops and archives months. */
const monthRemoval = (name: string, layout: Layout) => ({
  /** Running queries finish first, or it fails: see `isInUse`. */
  drop(set: ChangeSet, month: Month) {
    runAll(set, layout.drop(month))
    set.run(forget, [name, month, 'present']).run(forget, [name, month, 'archiving'])
    set.run(register, [name, month, 'dropped']).outdate(scope, kind, name)
  },
  /** From the commit on, changes of the month's rows are counted. */
  beginArchiving(set: ChangeSet, month: Month) {
    runAll(set, layout.still(month))
    set.run(forget, [name, month, 'archiving']).run(register, [name, month, 'archiving'])
  },
  /** Removes the archived month. Fails the set if a row has changed since the beginning, or if the month was dropped. */
  endArchiving(set: ChangeSet, month: Month, orElse: InsertFailure) {
    runAll(set, layout.alone(month))
    set.run(unchanged, [name, month, 'archiving'], { rows: 1, orElse })
    runAll(set, layout.drop(month))
    set.run(forget, [name, month, 'present'], { rows: 1, orElse })
    set.run(register, [name, month, 'archived']).run(countChange, [name, month, 'archived'])
    set.outdate(scope, kind, name)
  },
  abandonArchiving: (set: ChangeSet, month: Month) => void set.run(forget, [name, month, 'archiving']),
  /** The archive of the month was removed. */
  forgetArchived: (set: ChangeSet, month: Month) =>
    void set.run(forget, [name, month, 'archived']).outdate(scope, kind, name),
})

/** Rows by month, so that a month can be dropped: partitions in PostgreSQL, separate tables in SQLite (schema/calls.ts). */
export const createMonthlyTable = (db: Database, name: string) => {
  const layout = db.engine === 'sqlite' ? sqliteLayout(db, name) : postgresLayout(db, name)
  const list = createMonthList(db, name)

  const make = async (set: ChangeSet, month: Month) => {
    runAll(set, await layout.create(month))
    set.run(register, [name, month, 'present']).outdate(scope, kind, name)
  }

  const noteChange = (month: Month): Statement => ({ sql: countChange, params: [name, month, 'archiving'] })

  return {
    ...monthRemoval(name, layout),
    months: async () => (await list.learn()).present,
    /** Also months that have a table again. */
    droppedMonths: async () => (await list.learn()).dropped,
    /** A month has a table again if more rows came in. */
    archivedMonths: async () => (await list.learn()).archived,
    /**
     * SQL after FROM. Conditions on an index, and its order, apply to each month, so that LIMIT reads only what it returns.
     * SQLite requires that the columns of ORDER BY are selected.
     */
    from: layout.from,
    /** Runs `query` for the months of a range; again if another process drops one. Throws MonthMoved if one is archived. */
    async read<T>(
      range: MonthRange,
      query: (from: string, months: readonly Month[]) => Promise<T>,
    ): Promise<T> {
      const since = range.archived ?? (await list.learn()).archived
      const months = await list.presentIn(range, since)
      try {
        return await query(layout.from(months), months)
      } catch (error) {
        if (!isMissing(error)) throw error
        list.forget()
        const left = await list.presentIn(range, since)
        return query(layout.from(left), left)
      }
    },
    make,
    /** Adds new rows of one month. Fails the set if one exists, or if the month was archived after `isArchived` was read. */
    async insert(
      set: ChangeSet,
      month: Month,
      rows: readonly MonthlyRow[],
      { isArchived, orElse }: { isArchived: boolean; orElse: InsertFailure },
    ) {
      // Always, because another process may be dropping the month.
      await make(set, month)
      set.add(...(await layout.insertions(month, rows, orElse)))
      // After the rows, whose locks `beginArchiving` and `endArchiving` wait for.
      set.add(noteChange(month))
      set.run(keep, [name, month, 'archived'], { rows: isArchived ? 1 : 0, orElse })
    },
    /** Must follow every other change of a month's rows, because a running archiving must read them again. */
    noteChange,
    tableOf: (month: Month) => tableNameOf(name, month),
    /** Fails the set unless these months have a table, those have none, and none was dropped or archived. */
    requireMonths(
      set: ChangeSet,
      { present, absent }: { present: readonly Month[]; absent: readonly Month[] },
      orElse: InsertFailure,
    ) {
      const none = { rows: 0, orElse }
      for (const month of present) set.run(keep, [name, month, 'present'], { rows: 1, orElse })
      for (const month of absent) set.run(keep, [name, month, 'present'], none)
      for (const month of [...present, ...absent])
        set.run(keep, [name, month, 'dropped'], none).run(keep, [name, month, 'archived'], none)
    },
  }
}
