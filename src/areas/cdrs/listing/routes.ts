import type { Cursor, Listing } from '../../../http/answer/listing.ts'
import type { Question } from '../../../lib/question.ts'
import { timedPlace, timeKey } from '../../../lib/time-key.ts'
import type { CdrRow } from '../columns.ts'
import { tellsCost, tellsPrice } from '../costs.ts'
import { askedOf, ownerAskedFor } from '../filters/rules.ts'
import type { Cdrs } from '../operations.ts'
import type { Place } from '../reading/rules.ts'
import { csvHeader, csvLineOf, filterableOf, pickableOf, rowTextOf } from '../rules.ts'
import type { RowView } from '../sheet/columns.ts'
import type { LegBatch, LineView, Reading, Scope } from '../store.ts'

// Legs and interactions as lists: pages, rows, filters and CSV lines for http/answer/listing.ts.

/** What is listed. */
interface Source {
  batch(scope: Scope, reading: Reading): Promise<LegBatch>
  lines(scope: Scope, place: Pick<Reading, 'after' | 'descending'>, view: LineView): AsyncIterable<Uint8Array>
  placeOf(leg: CdrRow): Place
  /** The scope after it has taken over filters, and the others. */
  narrow(scope: Scope, questions: readonly Question[]): { scope: Scope; left: readonly Question[] }
}

const cursorOf = ({ time, mark }: Place): Cursor => [timeKey(time), mark]

const listingOf = (source: Source, scope: Scope, view: RowView): Listing<CdrRow> => ({
  async page({ after, limit, descending, long }) {
    const reading = { after: timedPlace(after), limit, descending, long }
    const { items, next } = await source.batch(scope, reading)
    return { items, next: next && cursorOf(next) }
  },
  cursor: (leg) => cursorOf(source.placeOf(leg)),
  row: (leg) => rowTextOf(leg, view),
  record: (leg) => filterableOf(leg, view),
  pickable: (leg) => pickableOf(leg, view),
  narrowed(questions) {
    const { scope: narrower, left } = source.narrow(scope, askedOf(questions))
    return { listing: listingOf(source, narrower, view), left }
  },
  sheet: {
    header: csvHeader(view.forReseller),
    line: (leg) => csvLineOf(leg, view),
    lines: ({ after, descending }) => source.lines(scope, { after: timedPlace(after), descending }, view),
  },
})

// More would keep the store's threads from others: the rest is held against each record here, a few at a time.
const mostConditions = 20

const isHiddenAtTimes = (path: string) => {
  const key = path.slice(path.lastIndexOf('.') + 1)
  return tellsCost(key) || tellsPrice(key)
}

/** Filters on columns are left to the store; one that names a single owner becomes a walk along the owner's index. */
const narrowLegs = ({ legs }: Cdrs, { forReseller }: RowView): Source['narrow'] => {
  // Of what a caller does not always see the store knows too much: such questions are asked of the document.
  const isTaken = (question: Question) =>
    legs.isCondition(question) && (forReseller || !isHiddenAtTimes(question.key))
  return (scope, questions) => {
    const taken = questions.filter(isTaken).slice(0, mostConditions)
    const left = questions.filter((question) => !taken.includes(question))
    const ownerId = scope.ownerId ?? ownerAskedFor(taken)
    const narrower = { ...scope, questions: taken, ...(ownerId === undefined ? {} : { ownerId }) }
    return { scope: narrower, left }
  }
}

export const legListing = (cdrs: Cdrs, scope: Scope, view: RowView) =>
  listingOf(
    {
      ...cdrs.legs,
      placeOf: (leg) => ({ time: leg.created, mark: leg.id }),
      narrow: narrowLegs(cdrs, view),
    },
    scope,
    view,
  )

/** One row for each interaction. Filters look at the leg that stands for it. */
export const interactionListing = (cdrs: Cdrs, scope: Scope, view: RowView) =>
  listingOf(
    {
      ...cdrs.interactions,
      placeOf: (leg) => ({ time: leg.interaction_time, mark: leg.interaction_key }),
      narrow: (same, questions) => ({ scope: same, left: questions }),
    },
    scope,
    view,
  )
