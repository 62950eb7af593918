import { gregorianUnixOffset, monthAfter, monthBefore } from '../../../lib/gregorian.ts'
import { zip } from '../../../lib/list.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { CdrRow } from './columns.ts'

// A leg is in the month of its interaction and may end in the next one, so months overlap.

/** Gregorian seconds, both inclusive. */
export interface TimeWindow {
  from: number
  to: number
}

export interface LegOwner {
  accountId: string
  ownerId?: string
}

/** The position of a leg or interaction: its time, and an id within that second. */
export interface CdrPlace {
  time: number
  mark: string
}

/** The oldest and newest matching record of a month. */
export interface MonthBounds {
  month: number
  first: number
  last: number
}

/** A time range, and the months with records in it. */
export interface TimeStretch extends TimeWindow {
  months: readonly number[]
}

const overlaps = ({ first, last }: MonthBounds, from: number, to: number) => first <= to && last >= from

const sameMonths = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((month, index) => month === b[index])

/** Cuts the time line where a month begins or ends, so that each stretch reads the same months: mostly one. */
export const stretchesOf = (bounds: readonly MonthBounds[]): TimeStretch[] => {
  const cuts = [...new Set(bounds.flatMap(({ first, last }) => [first, last + 1]))].sort((a, b) => a - b)
  const stretches: TimeStretch[] = []
  for (const [from, next] of zip(cuts.slice(0, -1), cuts.slice(1))) {
    const to = next - 1
    const months = bounds.filter((month) => overlaps(month, from, to)).map(({ month }) => month)
    const before = stretches.at(-1)
    if (before && before.to === from - 1 && sameMonths(before.months, months)) before.to = to
    else if (months.length > 0) stretches.push({ from, to, months })
  }
  return stretches
}

/** The stretches after a place, in reading order. */
export const stretchesBehind = (
  stretches: readonly TimeStretch[],
  after: CdrPlace | undefined,
  descending: boolean,
): TimeStretch[] => {
  const isOpen = ({ from, to }: TimeStretch) => {
    if (!after) return true
    // The empty mark sorts first: see `placeAfterWindow`.
    return descending ? from < after.time || (from === after.time && after.mark !== '') : to >= after.time
  }
  const open = stretches.filter(isOpen)
  return descending ? open.reverse() : open
}

/** Undefined if the place is outside of the window: then the whole window is read. */
export const placeWithin = ({ from, to }: TimeWindow, place: CdrPlace | undefined) =>
  place && place.time >= from && place.time <= to ? place : undefined

/** The place after the last row of a window. */
export const placeAfterWindow = ({ from, to }: TimeWindow, descending: boolean): CdrPlace => ({
  time: descending ? from : to + 1,
  mark: '',
})

/** The year 9999. */
export const lastSecond = 253_402_300_799 + gregorianUnixOffset

/** The month of a time as 202611. Times before year 0 and after year 9999 are clamped. */
export const monthAt = (gregorianSeconds: number) => {
  const seconds = Math.min(Math.max(gregorianSeconds, 0), lastSecond)
  return Number(monthOf((seconds - gregorianUnixOffset) * 1000))
}

export const windowOf = (month: number): TimeWindow => {
  const [year, at] = [Math.floor(month / 100), (month % 100) - 1]
  const startIn = (months: number) => Date.UTC(year, at + months, 1) / 1000 + gregorianUnixOffset
  return { from: startIn(0), to: startIn(1) - 1 }
}

export const monthsOfInteractions = ({ from, to }: TimeWindow) => ({
  first: monthAt(from),
  last: monthAt(to),
})

/** The months that may have legs of a window: clocks differ, and calls last beyond the end of a month. */
export const monthsOfLegs = (window: TimeWindow) => {
  const { first, last } = monthsOfInteractions(window)
  return { first: monthBefore(first), last: monthAfter(last) }
}

export interface FileSizes {
  /** Records that are read together: about 30 ms of work. */
  recordsPerGroup: number
  /** A file of this size gets no further group. Files are built in memory. */
  maxRecords: number
  maxBytes: number
}

export const usualSizes: FileSizes = { recordsPerGroup: 2000, maxRecords: 200_000, maxBytes: 32_000_000 }

export interface ArchivedPart {
  path: string
  month: number
  /** The size of the whole file. */
  bytes: number
  /** Gregorian seconds of the account's first and last record there. */
  first: number
  last: number
}

const surrogate = /[\ud800-\udfff]/

/** The byte order of texts, as both databases sort them. */
const compareTexts = (a: string, b: string) => {
  if (a === b) return 0
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : 1
}

export const placeOrder = (descending: boolean) => {
  const sign = descending ? -1 : 1
  return (a: CdrPlace, b: CdrPlace) => sign * (a.time - b.time || compareTexts(a.mark, b.mark))
}

export interface ListChunk {
  items: CdrRow[]
  /** Where to continue; undefined at the end. */
  next: CdrPlace | undefined
}

interface Joining {
  limit: number
  descending: boolean
  placeOf(leg: CdrRow): CdrPlace
  /** Selects one of two records at the same place. */
  choose?: ((a: CdrRow, b: CdrRow) => CdrRow) | undefined
}

/** Merges pieces of a list from several sources, up to where all of them were read. */
export const joinChunks = (
  pieces: readonly ListChunk[],
  { limit, descending, placeOf, choose = (a) => a }: Joining,
): ListChunk => {
  const order = placeOrder(descending)
  const [horizon] = pieces.flatMap(({ next }) => next ?? []).sort(order)
  const all = pieces
    .flatMap(({ items }) => items)
    .filter((leg) => !horizon || order(placeOf(leg), horizon) <= 0)
    .sort((a, b) => order(placeOf(a), placeOf(b)))
  const items: CdrRow[] = []
  for (const leg of all) {
    const before = items.at(-1)
    if (before && order(placeOf(before), placeOf(leg)) === 0) items[items.length - 1] = choose(before, leg)
    else items.push(leg)
  }
  const cut = items.slice(0, limit)
  const final = cut.at(-1)
  return { items: cut, next: final && cut.length === limit ? placeOf(final) : horizon }
}

/** The current and the next month, unless they have tables. None before the first call. */
export const unprepared = (months: readonly number[], current: number) =>
  months.length === 0 ? [] : [current, monthAfter(current)].filter((month) => !months.includes(month))

/** Months before the `kept` whole months that precede the current one. */
export const outdated = (months: readonly number[], current: number, kept: number) => {
  const first = monthBefore(current, kept)
  return months.filter((month) => month < first)
}

/** Parses a month such as `202601`. */
export const monthIn = (text: string | undefined) =>
  text !== undefined && /^\d{4}(?:0[1-9]|1[0-2])$/.test(text) ? Number(text) : undefined
