import { type AccountRecord, accountKind } from '../../auth/identity.ts'
import { type Author, type ChangeSet, conflict } from '../../storage/change-set.ts'
import type { Statement } from '../../storage/db.ts'
import { recordColumns, toRecords } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { flag, integer, json, optional, type RowOf, table, text } from '../../storage/table.ts'
import type { Performer } from './rules.ts'

/** The account that a run is in the middle of. */
interface HalfDone {
  accountId: string
  position: string
  changed: number
  problem?: string
}

export interface Counters {
  performed: number
  failed: number
  skipped: number
  changed: number
}

const runs = table('migration_runs', {
  accountId: text(),
  id: text(),
  migration: text(),
  includesDescendants: flag('include_descendants'),
  includesResellers: flag('include_resellers'),
  author: json<Author>(),
  performer: json<Performer>(),
  requested: integer(),
  started: optional(integer()),
  ended: optional(integer()),
  total: integer(),
  performed: integer(),
  failed: integer(),
  skipped: integer(),
  changed: integer(),
  /** Grows with every commit of the run: of two processes that try the same one fails. */
  turn: integer(),
  /** The last account that was passed; empty when there is none yet. */
  place: text(),
  halfDone: optional(json<HalfDone>('step')),
})

/** What was asked for, and how far it has come. Times are Gregorian seconds. */
export type Run = RowOf<typeof runs>

const newRuns = runs.pick(
  'accountId',
  'id',
  'migration',
  'includesDescendants',
  'includesResellers',
  'author',
  'performer',
  'requested',
  'total',
)

export type NewRun = RowOf<typeof newRuns>

const performances = table('migrations_performed', {
  accountId: text(),
  migration: text(),
  runId: text(),
  at: integer(),
  performer: json<Performer>(),
  changed: integer(),
})

const results = table('migration_outcomes', {
  accountId: text(),
  runId: text(),
  targetId: text(),
  problem: text(),
})

/** How a run stands after a commit. */
interface Advance {
  counted: Counters
  place: string
  halfDone: HalfDone | undefined
  at: number
}

const performed = performances.pick('runId', 'at', 'performer', 'changed')

export type Performed = RowOf<typeof performed>

const failures = results.pick('targetId', 'problem')

// Comes behind the empty text and before every id: the account itself is done, those below it are not.
const behindRoot = '0'

const insertRun = newRuns.insert('ON CONFLICT DO NOTHING')
const insertResult = results.insert('ON CONFLICT DO NOTHING')
const putPerformed = performances.upsert('accountId', 'migration')

const decided = { rows: 1, orElse: conflict }

export type MigrationStore = ReturnType<typeof createMigrationStore>

