import type { AccountRecord } from '../../../auth/identity.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import type { StepwiseWork } from '../../../jobs/steps.ts'
import { failure } from '../../../lib/failure.ts'
import { daySeconds, gregorianNow } from '../../../lib/gregorian.ts'
import type { Attached } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import { isConflict, retrying } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { numberNotFound } from './failures.ts'
import type { NumberPlan, NumberRecord, Numbers } from './operations.ts'
import { numberManagerSettings } from './settings.ts'

interface Deps extends DepsOf<'store' | 'settings'> {
  numbers: Numbers
  findDevice(accountId: string, deviceId: string): Promise<object | undefined>
}

const upkeepAuthor: Author = { requestId: 'round/phone-numbers' }

// Numbers of one write.
const numbersPerUpkeep = 200
// An account with more numbers releases them in several writes: one would block other writers for seconds.
const maxInOneWrite = 2000

export type NumberUpkeep = ReturnType<typeof createNumberUpkeep>

/** Repairs, the end of aging and discovery, and the removal of accounts. */
export const createNumberUpkeep = ({ store, settings, numbers, findDevice }: Deps) => {
  const planRepairs = async (author: Author, found: readonly NumberRecord[]) => {
    const view = await numbers.preload(found.map(({ id }) => id))
    const plans: NumberPlan[] = []
    for (const { id, accountId } of found) {
      const current = await view.get(id)
      if (current?.accountId === accountId)
        plans.push(await numbers.repair(view, author, current, findDevice))
    }
    return plans
  }

  const repairAll = async (author: Author, found: readonly NumberRecord[]) =>
    numbers.commit(...(await planRepairs(author, found)))

  const pageAt = async ({ id: accountId }: AccountRecord, after: string | undefined) => {
    const page = { accountId, after, limit: numbersPerUpkeep, descending: false, long: true }
    const found = await numbers.store.page(page)
    const last = found.length === numbersPerUpkeep ? found.at(-1)?.id : undefined
    return { found, further: last === undefined ? {} : { next: last } }
  }

  const stepOf = (plans: readonly NumberPlan[]) => {
    const sets = plans.flatMap(({ set }) => (set ? [set] : []))
    return { sets, changed: sets.length }
  }

  const releaseSome = (author: Author, accountId: string) =>
    retrying(async () => {
      const found = await numbers.store.page({ accountId, limit: numbersPerUpkeep, descending: false })
      const view = numbers.view()
      const plans: NumberPlan[] = []
      for (const number of found)
        plans.push(await numbers.addRelease(view, new ChangeSet(author), number, accountId))
      await numbers.commit(...plans)
      return found.length
    })

  /** If another writer took one of the numbers, each is committed separately. */
  const commitGuarded = async (plans: readonly NumberPlan[], guard: Statement) => {
    const statements = plans.find(({ set }) => set)?.set?.statements
    if (statements?.includes(guard) === false) statements.push(guard)
    try {
      await numbers.commit(...plans)
    } catch (error) {
      if (!isConflict(error)) throw error
      for (const plan of plans.length > 1 ? plans : []) await commitGuarded([plan], guard)
    }
  }

  /** False: no more numbers. */
  const endSome = async (found: readonly NumberRecord[], guard: Statement, end: typeof numbers.drop) => {
    const view = numbers.view()
    const plans: NumberPlan[] = []
    for (const number of found) plans.push(await end(view, upkeepAuthor, number))
    await commitGuarded(plans, guard)
    return found.length === numbersPerUpkeep
  }

  /** Aged numbers become available. Discovered and deleted ones leave the inventory. */
  const round: ScheduledJob = {
    name: 'phone-numbers',
    everySeconds: daySeconds,
    async run(signal, guard) {
      const { aging_expiry_d, discovery_expiry_d } = await settings.of(numberManagerSettings)
      const passes = [
        ['deleted', 0, numbers.drop],
        ['discovery', discovery_expiry_d, numbers.drop],
        ['aging', aging_expiry_d, numbers.free],
      ] as const
      for (const [state, days, end] of passes) {
        const before = gregorianNow(store.clock) - days * daySeconds
        const expired = () => numbers.store.passed(state, before, numbersPerUpkeep)
        while (!signal.aborted && (await endSome(await expired(), guard, end)));
      }
    },
  }

  const leaving: Attached = {
    async removeWith(set, { accountId }) {
      while ((await numbers.store.countOf(accountId, maxInOneWrite + 1)) > maxInOneWrite)
        await releaseSome(set.author, accountId)
      const view = numbers.view()
      for await (const found of numbers.store.pages(accountId, numbersPerUpkeep))
        for (const number of found) await numbers.addRelease(view, set, number, accountId)
      numbers.store.requireNone(set, accountId)
    },
  }

  return {
    round,
    leaving,

    /** Updates what follows from settings and other records. */
    async fix(author: Author, account: AccountRecord) {
      for await (const found of numbers.store.pages(account.id, numbersPerUpkeep))
        await retrying(() => repairAll(author, found))
    },

    /** The same in steps of a migration. */
    repair: (async (author, account, position) => {
      const { found, further } = await pageAt(account, position)
      return { ...stepOf(await planRepairs(author, found)), ...further }
    }) satisfies StepwiseWork,

    /** Applies the present rules. A number whose new name exists stays as it is. */
    renormalise: (async (author, account, position) => {
      const { found, further } = await pageAt(account, position)
      const taken: string[] = []
      const plans: NumberPlan[] = []
      const view = numbers.view()
      for (const stored of found) {
        const plan = await numbers.renormalise(view, author, stored)
        if (plan === 'taken') taken.push(stored.id)
        else plans.push(plan)
      }
      const problem =
        taken.length > 0 ? { problem: `there already under the new form: ${taken.join(', ')}` } : {}
      return { ...stepOf(plans), ...further, ...problem }
    }) satisfies StepwiseWork,

    async fixOne(author: Author, account: AccountRecord, text: string) {
      const number = await numbers.reconcile(text)
      const found = await numbers.find(account.id, number)
      if (!found) throw failure(numberNotFound, { number })
      await repairAll(author, [found])
    },
  }
}
