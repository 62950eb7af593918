import { dateOf, gregorianOf } from '../../lib/times.ts'

const offsetAt = (date: Date, timeZone: string | undefined) => {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).formatToParts(date)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0'] = /([+-])(\d+)(?::(\d+))?/.exec(name) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3_600_000 + Number(minutes) * 60_000)
}

/** When a day (`2026-01-31`) begins in a zone, in Gregorian seconds; undefined for what is no day. */
export const startOfDay = (day: string, timeZone: string | undefined): number | undefined => {
  const inUtc = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(inUtc)) return undefined
  const near = new Date(inUtc - offsetAt(new Date(inUtc), timeZone))
  return gregorianOf(new Date(inUtc - offsetAt(near, timeZone)))
}

/** The last second of a day. */
export const endOfDay = (day: string, timeZone: string | undefined): number | undefined => {
  const start = startOfDay(day, timeZone)
  if (start === undefined) return undefined
  const next = dateOf(start + 26 * 3600)
  const nextDay = new Date(next.getTime() + offsetAt(next, timeZone)).toISOString().slice(0, 10)
  const nextStart = startOfDay(nextDay, timeZone)
  return nextStart === undefined ? undefined : nextStart - 1
}
