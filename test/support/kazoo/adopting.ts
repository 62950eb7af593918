import { hash } from 'node:crypto'
import type { ImportedRecord, Importer } from '../../../src/areas/adoption.ts'
import { area } from '../../../src/areas/area.ts'
import { ChangeSet, systemScope } from '../../../src/storage/change-set.ts'
import type { World } from '../world/world.ts'

/** What arrives, and which adoption takes it. */
export type Arriving = Partial<ImportedRecord> &
  Pick<ImportedRecord, 'accountId' | 'id' | 'doc'> & { as: string }

/** A moment before any test's own: Gregorian seconds. */
export const once = 63_800_000_000

const arrivalOf = ({ as: _, ...given }: Arriving): ImportedRecord => {
  const whole = { created: once, modified: once + 1, facts: {}, files: [], ...given }
  const revision = hash('sha256', JSON.stringify(whole), 'hex').slice(0, 32)
  return { revision, ...whole }
}

export type Taker = ReturnType<typeof createTaker>

/** Imports records unchanged, like an import run. `area` is an additional area of a world. */
export const createTaker = () => {
  let known: Readonly<Record<string, Importer>> = {}

  const adoptionOf = (as: string) => {
    const adoption = known[as]
    if (!adoption) throw new Error(`no importer for ${as}`)
    return adoption
  }

  const inOneSet = () => {
    const set = new ChangeSet({ requestId: 'taker' })
    set.summary = { accountId: systemScope, kind: 'taker', id: 'taker', action: 'created' }
    return set
  }

  return {
    area: area({
      name: 'taker',
      collects: ['adoptions'],
      create(_tools, _needs, { adoptions }) {
        known = adoptions
        return {}
      },
    }),

    adoptionOf,
    arrivalOf,

    /** Imports all of them in one write. Returns which ones were new or changed. */
    async take({ server }: Pick<World, 'server'>, ...arriving: readonly Arriving[]): Promise<boolean[]> {
      const arrivals = arriving.map((one) => ({ adoption: adoptionOf(one.as), arrival: arrivalOf(one) }))
      for (const [adoption, group] of Map.groupBy(arrivals, (one) => one.adoption))
        await adoption.prepare?.(group.map(({ arrival }) => arrival))
      const set = inOneSet()
      const taken: boolean[] = []
      for (const { adoption, arrival } of arrivals) taken.push(await adoption.put(set, arrival))
      if (taken.includes(true)) await server.store.adopt(set)
      return taken
    },

    async remove(
      { server }: Pick<World, 'server'>,
      as: string,
      place: Pick<ImportedRecord, 'accountId' | 'id'>,
    ) {
      const set = inOneSet()
      const isRemoved = await adoptionOf(as).remove(set, place)
      if (isRemoved) await server.store.adopt(set)
      return isRemoved
    },
  }
}
