import { showNumber } from './amounts.ts'
import { locale } from './texts.ts'

// Seconds between the beginnings of the Gregorian and the Unix count.
const gregorianOffset = 62_167_219_200

export const dateOf = (gregorianSeconds: number) => new Date((gregorianSeconds - gregorianOffset) * 1000)
export const gregorianOf = (date: Date) => Math.floor(date.getTime() / 1000) + gregorianOffset
export const gregorianNow = () => gregorianOf(new Date())

const formats = new Map<string, Intl.DateTimeFormat>()

// Making one takes a hundred times as long as using it.
const formatOf = (options: Intl.DateTimeFormatOptions) => {
  const key = `${locale()} ${JSON.stringify(options)}`
  const known = formats.get(key)
  if (known) return known
  const made = new Intl.DateTimeFormat(locale(), options)
  formats.set(key, made)
  return made
}

/** The zone of an account, or the browser's where the account has none that it knows. */
export const zoneOf = (timezone: string | undefined) => {
  if (timezone === undefined) return undefined
  try {
    formatOf({ timeZone: timezone })
    return timezone
  } catch {
    return undefined
  }
}

export const showTime = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ dateStyle: 'medium', timeStyle: 'medium', timeZone }).format(dateOf(gregorianSeconds))

export const showDay = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ dateStyle: 'medium', timeZone }).format(dateOf(gregorianSeconds))

/** The day without its year, for axes. */
export const showShortDay = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ month: 'short', day: 'numeric', timeZone }).format(dateOf(gregorianSeconds))

export const showShortMonth = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ month: 'short', timeZone }).format(dateOf(gregorianSeconds))

export const showMonth = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ year: 'numeric', month: 'long', timeZone }).format(dateOf(gregorianSeconds))

/** The time of day. */
export const showClock = (gregorianSeconds: number, timeZone?: string) =>
  formatOf({ timeStyle: 'medium', timeZone }).format(dateOf(gregorianSeconds))

/** Seconds as `1:02:03` or `2:03`. */
export const showDuration = (seconds: number) => {
  const whole = Math.max(0, Math.round(seconds))
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const rest = `${hours > 0 ? two(Math.floor(whole / 60) % 60) : Math.floor(whole / 60)}:${two(whole % 60)}`
  return hours > 0 ? `${hours}:${rest}` : rest
}

const inUnit = (value: number, unit: string) =>
  showNumber(value, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 })

const upTo = (step: number, value: number) => Math.ceil(value / step) * step

/** A time, coarse enough not to change with each reading: `40 sec`, `12 min`, `2 hr, 35 min`, `3 days`. */
export const showSpan = (seconds: number) => {
  if (seconds <= 50) return inUnit(Math.max(10, upTo(10, seconds)), 'second')
  if (seconds < 3_570) return inUnit(upTo(1, seconds / 60), 'minute')
  if (seconds >= 48 * 3_600) return inUnit(Math.floor(seconds / 86_400), 'day')
  const minutes = upTo(5, seconds / 60)
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  return rest === 0 ? inUnit(hours, 'hour') : `${inUnit(hours, 'hour')}, ${inUnit(rest, 'minute')}`
}

const partsIn = (date: Date, timeZone: string | undefined) =>
  new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(date)

/** Seconds from UTC to the time of a zone, as it is at a moment. */
export const offsetAt = (gregorianSeconds: number, timeZone?: string) => {
  const date = dateOf(gregorianSeconds)
  const parts = Object.fromEntries(partsIn(date, timeZone).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour, minute, second } = parts
  return Math.round((Date.UTC(year, month - 1, day, hour, minute, second) - date.getTime()) / 1000)
}

/** The day of a moment in a zone, `2026-01-31`. */
export const dayOf = (gregorianSeconds: number, timeZone?: string) =>
  dateOf(gregorianSeconds + offsetAt(gregorianSeconds, timeZone))
    .toISOString()
    .slice(0, 10)

/** A day that is some days later. */
export const dayAfter = (day: string, days: number) =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

/** When a day begins in a zone, in Gregorian seconds. */
export const startOfDay = (day: string, timeZone?: string) => {
  const asInUtc = gregorianOf(new Date(day))
  // The offset of the day's own midnight, which may differ from that of the moment that is looked up first.
  return asInUtc - offsetAt(asInUtc - offsetAt(asInUtc, timeZone), timeZone)
}
