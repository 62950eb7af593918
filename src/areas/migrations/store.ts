import type { AccountRecord } from '../../auth/identity.ts'
import { type Author, type ChangeSet, conflict } from '../../storage/change-set.ts'
import type { Row, Statement } from '../../storage/db.ts'
import { recordColumns, toRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import type { Performer, Reach } from './rules.ts'

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

/** What was asked for, and how far it has come. Times are Gregorian seconds. */
export interface Run extends Reach, Counters {
  accountId: string
  id: string
  migration: string
  author: Author
  performer: Performer
  requested: number
  started: number | undefined
  ended: number | undefined
  total: number
  /** Grows with every commit of the run: of two processes that try the same one fails. */
  turn: number
  /** The last account that was passed; empty when there is none yet. */
  place: string
  halfDone: HalfDone | undefined
}

type NewRun = Pick<
  Run,
  | 'accountId'
  | 'id'
  | 'migration'
  | 'author'
  | 'performer'
  | 'requested'
  | 'total'
  | 'includesDescendants'
  | 'includesResellers'
>

/** How a run stands after a commit. */
interface Advance {
  counted: Counters
  place: string
  halfDone: HalfDone | undefined
  at: number
}

interface Performed {
  runId: string
  at: number
  performer: Performer
  changed: number
}

// Comes behind the empty text and before every id: the account itself is done, those below it are not.
const behindRoot = '0'

const toRun = (row: Row): Run => ({
  accountId: row.account_id as string,
  id: row.id as string,
  migration: row.migration as string,
  includesDescendants: row.include_descendants === 1,
  includesResellers: row.include_resellers === 1,
  author: JSON.parse(row.author as string) as Author,
  performer: JSON.parse(row.performer as string) as Performer,
  requested: row.requested as number,
  started: (row.started as number | null) ?? undefined,
  ended: (row.ended as number | null) ?? undefined,
  total: row.total as number,
  performed: row.performed as number,
  failed: row.failed as number,
  skipped: row.skipped as number,
  changed: row.changed as number,
  turn: row.turn as number,
  place: row.place as string,
  halfDone: row.step === null ? undefined : (JSON.parse(row.step as string) as HalfDone),
})

const insertRun = `INSERT INTO migration_runs (account_id, id, migration, include_descendants, include_resellers,
    author, performer, requested, total)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`

const upsertPerformed = `INSERT INTO migrations_performed (account_id, migration, run_id, at, performer, changed)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (account_id, migration) DO UPDATE SET run_id = excluded.run_id, at = excluded.at,
    performer = excluded.performer, changed = excluded.changed`

const decided = { rows: 1, orElse: conflict }

export type MigrationStore = ReturnType<typeof createMigrationStore>

export const createMigrationStore = (store: Store) => {
  const one = async (sql: string, params: readonly string[]) => {
    const [row] = await store.all(sql, params)
    return row && toRun(row)
  }

  const tables = ['migrations_performed', 'migration_runs', 'migration_outcomes'] as const

  return {
    find: ({ accountId, id }: Pick<Run, 'accountId' | 'id'>) =>
      one('SELECT * FROM migration_runs WHERE account_id = $1 AND id = $2', [accountId, id]),

    /** The run of an account that was asked for last. */
    latest: (accountId: string, migration: string) =>
      one(
        `SELECT * FROM migration_runs WHERE account_id = $1 AND migration = $2
          ORDER BY account_id DESC, migration DESC, id DESC LIMIT 1`,
        [accountId, migration],
      ),

    open: (accountId: string, migration: string) =>
      one('SELECT * FROM migration_runs WHERE account_id = $1 AND migration = $2 AND ended IS NULL', [
        accountId,
        migration,
      ]),

    /** Runs that have not ended, of all accounts, the oldest first. */
    async waiting(limit: number): Promise<Run[]> {
      const rows = await store.all(
        'SELECT * FROM migration_runs WHERE ended IS NULL ORDER BY id, account_id LIMIT $1',
        [limit],
      )
      return rows.map(toRun)
    },

    async performedOn(accountId: string, migration: string): Promise<Performed | undefined> {
      const [row] = await store.all(
        'SELECT run_id, at, performer, changed FROM migrations_performed WHERE account_id = $1 AND migration = $2',
        [accountId, migration],
      )
      return (
        row && {
          runId: row.run_id as string,
          at: row.at as number,
          performer: JSON.parse(row.performer as string) as Performer,
          changed: row.changed as number,
        }
      )
    },

    /** The accounts that a run was performed on. */
    async performedBy({ accountId, id }: Run, limit: number): Promise<string[]> {
      const rows = await store.all(
        `SELECT target_id FROM migration_outcomes WHERE account_id = $1 AND run_id = $2 AND problem = ''
          ORDER BY target_id LIMIT $3`,
        [accountId, id, limit],
      )
      return rows.map(({ target_id }) => target_id as string)
    },

    async failures({ accountId, id }: Run, limit: number) {
      const rows = await store.all(
        `SELECT target_id, problem FROM migration_outcomes WHERE account_id = $1 AND run_id = $2 AND problem <> ''
          ORDER BY target_id LIMIT $3`,
        [accountId, id, limit],
      )
      return rows.map(({ target_id, problem }) => ({
        account_id: target_id as string,
        message: problem as string,
      }))
    },

    /** The next accounts of a run, in the order in which it goes through them. */
    async targets({ accountId, place, includesDescendants }: Run, limit: number): Promise<AccountRecord[]> {
      if (place === '') {
        const root = await store.records.find(accountId, 'account', accountId)
        return root ? [root as unknown as AccountRecord] : []
      }
      if (!includesDescendants) return []
      const rows = await store.scan(
        `SELECT ${recordColumns('r.')} FROM account_tree t
          JOIN records r ON r.account_id = t.account_id AND r.kind = 'account' AND r.id = t.account_id
          WHERE t.ancestor_id = $1 AND t.account_id > $2 ORDER BY t.account_id LIMIT $3`,
        [accountId, place, limit],
      )
      return rows.map(toRecord) as unknown as AccountRecord[]
    },

    placeOf: (run: Run, accountId: string) => (accountId === run.accountId ? behindRoot : accountId),

    /** A new run. A conflict while one of the same account and migration has not ended. */
    add(set: ChangeSet, run: NewRun) {
      set.run(
        `DELETE FROM migration_outcomes WHERE account_id = $1 AND run_id IN
          (SELECT id FROM migration_runs WHERE account_id = $1 AND migration = $2 AND ended IS NOT NULL)`,
        [run.accountId, run.migration],
      )
      set.run(
        insertRun,
        [
          run.accountId,
          run.id,
          run.migration,
          run.includesDescendants ? 1 : 0,
          run.includesResellers ? 1 : 0,
          JSON.stringify(run.author),
          JSON.stringify(run.performer),
          run.requested,
          run.total,
        ],
        decided,
      )
    },

    /** What became of an account: an empty problem means that the migration was performed. */
    outcome: ({ accountId, id }: Run, targetId: string, problem: string): Statement => ({
      sql: `INSERT INTO migration_outcomes (account_id, run_id, target_id, problem)
        VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      params: [accountId, id, targetId, problem],
      expect: decided,
    }),

    performed: (
      { id, migration, performer }: Run,
      target: { accountId: string; at: number; changed: number },
    ): Statement => ({
      sql: upsertPerformed,
      params: [target.accountId, migration, id, target.at, JSON.stringify(performer), target.changed],
    }),

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