export const createMigrationStore = (store: Store) => {
  const one = async (condition: string, params: readonly string[]) =>
    runs.first(await store.all(`SELECT ${runs.columns} FROM migration_runs WHERE ${condition}`, params))

  const tables = ['migrations_performed', 'migration_runs', 'migration_outcomes'] as const

  return {
    find: ({ accountId, id }: Pick<Run, 'accountId' | 'id'>) =>
      one('account_id = $1 AND id = $2', [accountId, id]),

    /** The run of an account that was asked for last. */
    latest: (accountId: string, migration: string) =>
      one('account_id = $1 AND migration = $2 ORDER BY account_id DESC, migration DESC, id DESC LIMIT 1', [
        accountId,
        migration,
      ]),

    open: (accountId: string, migration: string) =>
      one('account_id = $1 AND migration = $2 AND ended IS NULL', [accountId, migration]),

    /** Runs that have not ended, of all accounts, the oldest first. */
    async waiting(limit: number): Promise<Run[]> {
      return runs.list(
        await store.all(
          `SELECT ${runs.columns} FROM migration_runs WHERE ended IS NULL ORDER BY id, account_id LIMIT $1`,
          [limit],
        ),
      )
    },

    async performedOn(accountId: string, migration: string): Promise<Performed | undefined> {
      return performed.first(
        await store.all(
          `SELECT ${performed.columns} FROM migrations_performed WHERE account_id = $1 AND migration = $2`,
          [accountId, migration],
        ),
      )
    },

    /** The accounts that a run was performed on. */
    async performedBy({ accountId, id }: Run, limit: number): Promise<string[]> {
      const rows = await store.all(
        `SELECT ${failures.columns} FROM migration_outcomes WHERE account_id = $1 AND run_id = $2 AND problem = ''
          ORDER BY target_id LIMIT $3`,
        [accountId, id, limit],
      )
      return failures.list(rows).map(({ targetId }) => targetId)
    },

    async failures({ accountId, id }: Run, limit: number) {
      const rows = await store.all(
        `SELECT ${failures.columns} FROM migration_outcomes WHERE account_id = $1 AND run_id = $2 AND problem <> ''
          ORDER BY target_id LIMIT $3`,
        [accountId, id, limit],
      )
      return failures.list(rows).map(({ targetId, problem }) => ({ account_id: targetId, message: problem }))
    },

    /** The next accounts of a run, in the order in which it goes through them. */
    async targets({ accountId, place, includesDescendants }: Run, limit: number): Promise<AccountRecord[]> {
      if (place === '') {
        const root = await store.records.find(accountId, accountKind, accountId)
        return root ? [root] : []
      }
      if (!includesDescendants) return []
      const rows = await store.scan(
        `SELECT ${recordColumns('r')} FROM account_tree t
          JOIN records r ON r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id
          WHERE t.ancestor_id = $1 AND t.account_id > $2 ORDER BY t.account_id LIMIT $3`,
        [accountId, place, limit],
      )
      return toRecords(accountKind, rows)
    },

    placeOf: (run: Run, accountId: string) => (accountId === run.accountId ? behindRoot : accountId),

    /** A new run. A conflict while one of the same account and migration has not ended. */
    add(set: ChangeSet, run: NewRun) {
      set.run(
        `DELETE FROM migration_outcomes WHERE account_id = $1 AND run_id IN
          (SELECT id FROM migration_runs WHERE account_id = $1 AND migration = $2 AND ended IS NOT NULL)`,
        [run.accountId, run.migration],
      )
      set.add(insertRun(run, decided))
    },

    /** What became of an account: an empty problem means that the migration was performed. */
    outcome: ({ accountId, id }: Run, targetId: string, problem: string) =>
      insertResult({ accountId, runId: id, targetId, problem }, decided),

    performed: (
      { id, migration, performer }: Run,
      target: { accountId: string; at: number; changed: number },
    ) => putPerformed({ ...target, migration, runId: id, performer }),

    /** Moves the run on, if nobody else has. */
    advance: (run: Run, { counted, place, halfDone, at }: Advance): Statement => ({
      sql: `UPDATE migration_runs SET turn = turn + 1, place = $4, step = $5, started = COALESCE(started, $6),
          performed = performed + $7, failed = failed + $8, skipped = skipped + $9, changed = changed + $10
        WHERE account_id = $1 AND id = $2 AND turn = $3 AND ended IS NULL`,
      params: [
        run.accountId,
        run.id,
        run.turn,
        place,
        halfDone ? JSON.stringify(halfDone) : null,
        at,
        counted.performed,
        counted.failed,
        counted.skipped,
        counted.changed,
      ],
      expect: decided,
    }),

    end: (run: Run, at: number): Statement => ({
      sql: `UPDATE migration_runs SET turn = turn + 1, ended = $4, started = COALESCE(started, $4)
        WHERE account_id = $1 AND id = $2 AND turn = $3 AND ended IS NULL`,
      params: [run.accountId, run.id, run.turn, at],
      expect: decided,
    }),

    removeWithAccount(set: ChangeSet, accountId: string) {
      for (const table of tables) set.run(`DELETE FROM ${table} WHERE account_id = $1`, [accountId])
    },
  }
}
