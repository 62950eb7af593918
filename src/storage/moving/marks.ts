// Triggers in the old store reject writes of any process and version. The new store is at an unknown upgrade until it is complete,
// so that no server starts on it.
import type { Database, Engine, Row } from '../db.ts'
import { scheduleLeases } from '../leases.ts'
import { movedCode, movedText } from '../outages.ts'
import { integer, json, shape, text } from '../table.ts'
import { movingUpgrade, type Run, type Upgrade } from '../upgrades.ts'

export interface Move {
  id: string
  /** Without credentials. */
  to: string
}

// In `leases`, whose rows are not moved.
const marks = { outgoing: 'moved to', incoming: 'moved from' } as const

type Mark = keyof typeof marks

const mark = shape({ id: text(), to: json<string>() })

const markOf = (rows: readonly Row[]): Move | undefined => mark.first(rows)

const readMark = 'SELECT token AS "id", holder AS "to" FROM leases WHERE name = $1'

/** A started or completed move. */
export const readMove = async ({ all }: Pick<Database, 'all'>): Promise<Move | undefined> =>
  markOf(await all(readMark, [marks.outgoing]))

const writeMark = async (run: Run, which: Mark, { id, to }: Move) => {
  const sql = 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, 0)'
  await run(sql, [marks[which], id, JSON.stringify(to)])
}

const scheduleLease = shape({ name: text(), token: text() })

export const readScheduleLeases = async ({ all }: Pick<Database, 'all'>) =>
  scheduleLease.list(await all(`SELECT name, token FROM leases WHERE name LIKE '${scheduleLeases}%'`))

export const hasUnorderedEntries = async ({ all }: Pick<Database, 'all'>) =>
  (await all('SELECT id FROM audit_log WHERE sequence IS NULL LIMIT 1')).length > 0

const triggerName = 'crosspoint_moved'
const sqliteEvents = ['INSERT', 'UPDATE', 'DELETE']

const closing: Record<Engine, { before: string[]; of(table: string): string[] }> = {
  sqlite: {
    before: [],
    of: (table) =>
      sqliteEvents.map(
        (
          event,
        ) => `CREATE TRIGGER IF NOT EXISTS "${triggerName}_${event}_${table}" BEFORE ${event} ON "${table}"
          BEGIN SELECT RAISE(ABORT, '${movedText}'); END`,
      ),
  },
  postgres: {
    before: [
      `CREATE OR REPLACE FUNCTION ${triggerName}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION '${movedText}' USING ERRCODE = '${movedCode}'; END $$`,
    ],
    of: (table) => [
      `CREATE OR REPLACE TRIGGER ${triggerName} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON "${table}"
        FOR EACH STATEMENT EXECUTE FUNCTION ${triggerName}()`,
    ],
  },
}

const opening: Record<Engine, { list: string; drop(name: string): string }> = {
  sqlite: {
    list: `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '${triggerName}\\_%' ESCAPE '\\'`,
    drop: (name) => `DROP TRIGGER "${name}"`,
  },
  // Its triggers are dropped with the function.
  postgres: {
    list: `SELECT proname AS name FROM pg_proc
      WHERE proname = '${triggerName}' AND pronamespace = current_schema()::regnamespace`,
    drop: (name) => `DROP FUNCTION ${name}() CASCADE`,
  },
}

/** Servers start no scheduled jobs after this. */
export const beginMove = (db: Database, move: Move) =>
  db.exclusively((run) => writeMark(run, 'outgoing', move))

const attempts = 10

/** Rejects all writes to these tables, after running ones have ended. */
export const closeStore = async (db: Database, tables: readonly string[]): Promise<void> => {
  const { before, of } = closing[db.engine]
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.exclusively(async (run) => {
        for (const statement of [...before, ...tables.flatMap(of)]) await run(statement)
      })
    } catch (error) {
      const { isTransient } = await import('../postgres-link.ts')
      // Servers lock the same tables in another order: PostgreSQL aborts one.
      if (!isTransient(error) || attempt === attempts) throw error
    }
  }
}

export const reopenStore = (db: Database) =>
  db.exclusively(async (run) => {
    const { list, drop } = opening[db.engine]
    for (const { name } of await run(list)) await run(drop(String(name)))
  })

export const cancelMove = async (db: Database) => {
  await reopenStore(db)
  await db.exclusively(async (run) => {
    await run('DELETE FROM leases WHERE name = $1', [marks.outgoing])
  })
}

const titleOf = ({ id }: Move) => `incomplete: ${id}`

/** The last upgrade of an incomplete store. Empties `tables`, which upgrades have filled. */
export const incompleteUpgrade = (move: Move, tables: readonly string[]): Upgrade => ({
  number: movingUpgrade,
  title: titleOf(move),
  statements: () => tables.map((name) => `DELETE FROM "${name}"`),
})

export type Filling = 'empty' | 'filling' | 'complete' | 'other'

const newest = shape({ title: text(), number: integer() })
const newestUpgrade = 'SELECT title, number FROM storage_upgrades ORDER BY number DESC LIMIT 1'

export const fillingOf = async (
  run: Run,
  names: readonly string[],
  move: Move | undefined,
): Promise<Filling> => {
  if (names.length === 0) return 'empty'
  if (!move || !names.includes('storage_upgrades')) return 'other'
  const last = newest.first(await run(newestUpgrade))
  if (last?.number === movingUpgrade) return last.title === titleOf(move) ? 'filling' : 'other'
  return markOf(await run(readMark, [marks.incoming]))?.id === move.id ? 'complete' : 'other'
}

export const completeStore = (db: Database, move: Move) =>
  db.exclusively(async (run) => {
    await run('DELETE FROM storage_upgrades WHERE number = $1', [movingUpgrade])
    await writeMark(run, 'incoming', move)
  })
