import { type AccountRecord, accountKind } from '../../../../auth/identity.ts'
import type { ScheduledJob } from '../../../../jobs/scheduler.ts'
import { elementAt } from '../../../../lib/list.ts'
import { monthNumber } from '../../../../lib/time-key.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import { retrying } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import { type MonthCount, monthCounts, quantitiesBy, sumsOf } from './rules.ts'
import { createQuantityStore } from './store.ts'

// A fold blocks other SQLite writers for some ten milliseconds.
const movesPerFold = 2000

export type QuantityReader = ReturnType<typeof createQuantities>

/** The counts of accounts: exact at any time, even if recent moves are not folded yet. */
export const createQuantities = ({ store }: DepsOf<'store'>) => {
  const rows = createQuantityStore(store)

  /** The parents of accounts; none for deleted ones. */
  const treesOf = async (accountIds: readonly string[]) => {
    const accounts = await Promise.all(accountIds.map((id) => store.records.find(id, accountKind, id)))
    return new Map(accounts.flatMap((account) => (account ? [[account.id, account.hidden.tree]] : [])))
  }

  /** The master account never moves. */
  const parentOf = ({ hidden: { tree } }: AccountRecord) => elementAt(tree, -1)

  const foldOnce = async (guard: Statement) => {
    const terms = { guard, treeVersion: await rows.treeVersion() }
    const moves = await rows.waiting(movesPerFold)
    if (moves.length === 0) return false
    // After the moves: a new account that is not found yet would count for no parent.
    await store.fence()
    const trees = await treesOf([...new Set(moves.map(({ accountId }) => accountId))])
    const sums = sumsOf(moves, (accountId) => trees.get(accountId) ?? [])
    await rows.fold(moves, sums, terms)
    return moves.length === movesPerFold
  }

  const job: ScheduledJob = {
    name: 'quantities',
    everySeconds: 2,
    due: async () => (await rows.waiting(1)).length > 0,
    async run(signal, guard) {
      // A concurrent move or deletion of an account makes the fold read again.
      while ((await retrying(() => foldOnce(guard))) && !signal.aborted);
    },
  }

  return {
    /** The account's own counts, and those of its sub-accounts. */
    async of(accountId: string) {
      const counted = await rows.of(accountId)
      return {
        account: quantitiesBy(counted, ({ own }) => own),
        cascade: quantitiesBy(counted, ({ below }) => below),
      }
    },

    async own(accountId: string) {
      return quantitiesBy(await rows.own(accountId), ({ own }) => own)
    },

    /** How many items of a category the account and its sub-accounts have. */
    async cascade(accountId: string, category: string): Promise<number> {
      const counted = await rows.of(accountId)
      return counted
        .filter((row) => row.category === category)
        .reduce((sum, { own, below }) => sum + own + below, 0)
    },

    /** The own counts at the beginning and the end of each month. */
    async months(accountId: string): Promise<MonthCount[]> {
      return monthCounts(await rows.days(accountId), monthNumber(store.clock.now()))
    },

    moveWith: (set: ChangeSet, { before, after }: { before: AccountRecord; after: AccountRecord }) =>
      rows.move(set, before.id, { from: parentOf(before), to: parentOf(after) }),

    removeWith: (set: ChangeSet, { id, hidden }: AccountRecord) => rows.remove(set, id, hidden.tree.at(-1)),

    /** Adds recent moves to the totals of the parent accounts. */
    job,
  }
}
