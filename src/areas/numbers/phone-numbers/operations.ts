import type { AccountRecord } from '../../../auth/identity.ts'
import type { Queue } from '../../../jobs/queue.ts'
import { type Failure, failure } from '../../../lib/failure.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Store } from '../../../storage/store.ts'
import { createAssignments } from './arrivals.ts'
import { createChanges } from './changes.ts'
import { createReleases } from './departures.ts'
import { createNumberJobs } from './errands.ts'
import { numberNotFound } from './failures.ts'
import type { NumberFeatures } from './features/operations.ts'
import type { FeatureProvider } from './features/providers.ts'
import type { CarrierRequests, NumberCaller, NumberPlan } from './number-facts.ts'
import type { NumberPlanning } from './numbering/operations.ts'
import { createNumberPlanner, createNumberView, type NumberView } from './planner.ts'
import { maySee } from './rules.ts'
import type { NumberRecord } from './store.ts'

export type { NumberCaller, NumberPlan, NumberRequest } from './number-facts.ts'
export type { NumberRecord, NumberView }

interface Deps {
  store: Store
  queue: Queue
  settings: Settings
  planning: NumberPlanning
  features: NumberFeatures
  provider: FeatureProvider
  desk: CarrierRequests
  findAccount(id: string): Promise<AccountRecord | undefined>
}

/** What became of a plan. */
export type Performed = NumberPlan & { refusal?: Failure }

export type Numbers = ReturnType<typeof createNumbers>

/** The inventory of phone numbers: what may happen to a number, planned first and then committed. */
export const createNumbers = (tools: Deps) => {
  const { store, queue, settings, planning, features, provider, desk, findAccount } = tools
  const book = createNumberPlanner({ store, planning, findAccount })
  const { numbers } = book
  const { clock } = store
  const arrivals = createAssignments({ clock, settings, planning, features, desk, book })
  const departures = createReleases({ clock, settings, features, desk, book, findAccount })
  const errands = createNumberJobs({ store, queue, desk, book, provider })
  const changes = createChanges({ features, book, planning })
  const { addRelease, free, drop, ...leaving } = departures
  const { repair, renormalise, addMobile, removeMobile, addUse, ...changing } = changes

  /** Writes what was planned. */
  const commit = async (...plans: readonly NumberPlan[]) => {
    const sets = plans.flatMap(({ set }) => (set ? [set] : []))
    if (sets.length > 0) await store.commit(...sets)
  }

  return {
    store: numbers,
    /** What can be asked for. A plan throws what speaks against it; nothing happens before it is committed. */
    plan: { ...arrivals, ...changing, ...leaving },
    planning,
    features,
    addRelease,
    free,
    drop,
    repair,
    renormalise,
    addMobile,
    removeMobile,
    addUse,
    find: numbers.find,
    findAnywhere: numbers.findAnywhere,
    normalize: planning.normalize,
    reconcile: planning.reconcile,
    view: () => createNumberView(numbers),

    /** The numbers of a batch, read at once. */
    async preload(texts: readonly string[]): Promise<NumberView> {
      const { normalize } = await planning.rules()
      const wantedOnes = [...new Set(texts.map(normalize))]
      const found = await numbers.findSeveral(wantedOnes)
      return createNumberView(numbers, new Map(wantedOnes.map((number) => [number, found.get(number)])))
    },

    /** A number that the caller may know of. */
    async visible(view: NumberView, by: NumberCaller, text: string): Promise<NumberRecord> {
      const number = await planning.reconcile(text)
      const stored = await view.get(number)
      if (!stored || !maySee(stored, await book.standingOf(by, stored.accountId, by.account)))
        throw failure(numberNotFound, { number })
      return stored
    },

    errands,
    commit,

    /** Carries out what was planned, and asks carriers for what it orders. What they refuse has been undone. */
    async perform(...plans: readonly NumberPlan[]): Promise<Performed[]> {
      await commit(...plans)
      const orders = plans.flatMap(({ order }) => (order === undefined ? [] : [order]))
      if (orders.length === 0) return [...plans]
      const ended = await errands.carryOut(orders)
      const current = await numbers.findSeveral(plans.map(({ number }) => number.id))
      return plans.map((plan) => {
        const { order, number } = plan
        if (order === undefined) return plan
        if (ended.get(order) === 'refused') return { ...plan, refusal: errands.refusal(number.id) }
        return { ...plan, number: current.get(number.id) ?? number }
      })
    },
  }
}
