import type { Failure } from '../../lib/failure.ts'
import { type ChangeSet, conflict } from '../../storage/change-set.ts'
import type { Statement } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { integer, json, oneOf, optional, type RowOf, table, text } from '../../storage/table.ts'
import type { Waiting } from './fairness.ts'
import { createPartStore } from './parts/store.ts'

/** Where a run is kept. */
export interface RunKey {
  accountId: string
  id: string
}

const runStates = ['uploading', 'pending', 'executing', 'ended', 'removed'] as const

/**
 * Where the work stands. `uploading`: the input arrives, nobody sees the run yet. `removed`: nobody sees it any more,
 * its parts are yet to go.
 */
export type RunState = (typeof runStates)[number]

const tableOf = <Detail>() =>
  table('long_runs', {
    accountId: text(),
    id: text(),
    /** Whose work it is: `task`. */
    kind: text(),
    /** Of an account, a kind and a subject one run at a time is executing; empty: any number. */
    subject: text(),
    state: oneOf(runStates),
    /** In which state it is since; Unix milliseconds. */
    since: integer(),
    node: text(),
    /** Rows that are done for good, the successful and the failed ones; of work without input rows written. */
    done: integer(),
    succeeded: integer(),
    failed: integer(),
    /** Of work without input: where it goes on. */
    position: optional(text()),
    outParts: integer(),
    failedParts: integer(),
    /** For each output column `1` when it held a value, else `0`. */
    held: text(),
    workedMs: integer(),
    /** What belongs to the run and no record tells: what was asked for, what was found on the way. */
    detail: optional(json<Detail>()),
  })

/** How far some work has come. */
export type Run<Detail = unknown> = RowOf<ReturnType<typeof tableOf<Detail>>>

// Waiting runs of one account that are looked at for the next to work on: more than one process works at once.
const waitingLookedAt = 50

const decided = { rows: 1, orElse: conflict }

