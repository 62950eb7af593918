import { daySeconds, gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import { zip } from '../../../../lib/list.ts'
import type { CdrRow } from '../columns.ts'
import type { TimeWindow } from '../places.rules.ts'

// Statistics are kept while records come in: sums by quarter of an hour, and by day in UTC. Every time zone is a
// multiple of a quarter hour away from UTC, so the hours, days and months of all of them are sums of these.

export const quarterSeconds = 900

export const intervals = ['hour', 'day', 'month'] as const
export type Interval = (typeof intervals)[number]

export const groupings = ['call_direction', 'hangup_cause', 'owner_id', 'authorizing_id'] as const
export type Grouping = (typeof groupings)[number]

/** What a tally is kept by: `all` has one group, the empty text. */
export const dimensions = ['all', ...groupings] as const
export type Dimension = (typeof dimensions)[number]

type Sums = {
  calls: number
  answered: number
  duration_seconds: number
  billing_seconds: number
  cost: number
}

export const sumNames = [
  'calls',
  'answered',
  'duration_seconds',
  'billing_seconds',
  'cost',
] as const satisfies readonly (keyof Sums)[]

/** What a tally is known by, and how these are stored. The period is a quarter of an hour or a day; `start` is its first second. */
export const tallyKeys = {
  account_id: 'text',
  dimension: 'text',
  seconds: 'integer',
  group_value: 'text',
  start: 'integer',
} as const

/** The sums of one group of one dimension in one period: the values of `tallyKeys`, then the sums. */
type Tally = readonly (string | number)[]

/** What statistics look at. */
export type CountedLeg = Pick<
  CdrRow,
  Grouping | 'account_id' | 'created' | 'duration_seconds' | 'billing_seconds' | 'cost'
>

export const addSums = (to: Sums, from: Sums) => {
  for (const name of sumNames) to[name] += from[name]
}

const groupIn = (leg: CountedLeg, dimension: Dimension) => (dimension === 'all' ? '' : (leg[dimension] ?? ''))

const startIn = (seconds: number, at: number) => Math.floor(at / seconds) * seconds

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

/** What tallies of one dimension, length and group have in common. */
interface Row {
  accountId: string
  dimension: Dimension
  seconds: number
  group: string
}

/** Adds the tallies of legs in the order of time. They are plain lists of numbers from the start: there are ten of each leg. */
const addTallies = (
  tallies: Tally[],
  { accountId, dimension, seconds, group }: Row,
  legs: readonly CountedLeg[],
) => {
  for (let at = 0; at < legs.length; ) {
    const start = startIn(seconds, legs[at]?.created ?? 0)
    const end = start + seconds
    let [calls, answered, duration, billing, cost] = [0, 0, 0, 0, 0]
    for (; at < legs.length; at += 1) {
      const leg = legs[at] as CountedLeg
      if (leg.created >= end) break
      const billed = leg.billing_seconds ?? 0
      calls += 1
      // There is something to bill.
      if (billed > 0) answered += 1
      duration += leg.duration_seconds ?? 0
      billing += billed
      cost += leg.cost
    }
    tallies.push([accountId, dimension, seconds, group, start, calls, answered, duration, billing, cost])
  }
}

/** What these legs add to the statistics, in one order: writers that add to the same rows never wait for each other crosswise. */
export const talliesOf = (legs: readonly CountedLeg[]): Tally[] => {
  const tallies: Tally[] = []
  const accounts = [...Map.groupBy(legs, ({ account_id }) => account_id)]
  for (const [accountId, ofAccount] of accounts.sort(byName)) {
    const inTime = ofAccount.toSorted((a, b) => a.created - b.created)
    for (const dimension of dimensions) {
      const groups = [...Map.groupBy(inTime, (leg) => groupIn(leg, dimension))].sort(byName)
      for (const seconds of [quarterSeconds, daySeconds])
        for (const [group, some] of groups)
          addTallies(tallies, { accountId, dimension, seconds, group }, some)
    }
  }
  return tallies
}

/** A span of time; the end is not part of it. */
export interface Span {
  from: number
  end: number
}

/** What a chart is asked for. The offset is a multiple of a quarter hour. */
export interface Chart {
  span: Span
  interval: Interval
  utcOffset: number
  groupBy: Grouping | undefined
}

/** The quarter hours that a window touches. */
export const spanOf = ({ from, to }: TimeWindow): Span => ({
  from: Math.floor(from / quarterSeconds) * quarterSeconds,
  end: (Math.floor(to / quarterSeconds) + 1) * quarterSeconds,
})

const intervalSeconds = { hour: 3600, day: daySeconds } as const

/** How many seconds a chart spans at most: ten thousand hours or days, fifty years of months. */
export const maxSpanSeconds: Record<Interval, number> = {
  hour: 10_000 * 3600,
  day: 10_000 * daySeconds,
  month: 50 * 366 * daySeconds,
}

/** The first seconds of the months, by local time, that a span touches, and of the one behind them. */
const monthStarts = ({ from, end }: Span, utcOffset: number): number[] => {
  const local = new Date((from + utcOffset - gregorianUnixOffset) * 1000)
  const starts: number[] = []
  for (let month = local.getUTCMonth(); ; month += 1) {
    const start = Date.UTC(local.getUTCFullYear(), month, 1) / 1000 + gregorianUnixOffset - utcOffset
    starts.push(start)
    if (start >= end) return starts
  }
}

/**
 * Spans that are each read at once. Hours and days are told apart by arithmetic while reading; of a month, which has
 * none, `start` is the bucket.
 */
export interface ReadSpan extends Span {
  /** The start of the only bucket, or the length of the buckets. */
  bucket: { start: number } | { seconds: number }
}

export const readSpansOf = ({ span, interval, utcOffset }: Chart): ReadSpan[] => {
  if (interval !== 'month') return [{ ...span, bucket: { seconds: intervalSeconds[interval] } }]
  const starts = monthStarts(span, utcOffset)
  return Array.from(zip(starts.slice(0, -1), starts.slice(1)), ([start, next]) => ({
    from: Math.max(start, span.from),
    end: Math.min(next, span.end),
    bucket: { start },
  }))
}

/** A span of tallies of one length. */
export interface StatsBucket extends Span {
  seconds: number
}

const mayUseDays = (bucket: ReadSpan['bucket'], utcOffset: number) =>
  'start' in bucket || (bucket.seconds === daySeconds && utcOffset % daySeconds === 0)

/** A span as whole days of UTC, where a bucket is made of such, and the quarter hours before and behind them. */
export const piecesOf = ({ from, end, bucket }: ReadSpan, utcOffset: number): StatsBucket[] => {
  const firstDay = Math.ceil(from / daySeconds) * daySeconds
  const lastDay = Math.floor(end / daySeconds) * daySeconds
  if (!mayUseDays(bucket, utcOffset) || firstDay >= lastDay) return [{ seconds: quarterSeconds, from, end }]
  const pieces = [
    { seconds: quarterSeconds, from, end: firstDay },
    { seconds: daySeconds, from: firstDay, end: lastDay },
    { seconds: quarterSeconds, from: lastDay, end },
  ]
  return pieces.filter((piece) => piece.from < piece.end)
}

/** Sums of one bucket and group. */
export interface Cell extends Sums {
  start: number
  group_value: string
}

/** Rows of a chart: more are refused. */
export const maxCells = 100_000

const rounded = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals

const ratio = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)

/** A row as it is answered. */
export const statOf = ({ start, group_value, ...sums }: Cell, isGrouped: boolean) => ({
  start,
  calls: sums.calls,
  answered: sums.answered,
  answer_seizure_ratio: rounded(ratio(sums.answered, sums.calls), 4),
  // Of answered calls, from the answer on.
  average_call_duration: rounded(ratio(sums.billing_seconds, sums.answered), 2),
  duration_seconds: sums.duration_seconds,
  billing_seconds: sums.billing_seconds,
  cost: sums.cost,
  ...(isGrouped ? { group: group_value } : {}),
})

export const inOrder = (a: Cell, b: Cell) => a.start - b.start || (a.group_value < b.group_value ? -1 : 1)
