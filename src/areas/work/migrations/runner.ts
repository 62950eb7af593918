import type { AccountRecord } from '../../../auth/identity.ts'
import { endsTheWork, type RunProgress } from '../../../batches/batches.ts'
import type { Step, StepwiseWork } from '../../../jobs/steps.ts'
import { Failure } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
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
  author: Author
  step?: Step
  problem?: string
}

interface TurnResult {
  set: ChangeSet
  performed: string[]
  failed: [accountId: string, problem: string][]
  skipped: number
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

/** Including earlier turns. */
const soFar = ({ halfDone }: RunState, { account, step, problem }: Planned) => {
  const before = halfDone?.accountId === account.id ? halfDone : undefined
  return {
    changed: (before?.changed ?? 0) + (step?.changed ?? 0),
    problem: problem ?? step?.problem ?? before?.problem,
  }
}

const halfOf = (standing: RunState, begun: Planned) => {
  const { changed, problem } = soFar(standing, begun)
  const position = begun.step?.next ?? ''
  return { accountId: begun.account.id, position, changed, ...(problem === undefined ? {} : { problem }) }
}

/** Processes the accounts of a run in turns. Each turn is one commit, with the position of the run. */
export const createMigrationRunner = ({ store, books, log, find }: Deps) => {
  const { clock } = store

  const planOne = async (standing: RunState, work: MigrationWork, account: AccountRecord, index: number) => {
    const { halfDone, rootId, includesResellers } = standing
    const author = turnAuthor(standing, index)
    const isSkipped = account.id !== rootId && account.hidden.isReseller && !includesResellers
    if (isSkipped) return { account, author }
    const position = halfDone?.accountId === account.id ? halfDone.position : undefined
    return { account, author, step: await work.plan(author, account, position) }
  }

  /** Plans some accounts concurrently, up to the first failure. */
  const planSome = async (
    standing: RunState,
    work: MigrationWork,
    accounts: readonly AccountRecord[],
    from: number,
  ) => {
    const results = await Promise.allSettled(
      accounts.map((account, index) => planOne(standing, work, account, from + index)),
    )
    const plans: Planned[] = []
    for (const result of results) {
      if (result.status === 'fulfilled') plans.push(result.value)
      else if (from + plans.length === 0) throw result.reason
      else return { isBroken: true, plans }
    }
    return { isBroken: false, plans }
  }

  /** As many accounts as fit. The last one may be incomplete. An account that fails gets its own turn. */
  const plan = async (standing: RunState, work: MigrationWork, most: number): Promise<Planned[]> => {
    const planned: Planned[] = []
    const until = clock.now() + turnMs
    const targets = await books.targets(standing, most)
    let size = 0
    while (planned.length < targets.length) {
      const from = planned.length
      // The first one alone: if it is large, the others would be planned in vain.
      const next = targets.slice(from, from + (from === 0 ? 1 : work.accountsAtOnce))
      const { isBroken, plans } = await planSome(standing, work, next, from)
      for (const one of plans) {
        size += statementCount(one)
        if (planned.length > 0 && size > statementsPerTurn) return planned
        planned.push(one)
        if (one.step?.next !== undefined) return planned
      }
      if (isBroken || clock.now() > until) return planned
    }
    return planned
  }

  const note = (outcome: TurnResult, standing: RunState, done: Planned, at: number) => {
    const { set, performed, failed } = outcome
    const { id: accountId } = done.account
    const { changed, problem } = soFar(standing, done)
    if (!done.step && problem === undefined) {
      outcome.skipped += 1
      return
    }
    requireRecord(set, holderOf(done.account))
    if (problem !== undefined) {
      failed.push([accountId, problem])
      return
    }
    performed.push(accountId)
    const { id: runId, migration, performer } = standing
    set.add(books.performed({ accountId, migration, runId, at, performer, changed }))
    const after = JSON.stringify({ performed_time: at, changed, ...performer })
    set.record({ accountId, kind: 'migration', id: migration, action: 'edited', after })
  }

  const enter = async (
    progress: RunProgress<Ordered>,
    standing: RunState,
    planned: readonly Planned[],
    begunAt: number,
  ) => {
    const at = gregorianNow(clock)
    const set = new ChangeSet(turnAuthor(standing, accountsPerTurn))
    const outcome: TurnResult = { set, performed: [], failed: [], skipped: 0 }
    const last = planned.at(-1)
    const begun = last?.step?.next === undefined ? undefined : last
    const ended = begun ? planned.slice(0, -1) : planned
    for (const done of ended) note(outcome, standing, done, at)
    if (begun) requireRecord(set, holderOf(begun.account))
    const behind = ended.at(-1)
    const place: RunPosition = {
      place: behind ? books.placeOf(standing.rootId, behind.account.id) : standing.place,
      turn: standing.turn + 1,
      started: standing.started ?? at,
      skipped: standing.skipped + outcome.skipped,
      changed: planned.reduce((sum, { step }) => sum + (step?.changed ?? 0), standing.changed),
      ...(begun ? { halfDone: halfOf(standing, begun) } : {}),
    }
    const isOnRecord = set.changes.length > 0
    await progress.enter({
      succeeded: outcome.performed.length,
      failed: outcome.failed.length,
      output: { columns: ['account_id'], rows: outcome.performed.map((account_id) => ({ account_id })) },
      failedRows: outcome.failed,
      changes: [...planned.flatMap(({ step }) => step?.sets ?? []), ...(isOnRecord ? [set] : [])],
      statements: isOnRecord ? [] : set.statements,
      position: JSON.stringify(place),
      workedMs: Math.max(0, clock.now() - begunAt),
    })
  }

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
    const standing = runStateOf(progress)
    const work = find(standing.migration)
    const planned = work ? await plan(standing, work, most) : []
    if (planned.length > 0) await enter(progress, standing, planned, begunAt)
    return planned.length > 0
  }

  /** Records the failure of the next account and skips it. */
  const giveUp = async (progress: RunProgress<Ordered>, error: unknown) => {
    const standing = runStateOf(progress)
    const [account] = await books.targets(standing, 1)
    if (!account) return false
    log.write('error', 'a migration failed for an account', {
      migration: standing.migration,
      account: account.id,
      error: describeError(error),
    })
    const failed = { account, author: turnAuthor(standing, 0), problem: publicText(error) }
    await enter(progress, standing, [failed], clock.now())
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
