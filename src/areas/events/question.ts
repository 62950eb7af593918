import { isTypeName, sequenceOf } from '../../events/events.ts'
import type { FeedQuestion } from '../../events/store.ts'
import { invalid } from '../../lib/failure.ts'
import { unixOfGregorian } from '../../lib/gregorian.ts'
import { isTrue } from '../../lib/json.ts'

/** What is asked of the feed, without where it goes on. */
export type Wanted = Omit<FeedQuestion, 'after' | 'limit'>

const mostTypes = 100

const typesIn = (query: URLSearchParams): string[] => {
  const types = (query.get('type') ?? '').split(',').filter((type) => type !== '')
  const bad = types.find((type) => !isTypeName(type))
  if (bad !== undefined)
    throw invalid({
      type: {
        pattern: { message: 'Types are <kind>.<what> or <kind>.*', target: '<kind>.<what>', value: bad },
      },
    })
  if (types.length > mostTypes)
    throw invalid({
      type: { maxItems: { message: 'Too many types', target: mostTypes, value: types.length } },
    })
  return types
}

const timeIn = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return unixOfGregorian(Number(text)) * 1000
  throw invalid({
    [name]: { type: { message: 'Value is not of the right type', target: 'integer', value: text } },
  })
}

const secondMs = 1000

/** Reads what a feed is asked for. Bounds of time are Gregorian seconds, both included. */
export const wantedIn = (query: URLSearchParams, accountId: string, isTop: boolean): Wanted => {
  const to = timeIn(query, 'created_to')
  return {
    accountId,
    isTop,
    below: isTrue(query.get('include_subaccounts')),
    types: typesIn(query),
    recordId: query.get('record_id') ?? undefined,
    actorId: query.get('actor_id') ?? undefined,
    from: timeIn(query, 'created_from'),
    to: to === undefined ? undefined : to + secondMs,
  }
}

/** The place behind which to begin: 0 is the beginning of what is kept, and `now` what comes. */
export const placeIn = (text: string | null | undefined, name: string): number | 'now' => {
  if (text === null || text === undefined || text === '') return 0
  if (text === 'now') return text
  const place = sequenceOf(text)
  if (place !== undefined) return place
  throw invalid({
    [name]: {
      pattern: { message: 'Value is no sequence of the feed', target: 'sequence or now', value: text },
    },
  })
}
