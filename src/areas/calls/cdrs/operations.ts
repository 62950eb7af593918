import { badIdentifier, failure, isFailure, missingParameter } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { AreaDeps } from '../../area.ts'
import type { ArchiveMetrics } from './archive/files.ts'
import type { ArchiveReading } from './archive/reading.ts'
import { callArchiveUnreachable } from './failures.ts'
import { createInteractionStore } from './interactions.sql.ts'
import type { Scope } from './parts.sql.ts'
import type { CdrPlace } from './places.rules.ts'
import { byChannelTime, interactionOf, isCdrId, shownDocumentOf } from './rules.ts'
import { callListSettings } from './settings.ts'
import type { RowView } from './sheet/columns.ts'
import { createCdrStore } from './store.ts'
import { addGroup, createSummaryStore, emptySummary, type Summary } from './summary.sql.ts'

type CostView = Pick<RowView, 'forReseller'>

export type Cdrs = ReturnType<typeof createCdrs>

const legsAtOnce = 100

const legNotFound = (message: string) => failure(missingParameter, { message })

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'log'> {
  archive: ArchiveReading
  metrics: Pick<ArchiveMetrics, 'untold'>
}

/** Reads call detail records. */
export const createCdrs = ({ store, settings, archive, metrics, log }: Deps) => {
  const legs = createCdrStore(store, archive)
  const interactions = createInteractionStore(store, archive)
  const summaries = createSummaryStore(store, legs)

  const placeNamed = async (accountId: string, id: string): Promise<CdrPlace> => {
    if (isCdrId(id)) {
      const leg = await legs.find(accountId, id)
      if (!leg) throw legNotFound('could not find legs for supplied id')
      return { time: leg.interaction_time, mark: leg.interaction_key }
    }
    const interaction = interactionOf(id)
    if (!interaction) throw failure(badIdentifier, { cause: id })
    return interaction
  }

  return {
    legs,
    interactions,

    async rules() {
      const [crossbar, own] = await Promise.all([
        settings.of(crossbarSettings),
        settings.of(callListSettings),
      ])
      return {
        maximumRange: own.maximum_range ?? crossbar.maximum_range,
        omitsEmpty: own.should_filter_empty_strings,
      }
    },

    async document(accountId: string, id: string, view: CostView): Promise<Json> {
      if (!isCdrId(id)) throw legNotFound('could not find cdr with supplied id')
      const leg = await legs.find(accountId, id)
      if (!leg) throw failure(badIdentifier, { cause: id })
      return shownDocumentOf(leg, view)
    },

    /**
     * The records for event subscribers, as the account sees them. Undefined for deleted records, and for those in a
     * file that cannot be read: events do not wait for the archive.
     */
    async texts(accountId: string, ids: readonly string[]): Promise<(string | undefined)[]> {
      const untold: string[] = []
      const textOf = async (id: string) => {
        try {
          const leg = await legs.find(accountId, id)
          return leg && JSON.stringify(shownDocumentOf(leg, { forReseller: false }))
        } catch (error) {
          if (!isFailure(error, callArchiveUnreachable)) throw error
          untold.push(id)
          return undefined
        }
      }
      const texts = await Promise.all(ids.map(textOf))
      if (untold.length > 0) {
        metrics.untold(untold.length)
        const facts = { account_id: accountId, records: untold.sort() }
        log.write('warn', 'events are sent without their call records', facts)
      }
      return texts
    },

    /** All legs of an interaction, named by its id or the id of a leg, in batches. */
    async *legDocuments(
      accountId: string,
      id: string,
      { order, ...view }: CostView & { order: 'newest first' | 'oldest first' },
    ): AsyncGenerator<Json[]> {
      const place = await placeNamed(accountId, id)
      const places = (await legs.legPlaces(accountId, place)).sort(byChannelTime)
      const ids = (order === 'newest first' ? places.reverse() : places).map((leg) => leg.id)
      for (let at = 0; at < ids.length; at += legsAtOnce) {
        const some = ids.slice(at, at + legsAtOnce)
        const found = new Map((await legs.legs(accountId, place, some)).map((leg) => [leg.id, leg]))
        yield some.flatMap((one) => found.get(one) ?? []).map((leg) => shownDocumentOf(leg, view))
      }
    },

    async summary(scope: Omit<Scope, 'questions'>): Promise<Summary> {
      const summary = emptySummary()
      for await (const groups of summaries.groups({ ...scope, questions: [] }))
        for (const group of groups) addGroup(summary, group)
      return summary
    },
  }
}
