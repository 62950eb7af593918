import type { Failure } from '../lib/failure.ts'
import { type ChangeSet, conflict } from '../storage/change-set.ts'
import type { Statement, Value } from '../storage/db.ts'
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
  /** The number of input rows in the earlier parts, including the header. */
  firstRow: number
  content: Buffer
}

// Candidates for the next run of one account: other processes also take some.
const waitingLookedAt = 50
// Parts removed in one transaction: some megabytes.
const partsRemovedAtOnce = 20

const decided = { rows: 1, orElse: conflict }

export const createPartStore = ({ all, writeUnrecorded }: Store) => ({
  statement: ({ accountId, id }: RunKey, name: PartName, part: BatchPart): Statement => ({
    sql: `INSERT INTO long_parts (account_id, run_id, name, part, first_row, content)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    params: [accountId, id, name, part.number, part.firstRow, part.content],
  }),

  async *read({ accountId, id }: RunKey, name: PartName, from = 0): AsyncGenerator<BatchPart> {
    for (let next = from; ; ) {
      const [row] = await all<{ part: number; first_row: number; content: Uint8Array }>(
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

const ofRun = 'account_id = $1 AND id = $2'

const update = (
  changes: string,
  where: string,
  params: readonly Value[],
  orElse?: () => Failure,
): Statement => ({
  sql: `UPDATE long_runs SET ${changes} WHERE ${where}`,
  params,
  ...(orElse ? { expect: { rows: 1, orElse } } : {}),
})

const removedState = "state = 'removed'"

/** Reads of runs. `kind` is $1 where it is a condition. */
const runReads = <Detail>({ all, scan }: Store, kind: string) => {
  const runs = tableOf<Detail>()
  const keys = runs.pick('accountId', 'id')
  const waitingRuns = runs.pick('accountId', 'id', 'since')

  const runsWhere = async (where: string, params: readonly Value[]): Promise<BatchRun<Detail>[]> =>
    runs.list(await all(`SELECT ${runs.columns} FROM long_runs WHERE ${where}`, params))

  const keysWhere = async (where: string, params: readonly Value[], limit: number): Promise<RunKey[]> =>
    keys.list(
      await all(`SELECT ${keys.columns} FROM long_runs WHERE kind = $1 AND ${where} LIMIT ${limit}`, [
        kind,
        ...params,
      ]),
    )

  return {
    run: async ({ accountId, id }: RunKey) => (await runsWhere(ofRun, [accountId, id]))[0],

    async runsBetween(accountId: string, lowest: string, highest: string) {
      const found = await runsWhere('account_id = $1 AND id >= $2 AND id <= $3', [accountId, lowest, highest])
      return new Map(found.map((run) => [run.id, run]))
    },

    /** The executing run, else the one that ended last. Ids of one second are not ordered. */
    async latest(accountId: string, subject: string) {
      const where = `kind = $1 AND account_id = $2 AND subject = $3 AND state <> 'removed'
        ORDER BY CASE state WHEN 'executing' THEN 0 ELSE 1 END, since DESC, id DESC LIMIT 1`
      return (await runsWhere(where, [kind, accountId, subject]))[0]
    },

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

    inStateSince: (state: RunState, before: number, limit: number) =>
      keysWhere('state = $2 AND since < $3 ORDER BY since', [state, before], limit),

    someExecuting: async (limit: number) =>
      (await keysWhere("state = 'executing'", [], limit)).map(({ id }) => id),

    removed: (limit: number) => keysWhere(removedState, [], limit),
  }
}

const runWrites = <Detail>({ clock }: Store, kind: string) => {
  const insertRun = tableOf<Detail>().insert('ON CONFLICT DO NOTHING')

  /** For runs with few parts. */
  const remove = (set: ChangeSet, which: string, params: readonly string[]) =>
    set
      .run(
        `DELETE FROM long_parts WHERE account_id = $1 AND run_id IN (SELECT id FROM long_runs WHERE ${which})`,
        params,
      )
      .run(`DELETE FROM long_runs WHERE ${which}`, params)

  return {
    /** A conflict if another run of the subject is executing. */
    insert: (
      { accountId, id }: RunKey,
      state: RunState,
      { subject = '', position, detail, succeeded = 0, failed = 0 }: NewRun<Detail> = {},
    ) => {
      const counts = { done: succeeded + failed, succeeded, failed, outParts: 0, failedParts: 0, workedMs: 0 }
      const asked = { subject, position, detail, since: clock.now(), node: '', held: '' }
      return insertRun({ accountId, id, kind, state, ...asked, ...counts }, decided)
    },

    /** `orElse`: the failure if the run is in another state. */
    move: ({ accountId, id }: RunKey, from: RunState, to: RunState, orElse: () => Failure = conflict) =>
      update(
        'state = $4, since = $5',
        `${ofRun} AND state = $3`,
        [accountId, id, from, to, clock.now()],
        orElse,
      ),

    removeWhole: (set: ChangeSet, { accountId, id }: RunKey) => remove(set, ofRun, [accountId, id]),

    removeEnded: (set: ChangeSet, accountId: string, subject: string) =>
      remove(set, "account_id = $1 AND kind = $2 AND subject = $3 AND state = 'ended'", [
        accountId,
        kind,
        subject,
      ]),

    /** The parts are deleted later by `clear`. */
    removeWithAccount: (set: ChangeSet, accountId: string) =>
      set.add(update(removedState, 'account_id = $1 AND kind = $2', [accountId, kind])),

    /** Updates the progress only if it is still `before`, so that no row is done twice. */
    advance(before: BatchRun<Detail>, after: BatchRun<Detail>, orElse: () => Failure) {
      const place = [before.accountId, before.id, before.done, before.outParts, before.position ?? '']
      const { done, succeeded, failed, position = null, outParts, failedParts } = after
      const progress = [done, succeeded, failed, position, outParts, failedParts]
      const detail = after.detail === before.detail ? null : JSON.stringify(after.detail)
      return update(
        `done = $6, succeeded = $7, failed = $8, position = $9, out_parts = $10,
          failed_parts = $11, held = $12, worked_ms = $13, detail = COALESCE($14, detail)`,
        `${ofRun} AND state = 'executing' AND done = $3 AND out_parts = $4 AND COALESCE(position, '') = $5`,
        [...place, ...progress, after.held, after.workedMs, detail],
        orElse,
      )
    },
  }
}

export const createRunStore = <Detail>(store: Store, kind: string) => {
  const parts = createPartStore(store)
  const reads = runReads<Detail>(store, kind)
  const write = (...statements: readonly Statement[]) => store.writeUnrecorded(statements)

  /** Deletes the rest of a removed run, in transactions of bounded size. */
  const clear = async (key: RunKey) => {
    if ((await reads.run(key))?.state !== 'removed') return
    await parts.removeAll(key)
    const { accountId, id } = key
    await write({ sql: `DELETE FROM long_runs WHERE ${ofRun} AND ${removedState}`, params: [accountId, id] })
  }

  return {
    kind,
    parts,
    ...reads,
    ...runWrites<Detail>(store, kind),
    clear,

    takeOver: ({ accountId, id }: RunKey, node: string) =>
      write(update('node = $3', `${ofRun} AND state = 'executing'`, [accountId, id, node])),

    /** Puts it after the account's other runs, also those of the same millisecond. */
    stepBack: ({ accountId, id }: RunKey) =>
      write(
        update(
          `since = (SELECT CASE WHEN max(other.since) < $4 THEN $4 ELSE max(other.since) + 1 END
            FROM long_runs AS other
            WHERE other.account_id = $1 AND other.kind = $3 AND other.state = 'executing')`,
          `${ofRun} AND state = 'executing'`,
          [accountId, id, kind, store.clock.now()],
        ),
      ),

    /** Marks uploads without data since `before` as removed. */
    giveUpUploads: (before: number) =>
      write(update(removedState, "kind = $1 AND state = 'uploading' AND since < $2", [kind, before])),

    /** Removes an upload unless it has become a run. */
    async discardUpload(key: RunKey) {
      await write(update(removedState, `${ofRun} AND state = 'uploading'`, [key.accountId, key.id]))
      await clear(key)
    },
  }
}

export type RunStore<Detail = unknown> = ReturnType<typeof createRunStore<Detail>>
