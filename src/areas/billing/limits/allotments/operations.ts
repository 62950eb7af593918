import type { AccountRecord } from '../../../../auth/identity.ts'
import { deleteOldRows } from '../../../../jobs/scheduler.ts'
import { failure } from '../../../../lib/failure.ts'
import { daySeconds, gregorianNow } from '../../../../lib/gregorian.ts'
import type { Allotment } from '../../../../lib/limit-shapes.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import { type ImportedRecord, type Importer, importingRows } from '../../../adoption.ts'
import type { DepsOf } from '../../../area.ts'
import { allotmentsNotConfigured } from '../failures.ts'
import type { LimitsOfAccounts, OperatorLimitsStored } from '../operations.ts'
import {
  type AllotmentTable,
  allotmentFor,
  consumptionOf,
  countedFor,
  cycleAt,
  type IncludedCall,
  minuteOf,
  type UseWindow,
} from './rules.ts'
import { type AllotmentUse, createAllotmentStore } from './store.ts'

// No cycle is longer than a month. Reports need a year and a month.
const usesKeptDays = 400

interface Deps extends DepsOf<'store'> {
  accounts: Pick<Accounts, 'find'>
  limits: LimitsOfAccounts
  classOf(number: string): Promise<string | undefined>
}

export type Allotments = ReturnType<typeof createAllotments>

export const createAllotments = ({ store, accounts, limits, classOf }: Deps) => {
  const uses = createAllotmentStore(store)
  const now = () => gregorianNow(store.clock)

  const tableOf = async (account: AccountRecord): Promise<AllotmentTable> =>
    (await limits.ofOperator(account)).allotments ?? {}

  const keyOf = async (table: AllotmentTable, { key, direction, number }: IncludedCall) => {
    if (Object.hasOwn(table, key)) return key
    return allotmentFor(table, direction, number === undefined ? undefined : await classOf(number))
  }

  const useOf = async (table: AllotmentTable, call: IncludedCall): Promise<AllotmentUse | undefined> => {
    const key = await keyOf(table, call)
    const allotment = key === undefined ? undefined : table[key]
    const seconds = allotment ? consumptionOf(allotment, call.seconds) : 0
    if (key === undefined || seconds === 0) return undefined
    return { accountId: call.accountId, allotment: key, minute: minuteOf(call.at), seconds }
  }

  const usedOf = async (account: AccountRecord, key: string, allotment: Allotment, stretch: UseWindow) => {
    const used = await Promise.all(
      countedFor(key, allotment).map((counted) => uses.used(account.id, counted, stretch)),
    )
    return used.reduce((sum, seconds) => sum + seconds, 0)
  }

  return {
    of: tableOf,
    now,

    /** The allotment that pays for calls to numbers of a class, if some of it is left. */
    async leftFor(account: AccountRecord, direction: string, classifier: string) {
      const table = await tableOf(account)
      const key = allotmentFor(table, direction, classifier)
      const allotment = key === undefined ? undefined : table[key]
      if (key === undefined || !allotment) return undefined
      const used = await usedOf(account, key, allotment, cycleAt(allotment.cycle, now()))
      return used < allotment.amount ? key : undefined
    },

    async replace(
      author: Author,
      account: AccountRecord,
      before: OperatorLimitsStored | undefined,
      allotments: AllotmentTable,
    ): Promise<AllotmentTable> {
      await limits.replaceOperator(author, account, before, { ...before?.doc, allotments })
      return tableOf(account)
    },

    /** Adds what calls have used to the change set that stores their records. */
    async consume(set: ChangeSet, calls: readonly IncludedCall[]) {
      const sums = new Map<string, AllotmentUse>()
      for (const [accountId, ofAccount] of Map.groupBy(calls, (call) => call.accountId)) {
        const account = await accounts.find(accountId)
        const table = account ? await tableOf(account) : {}
        for (const call of ofAccount) {
          const use = await useOf(table, call)
          if (!use) continue
          const name = JSON.stringify([accountId, use.allotment, use.minute])
          sums.set(name, { ...use, seconds: use.seconds + (sums.get(name)?.seconds ?? 0) })
        }
      }
      for (const [, use] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) uses.add(set, use)
    },

    tidying: deleteOldRows(store, {
      name: 'allotment uses',
      everySeconds: daySeconds,
      table: 'allotment_uses',
      key: ['account_id', 'allotment', 'minute'],
      where: 'minute < $1',
      before: () => now() - usesKeptDays * daySeconds,
    }),

    /** What is used in the current cycle of each allotment, or in the given time. */
    async consumed(account: AccountRecord, given: UseWindow | undefined) {
      const table = Object.entries(await tableOf(account))
      if (table.length === 0) throw failure(allotmentsNotConfigured, {})
      const rows = table.map(async ([key, allotment]) => {
        const stretch = given ?? cycleAt(allotment.cycle, now())
        const consumed = {
          cycle: given ? 'manual' : allotment.cycle,
          consumed_from: stretch.from,
          consumed_to: stretch.to,
          consumed: await usedOf(account, key, allotment, stretch),
        }
        return [key, consumed] as const
      })
      return Object.fromEntries(await Promise.all(rows))
    },
  }
}

const importedUse = ({ accountId, facts }: ImportedRecord): AllotmentUse => {
  const { allotment, minute, seconds } = facts as unknown as Omit<AllotmentUse, 'accountId'>
  return { accountId, allotment, minute, seconds }
}

/** Ids are `minute/allotment`, each part URL-encoded. */
const usePlaceIn = (id: string) => {
  const [minute = '', allotment = ''] = id.split('/').map(decodeURIComponent)
  return { minute: Number(minute), allotment }
}

/** Imports what calls have used elsewhere. */
export const createAllotmentUseImporter = (store: Store): Importer => {
  const uses = createAllotmentStore(store)
  const record = (set: ChangeSet, accountId: string) =>
    set.record({ accountId, kind: 'allotments', id: accountId, action: 'edited' })
  return importingRows<AllotmentUse>({
    rowOf: importedUse,
    async find(accountId, id) {
      const { minute, allotment } = usePlaceIn(id)
      const seconds = await uses.used(accountId, allotment, { from: minute, to: minute + 1 })
      return seconds > 0 ? { accountId, allotment, minute, seconds } : undefined
    },
    isSame: (before, after) => before.seconds === after.seconds,
    put: (set, accountId, use) => record(uses.put(set, use), accountId),
    remove: (set, accountId, use) => record(uses.remove(set, use), accountId),
  })
}
