import type { Cursor, Listing } from '../../../http/response/listing.ts'
import type { movingBounds } from '../../../http/response/time-window.ts'
import type { ListQuery, Test } from '../../../lib/question.ts'
import { timedPlace, timeKey } from '../../../lib/time-key.ts'
import { type CdrRow, tellsCost, tellsPrice } from './columns.ts'
import type { Cdrs } from './operations.ts'
import { type ChunkRequest, type LineView, pageSources, type Scope } from './parts.sql.ts'
import type { CdrPlace, ListChunk, TimeWindow } from './places.rules.ts'
import { csvHeader, csvLineOf, filterableOf, pickableOf, rowTextOf } from './rules.ts'
import type { RowView } from './sheet/columns.ts'

const cdrId = /^\d{6}-(?=.)/s

const withoutMonth = (text: string) => text.replace(cdrId, '')

const withBareTexts = (test: Test): Test => {
  switch (test.is) {
    case 'oneOf':
    case 'notOneOf':
    case 'noneOf':
      return { is: test.is, texts: new Set([...test.texts].map(withoutMonth)) }
    case 'arrayOfAll':
    case 'arrayOfAny':
    case 'arrayOfNone':
      return { is: test.is, texts: test.texts.map(withoutMonth) }
    default:
      return test
  }
}

/** Call ids may be given as CDR ids. */
const withBareCallIds = ({ key, test }: ListQuery): ListQuery => ({
  key,
  test: key.endsWith('call_id') ? withBareTexts(test) : test,
})

// `created_from` and `created_to` are the range of the list.
const isRange = ({ key, test }: ListQuery) =>
  key === 'created' && (test.is === 'notBefore' || test.is === 'notAfter')

export const recordQueries = (questions: readonly ListQuery[]): ListQuery[] =>
  questions.filter((question) => !isRange(question)).map(withBareCallIds)

/** The owner, if the filters name exactly one. */
export const ownerIn = (questions: readonly ListQuery[]): string | undefined => {
  for (const { key, test } of questions) {
    if (key !== 'custom_channel_vars.owner_id' || test.is !== 'oneOf' || test.texts.size !== 1) continue
    const [only] = test.texts
    // The empty text also means records without an owner.
    if (only !== '') return only
  }
  return undefined
}

type MovingBounds = ReturnType<typeof movingBounds>

interface ListSource {
  name: string
  batch(scope: Scope, reading: ChunkRequest): Promise<ListChunk>
  /** Whether the account has records after the window. */
  hasLater?(scope: Scope): Promise<boolean>
  lines(
    scope: Scope,
    place: Pick<ChunkRequest, 'after' | 'descending'>,
    view: LineView,
  ): AsyncIterable<Uint8Array>
  placeOf(leg: CdrRow): CdrPlace
  /** Splits filters into those in the new scope and the others. */
  narrow(scope: Scope, questions: readonly ListQuery[]): { scope: Scope; left: readonly ListQuery[] }
}

const cursorOf = ({ time, mark }: CdrPlace): Cursor => [timeKey(time), mark]

/** A moving window is identified by its fixed part. */
const fixedBounds = ({ from, to }: TimeWindow, { end, start }: MovingBounds) => {
  if (start) return ['latest', to - from]
  return end ? ['since', from] : [from, to]
}

type Caching = Pick<Listing<CdrRow>, 'sources' | 'moving'>

const cachingOf = (source: ListSource, scope: Scope, { view, moving }: ListView): Caching => {
  const { name, placeOf, hasLater } = source
  const { accountId, ownerId, questions } = scope
  const { utcOffset, forReseller, omitsEmpty } = view
  const shown = [name, ownerId, ...fixedBounds(scope, moving), utcOffset, forReseller, omitsEmpty]
  const sources = { records: pageSources(accountId), view: shown }
  const timeOf = (leg: CdrRow) => placeOf(leg).time
  return {
    // A page with filters ends after a time limit, so it is not repeatable.
    ...(questions.length > 0 || (moving.end && !hasLater) ? {} : { sources }),
    ...(moving.end && hasLater
      ? { moving: { from: scope.from, timeOf, isAtEnd: async () => !(await hasLater(scope)) } }
      : {}),
  }
}

const listingOf = (source: ListSource, scope: Scope, manner: ListView): Listing<CdrRow> => ({
  async page({ after, limit, descending, long }) {
    const reading = { after: timedPlace(after), limit, descending, long }
    const { items, next } = await source.batch(scope, reading)
    return { items, next: next && cursorOf(next) }
  },
  cursor: (leg) => cursorOf(source.placeOf(leg)),
  row: (leg) => rowTextOf(leg, manner.view),
  record: (leg) => filterableOf(leg, manner.view),
  pickable: (leg) => pickableOf(leg, manner.view),
  ...cachingOf(source, scope, manner),
  narrowed(questions) {
    const { scope: narrower, left } = source.narrow(scope, recordQueries(questions))
    return { listing: listingOf(source, narrower, manner), left }
  },
  sheet: {
    header: csvHeader(manner.view.forReseller),
    line: (leg) => csvLineOf(leg, manner.view),
    lines: ({ after, descending }) =>
      source.lines(scope, { after: timedPlace(after), descending }, manner.view),
  },
})

// More conditions would block the store's threads: the others are checked here.
const maxConditions = 20

const isHiddenAtTimes = (path: string) => {
  const key = path.slice(path.lastIndexOf('.') + 1)
  return tellsCost(key) || tellsPrice(key)
}

/** Filters on columns become SQL. A filter on one owner uses the owner's index. */
const narrowLegs = ({ legs }: Cdrs, { forReseller }: RowView): ListSource['narrow'] => {
  // The caller does not always see these fields: such filters use the document.
  const isTaken = (question: ListQuery) =>
    legs.isCondition(question) && (forReseller || !isHiddenAtTimes(question.key))
  return (scope, questions) => {
    const taken = questions.filter(isTaken).slice(0, maxConditions)
    const left = questions.filter((question) => !taken.includes(question))
    const ownerId = scope.ownerId ?? ownerIn(taken)
    const narrower = { ...scope, questions: taken, ...(ownerId === undefined ? {} : { ownerId }) }
    return { scope: narrower, left }
  }
}

interface ListView {
  view: RowView
  moving: MovingBounds
}

export const legListing = (cdrs: Cdrs, scope: Scope, manner: ListView) =>
  listingOf(
    {
      ...cdrs.legs,
      name: 'legs',
      placeOf: (leg) => ({ time: leg.created, mark: leg.id }),
      narrow: narrowLegs(cdrs, manner.view),
    },
    scope,
    manner,
  )

/** One row for each interaction. Filters apply to its first leg. */
export const interactionListing = (cdrs: Cdrs, scope: Scope, manner: ListView) =>
  listingOf(
    {
      ...cdrs.interactions,
      name: 'interactions',
      placeOf: (leg) => ({ time: leg.interaction_time, mark: leg.interaction_key }),
      narrow: (same, questions) => ({ scope: same, left: questions }),
    },
    scope,
    manner,
  )
