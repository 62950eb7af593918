import type { Failure } from '../lib/failure.ts'
import { type ChangeSet, conflict } from '../storage/change-set.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { integer, json, oneOf, optional, type RowOf, table, text } from '../storage/table.ts'

export interface RunKey {
  accountId: string
  id: string
}

const runStates = ['uploading', 'pending', 'executing', 'ended', 'removed'] as const

/** `uploading`: not shown by the API yet. `removed`: no longer shown, its parts are deleted later. */
export type RunState = (typeof runStates)[number]

const tableOf = <Detail>() =>
  table('long_runs', {
    accountId: text(),
    id: text(),
    /** `task` or `migration`. */
    kind: text(),
    /** One run of an account, kind and subject executes at a time; empty: any number. */
    subject: text(),
    state: oneOf(runStates),
    /** Start of its state or end of its last turn, Unix milliseconds. */
    since: integer(),
    node: text(),
    /** Finished rows, successful and failed; without input: rows written. */
    done: integer(),
    succeeded: integer(),
    failed: integer(),
    /** Without input: where to continue. */
    position: optional(text()),
    outParts: integer(),
    failedParts: integer(),
    /** `1` for each output column that has a value, else `0`. */
    held: text(),
    workedMs: integer(),
    detail: optional(json<Detail>()),
  })

export type BatchRun<Detail = unknown> = RowOf<ReturnType<typeof tableOf<Detail>>>

export type WaitingRun = Pick<BatchRun, 'accountId' | 'id' | 'since'>

interface NewRun<Detail> {
  subject?: string
  position?: string | undefined
  detail?: Detail | undefined
  succeeded?: number
  failed?: number
}

// `charges` and `terms` are one part of JSON each; the others are CSV.
type PartName = 'in.csv' | 'out' | 'failed' | 'charges' | 'terms'

/** Inputs and outputs are stored in parts of bounded size. */
export interface BatchPart {
  number: number
  /** Of the input: number of rows in the parts before, the header included. */
  firstRow: number
  content: Buffer
}

interface PartRow {
  part: number
  first_row: number
  content: Uint8Array
}

// Candidates for the next run of one account: other processes also take some.
const waitingLookedAt = 50
// Parts removed in one transaction: some megabytes.
const partsRemovedAtOnce = 20

const decided = { rows: 1, orElse: conflict }

