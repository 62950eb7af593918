import type { AccountRecord } from '../../auth/identity.ts'
import { failure } from '../../lib/failure.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../storage/store.ts'
import { createArrivals } from './arrivals.ts'
import { createNumberBook } from './book.ts'
import { createChanges } from './changes.ts'
import { createDepartures } from './departures.ts'
import type { NumberFeatures } from './features/operations.ts'
import type { NumberPlanning } from './numbering/operations.ts'
import type { CarrierDesk, NumberCaller, NumberPlan } from './requests.ts'
import { maySee } from './rules.ts'
import type { NumberRecord } from './store.ts'
import { createNumberView, type NumberView } from './view.ts'

export type { MobileNumbers } from './mobile/operations.ts'
export type { NumberCaller, NumberPlan, NumberRequest } from './requests.ts'
export type { NumberRecord, NumberView }

interface Tools {
  store: Store
  settings: Settings
  planning: NumberPlanning
  features: NumberFeatures
  desk: CarrierDesk
  findAccount(id: string): Promise<AccountRecord | undefined>
}

export type Numbers = ReturnType<typeof createNumbers>

/** The inventory of phone numbers: what may happen to a number, planned first and then committed. */
export const createNumbers = ({ store, settings, planning, features, desk, findAccount }: Tools) => {
  const book = createNumberBook({ store, planning, findAccount })
  const { numbers } = book
  const arrivals = createArrivals({ settings, planning, features, desk, book })
  const departures = createDepartures({ settings, features, desk, book, findAccount })
  const changes = createChanges({ features, book, planning })
  const { addRelease, free, drop, ...leaving } = departures
  const { repair, renormalise, addMobile, removeMobile, ...changing } = changes

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
        throw failure('number_not_found', { number })
      return stored
    },

    /** Carries out what was planned. */
    async commit(...plans: readonly NumberPlan[]) {
      const sets = plans.flatMap(({ set }) => (set ? [set] : []))
      if (sets.length > 0) await store.commit(...sets)
    },
  }
}
