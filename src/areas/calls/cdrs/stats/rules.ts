import { daySeconds, gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import { zip } from '../../../../lib/list.ts'
import type { CdrRow } from '../columns.ts'
import type { TimeWindow } from '../places.rules.ts'

// Statistics are sums by quarter hour and by UTC day. Time zones differ by quarter hours, so their hours, days and
// months are sums of these.

export const quarterSeconds = 900

export const intervals = ['hour', 'day', 'month'] as const
export type Interval = (typeof intervals)[number]

export const groupings = ['call_direction', 'hangup_cause', 'owner_id', 'authorizing_id'] as const
export type Grouping = (typeof groupings)[number]

/** `all` has one group, the empty text. */
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

/** The key columns. `seconds` is 900 or 86,400, `start` the first second of the period. */
export const tallyKeys = {
  account_id: 'text',
  dimension: 'text',
  seconds: 'integer',
  group_value: 'text',
  start: 'integer',
} as const

/** The values of `tallyKeys`, then the sums. */
type Tally = readonly (string | number)[]

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

interface TotalsKey {
  accountId: string
  dimension: Dimension
  seconds: number
  group: string
}

/** Adds the totals of legs, ordered by time, as plain lists: each leg is part of ten. */
const addTallies = (
  tallies: Tally[],
  { accountId, dimension, seconds, group }: TotalsKey,
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
      if (billed > 0) answered += 1
      duration += leg.duration_seconds ?? 0
      billing += billed
      cost += leg.cost
    }
    tallies.push([accountId, dimension, seconds, group, start, calls, answered, duration, billing, cost])
  }
}

/** The totals of legs in a fixed order, so that concurrent writers do not deadlock. */
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

/** The end is exclusive. */
export interface Span {
  from: number
  end: number
}

/** The offset is a multiple of a quarter hour. */
export interface Chart {
  span: Span
  interval: Interval
  utcOffset: number
  groupBy: Grouping | undefined
}

export const quarterSpanOf = ({ from, to }: TimeWindow): Span => ({
  from: Math.floor(from / quarterSeconds) * quarterSeconds,
  end: (Math.floor(to / quarterSeconds) + 1) * quarterSeconds,
})

const intervalSeconds = { hour: 3600, day: daySeconds } as const

/** Ten thousand hours or days, or fifty years of months. */
export const maxSpanSeconds: Record<Interval, number> = {
  hour: 10_000 * 3600,
  day: 10_000 * daySeconds,
  month: 50 * 366 * daySeconds,
}

/** The starts of the local months of a span, and of the month after it. */
const monthStarts = ({ from, end }: Span, utcOffset: number): number[] => {
  const local = new Date((from + utcOffset - gregorianUnixOffset) * 1000)
  const starts: number[] = []
  for (let month = local.getUTCMonth(); ; month += 1) {
    const start = Date.UTC(local.getUTCFullYear(), month, 1) / 1000 + gregorianUnixOffset - utcOffset
    starts.push(start)
    if (start >= end) return starts
  }
}

/** A span that one statement reads. Hours and days are computed in SQL; a month is one span with a fixed `start`. */
export interface ReadSpan extends Span {
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

export interface StatsBucket extends Span {
  seconds: number
}

const mayUseDays = (bucket: ReadSpan['bucket'], utcOffset: number) =>
  'start' in bucket || (bucket.seconds === daySeconds && utcOffset % daySeconds === 0)

/** Whole UTC days if the buckets consist of such, and the quarter hours before and after them. */
export const bucketsOf = ({ from, end, bucket }: ReadSpan, utcOffset: number): StatsBucket[] => {
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

export interface Cell extends Sums {
  start: number
  group_value: string
}

/** A chart with more rows is rejected. */
export const maxCells = 100_000

const rounded = (value: number, decimals: number) => Math.round(value * 10 ** decimals) / 10 ** decimals

const ratio = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)

export const statOf = ({ start, group_value, ...sums }: Cell, isGrouped: boolean) => ({
  start,
  calls: sums.calls,
  answered: sums.answered,
  answer_seizure_ratio: rounded(ratio(sums.answered, sums.calls), 4),
  average_call_duration: rounded(ratio(sums.billing_seconds, sums.answered), 2),
  duration_seconds: sums.duration_seconds,
  billing_seconds: sums.billing_seconds,
  cost: sums.cost,
  ...(isGrouped ? { group: group_value } : {}),
})

export const byStartAndGroup = (a: Cell, b: Cell) =>
  a.start - b.start || (a.group_value < b.group_value ? -1 : 1)
