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

const upkeepAuthor: Author = { requestId: 'phone-numbers' }

// Numbers of one write.
const numbersPerUpkeep = 200
// An account with more numbers releases them in several writes: one would block other writers for seconds.
const maxInOneWrite = 2000

const inSequence = async <T>(found: readonly NumberRecord[], plan: (number: NumberRecord) => Promise<T>) => {
  const plans: T[] = []
  for (const number of found) plans.push(await plan(number))
  return plans
}

/** Aged numbers become available. Discovered and deleted ones leave the inventory. */
const createExpiry = ({ store, settings, numbers }: Omit<Deps, 'findDevice'>): ScheduledJob => {
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

  return {
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
        let isMore = true
        while (isMore && !signal.aborted) {
          const found = await numbers.store.passed(state, before, numbersPerUpkeep)
          const view = numbers.view()
          await commitGuarded(await inSequence(found, (number) => end(view, upkeepAuthor, number)), guard)
          isMore = found.length === numbersPerUpkeep
        }
      }
    },
  }
}

/** Releases the numbers of a deleted account. */
const createRemoval = (numbers: Numbers): Attached => {
  const releaseSome = (author: Author, accountId: string) =>
    retrying(async () => {
      const found = await numbers.store.page({ accountId, limit: numbersPerUpkeep, descending: false })
      const view = numbers.view()
      const release = (number: NumberRecord) =>
        numbers.addRelease(view, new ChangeSet(author), number, accountId)
      await numbers.commit(...(await inSequence(found, release)))
    })

  return {
    async removeWith(set, { accountId }) {
      while ((await numbers.store.countOf(accountId, maxInOneWrite + 1)) > maxInOneWrite)
        await releaseSome(set.author, accountId)
      const view = numbers.view()
      for await (const found of numbers.store.pages(accountId, numbersPerUpkeep))
        for (const number of found) await numbers.addRelease(view, set, number, accountId)
      numbers.store.requireNone(set, accountId)
    },
  }
}

export type NumberUpkeep = ReturnType<typeof createNumberUpkeep>

/** Repairs, the end of aging and discovery, and the removal of accounts. */
export const createNumberUpkeep = (deps: Deps) => {
  const { numbers, findDevice } = deps

  const planRepairs = async (author: Author, found: readonly NumberRecord[]) => {
    const view = await numbers.preload(found.map(({ id }) => id))
    const plans = await inSequence(found, async ({ id, accountId }) => {
      const current = await view.get(id)
      return current?.accountId === accountId ? numbers.repair(view, author, current, findDevice) : []
    })
    return plans.flat()
  }

  const repairAll = async (author: Author, found: readonly NumberRecord[]) =>
    numbers.commit(...(await planRepairs(author, found)))

  /** Steps of a migration, each a page of an account. `plan` gives the id of a number whose new name exists. */
  const steps =
    (
      plan: (author: Author, found: NumberRecord[]) => Promise<readonly (NumberPlan | string)[]>,
    ): StepwiseWork =>
    async (author, { id: accountId }, after) => {
      const page = { accountId, after, limit: numbersPerUpkeep, descending: false, long: true }
      const found = await numbers.store.page(page)
      const plans = await plan(author, found)
      const sets = plans.flatMap((one) => (typeof one === 'object' && one.set ? [one.set] : []))
      const taken = plans.filter((one) => typeof one === 'string')
      const last = found.length === numbersPerUpkeep ? found.at(-1)?.id : undefined
      return {
        sets,
        changed: sets.length,
        ...(last === undefined ? {} : { next: last }),
        ...(taken.length > 0 ? { problem: `there already under the new form: ${taken.join(', ')}` } : {}),
      }
    }

  return {
    expiry: createExpiry(deps),
    leaving: createRemoval(numbers),

    /** Updates what follows from settings and other records. */
    async fix(author: Author, account: AccountRecord) {
      for await (const found of numbers.store.pages(account.id, numbersPerUpkeep))
        await retrying(() => repairAll(author, found))
    },

    /** The same in steps of a migration. */
    repair: steps(planRepairs),

    /** Applies the present rules. A number whose new name exists stays as it is. */
    renormalise: steps(async (author, found) => {
      const view = numbers.view()
      return inSequence(found, async (stored) => {
        const plan = await numbers.renormalise(view, author, stored)
        return plan === 'taken' ? stored.id : plan
      })
    }),

    async fixOne(author: Author, account: AccountRecord, text: string) {
      const number = await numbers.reconcile(text)
      const found = await numbers.find(account.id, number)
      if (!found) throw failure(numberNotFound, { number })
      await repairAll(author, [found])
    },
  }
}
