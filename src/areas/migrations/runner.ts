import type { AccountRecord } from '../../auth/identity.ts'
import type { Step, StepwiseWork } from '../../jobs/steps.ts'
import { Failure } from '../../lib/failure.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import { describeError, type Log } from '../../lib/log.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import type { Statement } from '../../storage/db.ts'
import { requireRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import type { Counters, MigrationStore, Run } from './store.ts'

// One durable commit for many small accounts; a large one has commits of its own. What was planned and not committed
// when a process dies is planned again, so a turn is kept short.
const accountsPerTurn = 40
const statementsPerTurn = 1000
const turnMs = 300

const attempts = 5

/** What a migration does, and to how many accounts at a time it may be planned: one where that takes a processor. */
export interface Work {
  plan: StepwiseWork
  accountsAtOnce: number
}

interface Tools {
  store: Store
  books: MigrationStore
  log: Log
  find(migration: string): Work | undefined
}

/** What a turn does with an account. Without a step it was skipped, or it failed. */
interface Planned {
  account: AccountRecord
  author: Author
  step?: Step
  problem?: string
}

/** These are about the store or about this process, not about the account that was at hand. */
const endsTheRound = (error: unknown) =>
  error instanceof Failure && (error.kind === 'lease_lost' || error.kind === 'datastore_unreachable')

/**
 * Who changes an account in a turn of a run. Each has a request id of its own, because what services charge for a
 * request is booked once for each; nobody is asked whether the charges are all right, since what is there is there.
 */
const authorOf = (author: Author, turn: number, index: number): Author => ({
  ...author,
  requestId: `${author.requestId}/${turn}.${index}`,
  acceptsCharges: true,
})

const publicText = (error: unknown) =>
  error instanceof Failure ? error.kind.replaceAll('_', ' ') : 'unspecified fault'

const sizeOf = ({ step }: Planned) => (step?.sets ?? []).reduce((sum, set) => sum + set.statements.length, 0)

/** Moves runs on, a turn at a time: each turn is one commit that either happens whole, with its place in the run, or not. */
export const createRunner = ({ store, books, log, find }: Tools) => {
  const { clock } = store

  const planOne = async (run: Run, work: Work, account: AccountRecord, index: number): Promise<Planned> => {
    const author = authorOf(run.author, run.turn, index)
    const isSkipped = account.id !== run.accountId && account.hidden.isReseller && !run.includesResellers
    if (isSkipped) return { account, author }
    const { halfDone } = run
    const position = halfDone?.accountId === account.id ? halfDone.position : undefined
    return { account, author, step: await work.plan(author, account, position) }
  }

  /** The plans of accounts in their order, some of which are made at the same time, as far as they succeed. */
  const planSome = async (run: Run, work: Work, accounts: readonly AccountRecord[], from: number) => {
    const results = await Promise.allSettled(
      accounts.map((account, index) => planOne(run, work, account, from + index)),
    )
    const plans: Planned[] = []
    for (const result of results) {
      if (result.status === 'fulfilled') plans.push(result.value)
      else if (from + plans.length === 0) throw result.reason
      else return { isBroken: true, plans }
    }
    return { isBroken: false, plans }
  }

  /** As many accounts as fit; the last one may be only begun. Whoever fails behind others has a turn of its own. */
  const plan = async (run: Run, work: Work, most: number): Promise<Planned[]> => {
    const planned: Planned[] = []
    const until = clock.now() + turnMs
    const targets = await books.targets(run, most)
    let size = 0
    while (planned.length < targets.length) {
      const from = planned.length
      // The first alone: while a large account is gone through, nobody else is planned in vain.
      const next = targets.slice(from, from + (from === 0 ? 1 : work.accountsAtOnce))
      const { isBroken, plans } = await planSome(run, work, next, from)
      for (const one of plans) {
        size += sizeOf(one)
        if (planned.length > 0 && size > statementsPerTurn) return planned
        planned.push(one)
        if (one.step?.next !== undefined) return planned
      }
      if (isBroken || clock.now() > until) return planned
    }
    return planned
  }

  /** What the account has gone through, the steps of earlier turns included. */
  const soFar = ({ halfDone }: Run, { account, step, problem }: Planned) => {
    const before = halfDone?.accountId === account.id ? halfDone : undefined
    return {
      changed: (before?.changed ?? 0) + (step?.changed ?? 0),
      problem: problem ?? step?.problem ?? before?.problem,
    }
  }

  const enter = (set: ChangeSet, run: Run, done: Planned, counted: Counters, at: number) => {
    const { account, step } = done
    const { changed, problem } = soFar(run, done)
    if (!step && problem === undefined) {
      counted.skipped += 1
      return
    }
    const holder = { accountId: account.id, kind: 'account', id: account.id }
    requireRecord(set, holder)
    set.statements.push(books.outcome(run, account.id, problem ?? ''))
    if (problem !== undefined) {
      counted.failed += 1
      return
    }
    counted.performed += 1
    set.statements.push(books.performed(run, { accountId: account.id, at, changed }))
    const after = JSON.stringify({ performed_time: at, changed, ...run.performer })
    set.record({ accountId: account.id, kind: 'migration', id: run.migration, action: 'edited', after })
  }

  const commitAll = async (sets: readonly ChangeSet[], own: ChangeSet) => {
    const [first] = sets
    if (own.changes.length > 0) return store.commit(...sets, own)
    if (!first) return store.writeUnrecorded(own.statements)
    first.statements.push(...own.statements)
    return store.commit(...sets)
  }

  const commit = async (run: Run, planned: readonly Planned[], guard: Statement) => {
    const at = gregorianNow(clock)
    const set = new ChangeSet(authorOf(run.author, run.turn, accountsPerTurn))
    set.statements.push(guard)
    const counted: Counters = { performed: 0, failed: 0, skipped: 0, changed: 0 }
    const last = planned.at(-1)
    const begun = last?.step?.next === undefined ? undefined : last
    const ended = begun ? planned.slice(0, -1) : planned
    for (const done of ended) enter(set, run, done, counted, at)
    for (const { step } of planned) counted.changed += step?.changed ?? 0
    if (begun) requireRecord(set, { accountId: begun.account.id, kind: 'account', id: begun.account.id })
    const behind = ended.at(-1)
    const place = behind ? books.placeOf(run, behind.account.id) : run.place
    set.statements.push(books.advance(run, { counted, place, halfDone: begun && halfOf(run, begun), at }))
    await commitAll(
      planned.flatMap(({ step }) => step?.sets ?? []),
      set,
    )
  }

  const halfOf = (run: Run, begun: Planned) => {
    const { changed, problem } = soFar(run, begun)
    const position = begun.step?.next ?? ''
    return { accountId: begun.account.id, position, changed, ...(problem === undefined ? {} : { problem }) }
  }

  const end = async (run: Run, guard: Statement) => {
    const set = new ChangeSet(run.author)
    set.statements.push(guard, books.end(run, gregorianNow(clock)))
    const { performed, failed, skipped, changed } = run
    const after = JSON.stringify({ migration: run.migration, performed, failed, skipped, changed })
    set.record({ accountId: run.accountId, kind: 'migration_run', id: run.id, action: 'edited', after })
    await store.commit(set)
  }

  const turn = async (run: Run, guard: Statement, most: number) => {
    const work = find(run.migration)
    const planned = work ? await plan(run, work, most) : []
    if (planned.length === 0) await end(run, guard)
    else await commit(run, planned, guard)
  }

  /** Gives the next account up: it is on record why. */
  const giveUp = async (run: Run, error: unknown, guard: Statement) => {
    const [account] = await books.targets(run, 1)
    if (!account) return
    log.write('error', 'a migration failed for an account', {
      migration: run.migration,
      account: account.id,
      error: describeError(error),
    })
    const author = authorOf(run.author, run.turn, 0)
    await commit(run, [{ account, author, problem: publicText(error) }], guard)
  }

  /** The next account by itself, several times if need be. */
  const alone = async ({ accountId, id }: Run, guard: Statement) => {
    for (let attempt = 1; ; attempt += 1) {
      await store.fence()
      const run = await books.find({ accountId, id })
      if (!run || run.ended !== undefined) return
      try {
        return await turn(run, guard, 1)
      } catch (error) {
        if (endsTheRound(error)) throw error
        if (attempt === attempts) return giveUp(run, error, guard)
      }
    }
  }

  return {
    /** One turn of a run. */
    async advance(run: Run, guard: Statement) {
      try {
        await turn(run, guard, accountsPerTurn)
      } catch (error) {
        if (endsTheRound(error)) throw error
        await alone(run, guard)
      }
    },
  }
}
