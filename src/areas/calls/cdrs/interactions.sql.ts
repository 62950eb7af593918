import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from './archive/reading.ts'
import {
  type AddParam,
  createPartLists,
  inPartSql,
  interactionOrder,
  type ListPart,
  orderBy,
  ownedBy,
  type Scope,
} from './parts.sql.ts'
import { monthsOfInteractions, type TimeStretch, windowOf } from './places.rules.ts'
import { byChannelTime } from './rules.ts'
import { usualTrial } from './store.ts'

// The same order as `byChannelTime` in rules.ts.
const channelTime = `COALESCE(channel_created_time,
  (created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset}) * 1000000)`
const firstChannel = `ORDER BY ${channelTime},
  CASE loopback_leg WHEN 'A' THEN 0 WHEN 'B' THEN 1 ELSE 2 END, id LIMIT 1`

/** Interactions, each shown by the leg with the first channel. */
export const createInteractionStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store

  const placesOf = (part: ListPart, mark: AddParam) => {
    const rows = inPartSql(part, interactionOrder, mark)
    return (from: string) =>
      `SELECT DISTINCT interaction_time AS found_time, interaction_key AS found_key FROM ${from}
        WHERE ${rows} ${orderBy(interactionOrder, part.descending)}`
  }

  /** The first leg of each interaction. */
  const rowsOf = (part: ListPart, limit: number | undefined, mark: AddParam) => {
    const found = placesOf(part, mark)
    const held = ownedBy(part.scope, mark)
    const scope = `account_id = ${mark(part.scope.accountId)}`
    const bound = limit === undefined ? '' : `LIMIT ${mark(limit)}`
    // Without MATERIALIZED PostgreSQL searches all legs of the account.
    const firsts = (from: string) => `(WITH firsts AS MATERIALIZED (
        SELECT found_time, found_key, (
          SELECT id FROM ${from} WHERE ${held}
            AND interaction_time = found_time AND interaction_key = found_key ${firstChannel}) AS first_id
        FROM (${found(from)} ${bound}) AS found) SELECT * FROM firsts) AS firsts`
    const order = orderBy({ time: 'found_time', mark: 'found_key' }, part.descending)
    return (from: string) =>
      `FROM ${words.withRows({ given: firsts(from), from, scope, key: 'id', is: 'first_id' })} ${order}`
  }

  /** An interaction is in the month of its time. */
  const sight = async (scope: Scope) => {
    const range = monthsOfInteractions(scope)
    // Before the files: see `sight` in store.ts.
    const archived = await cdrs.archivedMonths()
    const files = (await archive?.partsOf(scope.accountId, range)) ?? []
    const stored = await cdrs.read({ ...range, archived }, async (_from, months) => months)
    const months = [...new Set([...stored, ...files.map(({ month }) => month)])].sort((a, b) => a - b)
    const stretches = months.map((month): TimeStretch => {
      const { from, to } = windowOf(month)
      return { from: Math.max(from, scope.from), to: Math.min(to, scope.to), months: [month] }
    })
    const filesOf = ({ months: [of] }: TimeStretch) => files.filter(({ month }) => month === of)
    return { stretches, archived, filesOf }
  }

  const { batch, lines } = createPartLists(
    store,
    {
      placeOf: (leg) => ({ time: leg.interaction_time, mark: leg.interaction_key }),
      sight,
      placesOf,
      rowsOf,
      lineOrder: { orderedBy: ['found_time', 'found_key'], byBlock: false },
      archived: archive?.interactions,
      // Some legs may be in files and others, that arrived late, in the store.
      choose: (a, b) => (byChannelTime(a, b) <= 0 ? a : b),
    },
    triedAtOnce,
  )
  return { batch, lines }
}
