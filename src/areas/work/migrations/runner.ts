import type { AccountRecord } from '../../../auth/identity.ts'
import { endsTheWork, type RunProgress } from '../../../batches/batches.ts'
import type { Step, StepwiseWork } from '../../../jobs/steps.ts'
import { Failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { present } from '../../../lib/json.ts'
import { describeError } from '../../../lib/log.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import { retrying } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { type MigrationStore, type Ordered, orderedIn, type RunPosition, runPositionIn } from './store.ts'

// One commit for many small accounts; a large one has several. Uncommitted plans are lost when a process dies, so
// turns are short.
const accountsPerTurn = 40
const statementsPerTurn = 1000
const turnMs = 300

/** `accountsAtOnce`: accounts that are planned concurrently, 1 for CPU-bound work. */
interface MigrationWork {
  plan: StepwiseWork
  accountsAtOnce: number
}

interface Deps extends DepsOf<'store' | 'log'> {
  books: MigrationStore
  find(migration: string): MigrationWork | undefined
}

interface RunState extends Ordered, RunPosition {
  rootId: string
  id: string
  migration: string
}

/** Without a step the account was skipped or failed. */
interface Planned {
  account: AccountRecord
  step?: Step
  problem?: string
}

const runStateOf = ({ run }: RunProgress<Ordered>): RunState => {
  const { accountId: rootId, id, subject: migration, position } = run
  return { rootId, id, migration, ...orderedIn(run), ...runPositionIn(position) }
}

/**
 * The author of an account's changes. The request id is unique for each account, because charges are booked once for
 * each request id. Charges need no acceptance.
 */
const turnAuthor = ({ author, turn }: RunState, index: number): Author => ({
  ...author,
  requestId: `${author.requestId}/${turn}.${index}`,
  acceptsCharges: true,
})

const publicText = (error: unknown) =>
  error instanceof Failure ? error.kind.name.replaceAll('_', ' ') : 'unspecified fault'

const statementCount = ({ step }: Planned) =>
  (step?.sets ?? []).reduce((sum, set) => sum + set.statements.length, 0)

const earlierPartOf = ({ halfDone }: RunState, { id }: AccountRecord) =>
  halfDone?.accountId === id ? halfDone : undefined

/** Including earlier turns. */
const soFar = (state: RunState, { account, step, problem }: Planned) => {
  const before = earlierPartOf(state, account)
  return {
    changed: (before?.changed ?? 0) + (step?.changed ?? 0),
    ...present({ problem: problem ?? step?.problem ?? before?.problem }),
  }
}

const planOne = async (state: RunState, { plan }: MigrationWork, account: AccountRecord, index: number) => {
  const isLeftOut = account.id !== state.rootId && account.hidden.isReseller && !state.includesResellers
  if (isLeftOut) return { account }
  const position = earlierPartOf(state, account)?.position
  return { account, step: await plan(turnAuthor(state, index), account, position) }
}

/** As many accounts as fit. The last one may be incomplete. An account that fails gets its own turn. */
const planTurn = async (
  targets: readonly AccountRecord[],
  state: RunState,
  work: MigrationWork,
  isTimeUp: () => boolean,
): Promise<Planned[]> => {
  const planned: Planned[] = []
  let size = 0
  while (planned.length < targets.length) {
    const from = planned.length
    // The first one alone: if it is large, the others would be planned in vain.
    const next = targets.slice(from, from + (from === 0 ? 1 : work.accountsAtOnce))
    const results = await Promise.allSettled(
      next.map((account, index) => planOne(state, work, account, from + index)),
    )
    for (const result of results) {
      if (result.status === 'rejected') {
        if (planned.length === 0) throw result.reason
        return planned
      }
      const one: Planned = result.value
      size += statementCount(one)
      if (planned.length > 0 && size > statementsPerTurn) return planned
      planned.push(one)
      if (one.step?.next !== undefined) return planned
    }
    if (isTimeUp()) return planned
  }
  return planned
}

/** Returns a function that commits what was planned, with the position of the run. */
const createEntries =
  ({ store: { clock }, books }: Deps) =>
  async (
    progress: RunProgress<Ordered>,
    state: RunState,
    planned: readonly Planned[],
    begunAt: number,
  ): Promise<void> => {
    const { id: runId, migration, performer } = state
    const at = gregorianNow(clock)
    const set = new ChangeSet(turnAuthor(state, accountsPerTurn))
    const performed: string[] = []
    const failed: [accountId: string, problem: string][] = []
    const last = planned.at(-1)
    const begun = last?.step?.next === undefined ? undefined : last
    const ended = begun ? planned.slice(0, -1) : planned
    let { skipped } = state
    for (const done of ended) {
      const { id: accountId } = done.account
      const { changed, problem } = soFar(state, done)
      if (done.step || problem !== undefined) requireRecord(set, holderOf(done.account))
      if (problem !== undefined) failed.push([accountId, problem])
      else if (!done.step) skipped += 1
      else {
        performed.push(accountId)
        set.add(books.performed({ accountId, migration, runId, at, performer, changed }))
        const after = JSON.stringify({ performed_time: at, changed, ...performer })
        set.record({ accountId, kind: 'migration', id: migration, action: 'edited', after })
      }
    }
    if (begun) requireRecord(set, holderOf(begun.account))
    const behind = ended.at(-1)
    const position: RunPosition = {
      place: behind ? books.placeOf(state.rootId, behind.account.id) : state.place,
      turn: state.turn + 1,
      started: state.started ?? at,
      skipped,
      changed: planned.reduce((sum, { step }) => sum + (step?.changed ?? 0), state.changed),
      ...(begun
        ? {
            halfDone: {
              accountId: begun.account.id,
              position: begun.step?.next ?? '',
              ...soFar(state, begun),
            },
          }
        : {}),
    }
    const isOnRecord = set.changes.length > 0
    await progress.enter({
      succeeded: performed.length,
      failed: failed.length,
      output: { columns: ['account_id'], rows: performed.map((account_id) => ({ account_id })) },
      failedRows: failed,
      changes: [...planned.flatMap(({ step }) => step?.sets ?? []), ...(isOnRecord ? [set] : [])],
      statements: isOnRecord ? [] : set.statements,
      position: JSON.stringify(position),
      workedMs: Math.max(0, clock.now() - begunAt),
    })
  }

/** Processes the accounts of a run in turns. Each turn is one commit. */
export const createMigrationRunner = (deps: Deps) => {
  const { store, books, log, find } = deps
  const { clock } = store
  const enter = createEntries(deps)

  const end = async (progress: RunProgress<Ordered>) => {
    const { rootId, id, migration, author, skipped, changed } = runStateOf(progress)
    const { succeeded: performed, failed } = progress.run
    const set = new ChangeSet(author)
    const after = JSON.stringify({ migration, performed, failed, skipped, changed })
    set.record({ accountId: rootId, kind: 'migration_run', id, action: 'edited', after })
    await progress.end(set)
  }

  /** Whether an account was left. */
  const turn = async (progress: RunProgress<Ordered>, most: number) => {
    const begunAt = clock.now()
    const state = runStateOf(progress)
    const work = find(state.migration)
    if (!work) return false
    const targets = await books.targets(state, most)
    const planned = await planTurn(targets, state, work, () => clock.now() > begunAt + turnMs)
    if (planned.length > 0) await enter(progress, state, planned, begunAt)
    return planned.length > 0
  }

  /** Records the failure of the next account and skips it. */
  const giveUp = async (progress: RunProgress<Ordered>, error: unknown) => {
    const state = runStateOf(progress)
    const [account] = await books.targets(state, 1)
    if (!account) return false
    log.write('error', 'a migration failed for an account', {
      migration: state.migration,
      account: account.id,
      error: describeError(error),
    })
    await enter(progress, state, [{ account, problem: publicText(error) }], clock.now())
    return true
  }

  /** Processes the next accounts; if they fail together, the next one alone. */
  const advance = async (progress: RunProgress<Ordered>) => {
    try {
      return await turn(progress, accountsPerTurn)
    } catch (error) {
      if (endsTheWork(error)) throw error
    }
    try {
      return await retrying(async () => {
        await store.fence()
        return turn(progress, 1)
      })
    } catch (error) {
      if (endsTheWork(error)) throw error
      return giveUp(progress, error)
    }
  }

  return async (progress: RunProgress<Ordered>): Promise<void> => {
    // Before `mayGoOn`, so that every turn makes progress.
    while (await advance(progress)) if (!(await progress.mayGoOn())) return
    await end(progress)
  }
}
