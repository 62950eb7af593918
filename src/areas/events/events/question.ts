import { sequenceOf } from '../../../events/events.ts'
import type { EventQuery } from '../../../events/store.ts'
import { invalid } from '../../../lib/failure.ts'
import { unixOfGregorian } from '../../../lib/gregorian.ts'
import { isTrue } from '../../../lib/json.ts'
import { timeBoundsIn } from '../../../lib/time-bounds.ts'

export type EventFilter = Omit<EventQuery, 'after' | 'limit'>

const maxTypes = 100

const typesIn = (query: URLSearchParams, names: ReadonlySet<string>): string[] => {
  const types = (query.get('type') ?? '').split(',').filter((type) => type !== '')
  const bad = types.find((type) => !names.has(type))
  const message = 'Unknown type of events. Use one of docs/reference/events.md, or <kind>.*'
  if (bad !== undefined) throw invalid({ type: { enum: { message, value: bad } } })
  const tooMany = { message: 'Too many types', target: maxTypes, value: types.length }
  if (types.length > maxTypes) throw invalid({ type: { maxItems: tooMany } })
  return types
}

const secondMs = 1000

/** Bounds of time are Gregorian seconds, both included. */
export const wantedIn = (
  query: URLSearchParams,
  { accountId, isTop }: { accountId: string; isTop: boolean },
  typeNames: ReadonlySet<string>,
): EventFilter => {
  const { from, to } = timeBoundsIn(query)
  return {
    accountId,
    isTop,
    below: isTrue(query.get('include_subaccounts')),
    types: typesIn(query, typeNames),
    recordId: query.get('record_id') ?? undefined,
    actorId: query.get('actor_id') ?? undefined,
    from: from === undefined ? undefined : unixOfGregorian(from) * secondMs,
    to: to === undefined ? undefined : (unixOfGregorian(to) + 1) * secondMs,
  }
}

/** 0: the first retained event; `now`: only future events. */
export const placeIn = (text: string | null | undefined, name: string): number | 'now' => {
  if (text === null || text === undefined || text === '') return 0
  if (text === 'now') return text
  const place = sequenceOf(text)
  if (place !== undefined) return place
  const pattern = {
    message: 'after: must be an event sequence number or now',
    target: 'sequence or now',
    value: text,
  }
  throw invalid({ [name]: { pattern } })
}