const createPartStore = ({ all, writeUnrecorded }: Store) => ({
  statement: ({ accountId, id }: RunKey, name: PartName, part: BatchPart): Statement => ({
    sql: `INSERT INTO long_parts (account_id, run_id, name, part, first_row, content)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    params: [accountId, id, name, part.number, part.firstRow, part.content],
  }),

  async *read({ accountId, id }: RunKey, name: PartName, from = 0): AsyncGenerator<BatchPart> {
    for (let next = from; ; ) {
      const [row] = await all<PartRow>(
        `SELECT part, first_row, content FROM long_parts
            WHERE account_id = $1 AND run_id = $2 AND name = $3 AND part >= $4 ORDER BY part LIMIT 1`,
        [accountId, id, name, next],
      )
      if (!row) return
      const { buffer, byteOffset, length } = row.content
      yield { number: row.part, firstRow: row.first_row, content: Buffer.from(buffer, byteOffset, length) }
      next = row.part + 1
    }
  },

  /** The part of the input that contains a row. */
  async numberOfRow({ accountId, id }: RunKey, row: number): Promise<number> {
    const [found] = await all<{ part: number }>(
      `SELECT part FROM long_parts
          WHERE account_id = $1 AND run_id = $2 AND name = 'in.csv' AND first_row <= $3 ORDER BY part DESC LIMIT 1`,
      [accountId, id, row],
    )
    return found?.part ?? 0
  },

  /** In transactions of bounded size. */
  async removeAll({ accountId, id }: RunKey) {
    for (;;) {
      const parts = await all<{ name: string; part: number }>(
        'SELECT name, part FROM long_parts WHERE account_id = $1 AND run_id = $2 LIMIT $3',
        [accountId, id, partsRemovedAtOnce],
      )
      if (parts.length === 0) return
      await writeUnrecorded(
        parts.map(({ name, part }) => ({
          sql: 'DELETE FROM long_parts WHERE account_id = $1 AND run_id = $2 AND name = $3 AND part = $4',
          params: [accountId, id, name, part],
        })),
      )
    }
  },
})

export const createRunStore = <Detail>(store: Store, kind: string) => {
  const { clock, all, scan, writeUnrecorded } = store
  const parts = createPartStore(store)
  const runs = tableOf<Detail>()
  const keys = runs.pick('accountId', 'id')
  const waitingRuns = runs.pick('accountId', 'id', 'since')
  const insertRun = runs.insert('ON CONFLICT DO NOTHING')

  /** For runs with few parts. */
  const remove = (set: ChangeSet, which: string, params: readonly string[]) => {
    set.run(
      `DELETE FROM long_parts WHERE account_id = $1 AND run_id IN (SELECT id FROM long_runs WHERE ${which})`,
      params,
    )
    set.run(`DELETE FROM long_runs WHERE ${which}`, params)
  }

  const keysWhere = async (where: string, params: readonly (string | number)[], limit: number) =>
    keys.list(
      await all(`SELECT ${keys.columns} FROM long_runs WHERE kind = $1 AND ${where} LIMIT ${limit}`, [
        kind,
        ...params,
      ]),
    )

  const run = async ({ accountId, id }: RunKey): Promise<BatchRun<Detail> | undefined> => {
    const sql = `SELECT ${runs.columns} FROM long_runs WHERE account_id = $1 AND id = $2`
    return runs.first(await all(sql, [accountId, id]))
  }

  /** Deletes the rest of a removed run, in transactions of bounded size. */
  const clear = async (key: RunKey) => {
    if ((await run(key))?.state !== 'removed') return
    await parts.removeAll(key)
    await writeUnrecorded([
      {
        sql: "DELETE FROM long_runs WHERE account_id = $1 AND id = $2 AND state = 'removed'",
        params: [key.accountId, key.id],
      },
    ])
  }

  return {
    kind,
    parts,

    run,

    async runsBetween(
      accountId: string,
      lowest: string,
      highest: string,
    ): Promise<Map<string, BatchRun<Detail>>> {
      const rows = await all(
        `SELECT ${runs.columns} FROM long_runs WHERE account_id = $1 AND id >= $2 AND id <= $3`,
        [accountId, lowest, highest],
      )
      return new Map(runs.list(rows).map((found) => [found.id, found]))
    },

    /** The executing run, else the one that ended last. Ids of one second are not ordered. */
    async latest(accountId: string, subject: string): Promise<BatchRun<Detail> | undefined> {
      return runs.first(
        await all(
          `SELECT ${runs.columns} FROM long_runs
            WHERE account_id = $1 AND kind = $2 AND subject = $3 AND state <> 'removed'
            ORDER BY CASE state WHEN 'executing' THEN 0 ELSE 1 END, since DESC, id DESC LIMIT 1`,
          [accountId, kind, subject],
        ),
      )
    },

    /** A conflict if another run of the subject is executing. */
    insert: (
      { accountId, id }: RunKey,
      state: RunState,
      { subject = '', position, detail, succeeded = 0, failed = 0 }: NewRun<Detail> = {},
    ) => {
      const counts = { done: succeeded + failed, succeeded, failed, outParts: 0, failedParts: 0, workedMs: 0 }
      const run = {
        accountId,
        id,
        kind,
        subject,
        state,
        since: clock.now(),
        position,
        detail,
        node: '',
        held: '',
      }
      return insertRun({ ...run, ...counts }, decided)
    },

    /** `orElse`: the failure if the run is in another state. */
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

    removeWhole: (set: ChangeSet, { accountId, id }: RunKey) =>
      remove(set, 'account_id = $1 AND id = $2', [accountId, id]),

    removeEnded: (set: ChangeSet, accountId: string, subject: string) =>
      remove(set, "account_id = $1 AND kind = $2 AND subject = $3 AND state = 'ended'", [
        accountId,
        kind,
        subject,
      ]),

    /** The parts are deleted later by `clear`. */
    removeWithAccount: (set: ChangeSet, accountId: string) =>
      set.run("UPDATE long_runs SET state = 'removed' WHERE account_id = $1 AND kind = $2", [
        accountId,
        kind,
      ]),

    takeOver: ({ accountId, id }: RunKey, node: string) =>
      writeUnrecorded([
        {
          sql: "UPDATE long_runs SET node = $3 WHERE account_id = $1 AND id = $2 AND state = 'executing'",
          params: [accountId, id, node],
        },
      ]),

    /** Puts it after the account's other runs, also those of the same millisecond. */
    stepBack: ({ accountId, id }: RunKey) =>
      writeUnrecorded([
        {
          sql: `UPDATE long_runs SET since = (
              SELECT CASE WHEN max(other.since) < $4 THEN $4 ELSE max(other.since) + 1 END FROM long_runs AS other
                WHERE other.account_id = $1 AND other.kind = $3 AND other.state = 'executing')
            WHERE account_id = $1 AND id = $2 AND state = 'executing'`,
          params: [accountId, id, kind, clock.now()],
        },
      ]),

    /** Updates the progress only if it is still `before`, so that no row is done twice. */
    advance: (before: BatchRun<Detail>, after: BatchRun<Detail>, orElse: () => Failure): Statement => ({
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

    /** Executing runs: of each account those that waited longest. */
    async waiting(): Promise<WaitingRun[]> {
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

    inStateSince: (state: RunState, before: number, limit: number): Promise<RunKey[]> =>
      keysWhere('state = $2 AND since < $3 ORDER BY since', [state, before], limit),

    someExecuting: async (limit: number): Promise<string[]> =>
      (await keysWhere("state = 'executing'", [], limit)).map(({ id }) => id),

    /** Marks uploads without data since `before` as removed. */
    giveUpUploads: (before: number) =>
      writeUnrecorded([
        {
          sql: "UPDATE long_runs SET state = 'removed' WHERE kind = $1 AND state = 'uploading' AND since < $2",
          params: [kind, before],
        },
      ]),

    removed: (limit: number): Promise<RunKey[]> => keysWhere("state = 'removed'", [], limit),

    clear,

    /** Removes an upload unless it has become a run. */
    async discardUpload(key: RunKey) {
      await writeUnrecorded([
        {
          sql: "UPDATE long_runs SET state = 'removed' WHERE account_id = $1 AND id = $2 AND state = 'uploading'",
          params: [key.accountId, key.id],
        },
      ])
      await clear(key)
    },
  }
}

export type RunStore<Detail = unknown> = ReturnType<typeof createRunStore<Detail>>
