import { gregorianNow } from '../../../../lib/gregorian.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { AreaDeps } from '../../../area.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import type { CdrRow } from '../columns.ts'
import { callRecordSettings } from '../settings.ts'
import { interactionOf, isIgnored, type Leg, Rejection, rowOf } from './rules.ts'
import { createIntakeStore, recordAdded, rowKeyOf } from './store.ts'

interface Deps extends Pick<AreaDeps, 'store' | 'settings'> {
  archive?: Pick<ArchiveReading, 'find'>
}

/** A leg with a validated record: it is not validated again. */
export type ImportedLeg = Pick<Leg, 'accountId' | 'record'>

type JudgedLeg = { row: CdrRow } | { rejected: string } | 'ignored'

export type LegImporter = ReturnType<typeof createLegImporter>

/** Stores the history of another system. It is not billed and sends no events. */
export const createLegImporter = ({ store, settings, archive }: Deps) => {
  const legs = createIntakeStore(store, archive)

  return {
    /** Returns a function that converts legs by the current settings. */
    async judging() {
      const ignored = await settings.of(callRecordSettings)
      const now = gregorianNow(store.clock)
      return (leg: ImportedLeg): JudgedLeg => {
        if (isIgnored(leg.record, ignored)) return 'ignored'
        try {
          return { row: rowOf(leg, interactionOf(leg.record), now) }
        } catch (error) {
          if (error instanceof Rejection) return { rejected: error.message }
          throw error
        }
      }
    },

    /**
     * Adds rows of one account to a change set that the caller commits with `store.adopt`. Without `looksFirst` the
     * commit is a conflict if a leg exists.
     */
    async add(set: ChangeSet, rows: readonly CdrRow[], { looksFirst }: { looksFirst: boolean }) {
      // Archived and dropped months of other processes must be known.
      if (looksFirst) await store.fence()
      const firsts = new Map<string, CdrRow>()
      const keys = rows.map((row) => {
        const key = rowKeyOf(row)
        if (firsts.has(key)) return undefined
        firsts.set(key, row)
        return key
      })
      const { added, stored } = await legs.add(set, [...firsts.values()], { looks: looksFirst })
      const [first] = added
      if (first) recordAdded(store, set, first.account_id, added)
      return keys.map((key) => (key === undefined || stored.has(key) ? 'duplicate' : 'accepted'))
    },
  }
}