/** The runs of one kind of long work, and their input and output. */
export const createRunStore = <Detail>(store: Store, kind: string) => {
  const { clock, all, scan, writeUnrecorded } = store
  const parts = createPartStore(store)
  const runs = tableOf<Detail>()
  const keys = runs.pick('accountId', 'id')
  const waitingRuns = runs.pick('accountId', 'id', 'since')
  const insertRun = runs
    .pick('accountId', 'id', 'kind', 'subject', 'state', 'since', 'position', 'detail')
    .insert('ON CONFLICT DO NOTHING')

  const insertEnded = runs
    .pick('accountId', 'id', 'kind', 'subject', 'state', 'since', 'done', 'succeeded', 'failed')
    .insert()

  const run = async ({ accountId, id }: RunKey): Promise<Run<Detail> | undefined> =>
    runs.first(
      await all(`SELECT ${runs.columns} FROM long_runs WHERE account_id = $1 AND id = $2`, [accountId, id]),
    )

  return {
    kind,
    parts,
    run,

    /** The runs of an account whose ids lie between two, by id. */
    async runsBetween(accountId: string, lowest: string, highest: string): Promise<Map<string, Run<Detail>>> {
      const rows = await all(
        `SELECT ${runs.columns} FROM long_runs WHERE account_id = $1 AND id >= $2 AND id <= $3`,
        [accountId, lowest, highest],
      )
      return new Map(runs.list(rows).map((found) => [found.id, found]))
    },

    /** The run that is executing, else the one that ended last. Ids of one second do not say which one came first. */
    async latest(accountId: string, subject: string): Promise<Run<Detail> | undefined> {
      return runs.first(
        await all(
          `SELECT ${runs.columns} FROM long_runs
            WHERE account_id = $1 AND kind = $2 AND subject = $3 AND state <> 'removed'
            ORDER BY CASE state WHEN 'executing' THEN 0 ELSE 1 END, since DESC, id DESC LIMIT 1`,
          [accountId, kind, subject],
        ),
      )
    },

    /** A new run. A conflict where another one of the subject is executing. */
    insert: (
      { accountId, id }: RunKey,
      state: RunState,
      { subject = '', position, detail }: NewRun<Detail> = {},
    ) => insertRun({ accountId, id, kind, subject, state, since: clock.now(), position, detail }, decided),

    /** Moves a run from one state to the next; `orElse` when it is in another one. */
    move: (
      { accountId, id }: RunKey,
      from: RunState,
      to: RunState,
      orElse: () => Failure = conflict,
    ): Statement => ({
      sql: 'UPDATE long_runs SET state = $4, since = $5 WHERE account_id = $1 AND id = $2 AND state = $3',
      params: [accountId, id, from, to, clock.now()],
      expect: { rows: 1, orElse },
    }),

    /** A run that has ended elsewhere. */
    insertEnded: ({ accountId, id }: RunKey, { succeeded, failed }: Pick<Run, 'succeeded' | 'failed'>) =>
      insertEnded({
        accountId,
        id,
        kind,
        subject: '',
        state: 'ended',
        since: clock.now(),
        done: succeeded + failed,
        succeeded,
        failed,
      }),

    /** Adds the removal of a run with all of its parts, which are few. */
    removeWhole(set: ChangeSet, { accountId, id }: RunKey) {
      set.run('DELETE FROM long_parts WHERE account_id = $1 AND run_id = $2', [accountId, id])
      set.run('DELETE FROM long_runs WHERE account_id = $1 AND id = $2', [accountId, id])
    },

    /** Adds the removal of runs of a subject that have ended. */
    removeEnded(set: ChangeSet, accountId: string, subject: string) {
      const ended = "account_id = $1 AND kind = $2 AND subject = $3 AND state = 'ended'"
      const params = [accountId, kind, subject]
      set.run(
        `DELETE FROM long_parts WHERE account_id = $1 AND run_id IN (SELECT id FROM long_runs WHERE ${ended})`,
        params,
      )
      set.run(`DELETE FROM long_runs WHERE ${ended}`, params)
    },

    /** Adds the removal of an account's runs; their parts go later (`litter`). */
    removeWithAccount: (set: ChangeSet, accountId: string) =>
      set.run("UPDATE long_runs SET state = 'removed' WHERE account_id = $1 AND kind = $2", [
        accountId,
        kind,
      ]),

    /** Says which process works on it. */
    takeOver: ({ accountId, id }: RunKey, node: string) =>
      writeUnrecorded([
        {
          sql: "UPDATE long_runs SET node = $3 WHERE account_id = $1 AND id = $2 AND state = 'executing'",
          params: [accountId, id, node],
        },
      ]),

    /** Puts it behind the others of its account. */
    stepBack: ({ accountId, id }: RunKey) =>
      writeUnrecorded([
        {
          sql: "UPDATE long_runs SET since = $3 WHERE account_id = $1 AND id = $2 AND state = 'executing'",
          params: [accountId, id, clock.now()],
        },
      ]),

    /**
     * What makes rows done: happens only while the run is executing and stands where `before` says. Together with
     * what the rows change it is done once, and not at all after a stop.
     */
    advance: (before: Run<Detail>, after: Run<Detail>, orElse: () => Failure): Statement => ({
      sql: `UPDATE long_runs SET done = $6, succeeded = $7, failed = $8, position = $9, out_parts = $10,
          failed_parts = $11, held = $12, worked_ms = $13, detail = COALESCE($14, detail)
        WHERE account_id = $1 AND id = $2 AND state = 'executing' AND done = $3 AND out_parts = $4
          AND COALESCE(position, '') = $5`,
      params: [
        before.accountId,
        before.id,
        before.done,
        before.outParts,
        before.position ?? '',
        after.done,
        after.succeeded,
        after.failed,
        after.position ?? null,
        after.outParts,
        after.failedParts,
        after.held,
        after.workedMs,
        after.detail === before.detail ? null : JSON.stringify(after.detail),
      ],
      expect: { rows: 1, orElse },
    }),

    /** Executing runs, of each account those that waited longest. */
    async waiting(): Promise<Waiting[]> {
      const rows = await scan(
        `SELECT ${waitingRuns.columns} FROM (
            SELECT account_id, id, since,
              row_number() OVER (PARTITION BY account_id ORDER BY since, id) AS place
            FROM long_runs WHERE kind = $1 AND state = 'executing') AS placed
          WHERE place <= $2`,
        [kind, waitingLookedAt],
      )
      return waitingRuns.list(rows)
    },

    /** Some runs that have been in a state since before a moment, the oldest first. */
    async inStateSince(state: RunState, before: number, limit: number): Promise<RunKey[]> {
      const rows = await all(
        `SELECT ${keys.columns} FROM long_runs WHERE kind = $1 AND state = $2 AND since < $3 ORDER BY since LIMIT $4`,
        [kind, state, before, limit],
      )
      return keys.list(rows)
    },

    /** Some executing runs, as a cheap look whether there is anything to do. */
    async someExecuting(limit: number): Promise<string[]> {
      const rows = await all(
        `SELECT ${keys.columns} FROM long_runs WHERE kind = $1 AND state = 'executing' LIMIT $2`,
        [kind, limit],
      )
      return keys.list(rows).map(({ id }) => id)
    },

    /** Some of what is left over of removed runs, and of inputs in which nothing came for a while. */
    async litter(uploadsBefore: number, limit: number): Promise<RunKey[]> {
      const rows = await all(
        `SELECT ${keys.columns} FROM long_runs
          WHERE kind = $1 AND (state = 'removed' OR (state = 'uploading' AND since < $2)) LIMIT $3`,
        [kind, uploadsBefore, limit],
      )
      return keys.list(rows)
    },

    /**
     * Removes what is left of a removed run, or of an input in which nothing came since `uploadsBefore`, in
     * transactions of bounded size. Leaves alone what goes on, or went on meanwhile.
     */
    async sweep(key: RunKey, uploadsBefore: number) {
      const place = [key.accountId, key.id]
      if ((await run(key)) === undefined) return
      await writeUnrecorded([
        {
          sql: `UPDATE long_runs SET state = 'removed'
            WHERE account_id = $1 AND id = $2 AND state = 'uploading' AND since < $3`,
          params: [...place, uploadsBefore],
        },
      ])
      if ((await run(key))?.state !== 'removed') return
      await parts.removeAll(key)
      await writeUnrecorded([
        {
          sql: "DELETE FROM long_runs WHERE account_id = $1 AND id = $2 AND state = 'removed'",
          params: place,
        },
      ])
    },
  }
}

/** What is said of a run beside its state. */
interface NewRun<Detail> {
  subject?: string
  /** Where work without input begins. */
  position?: string | undefined
  detail?: Detail | undefined
}

export type RunStore<Detail = unknown> = ReturnType<typeof createRunStore<Detail>>
