import { dayAfter, dayOf, gregorianNow, startOfDay } from '../../lib/times.ts'

/** A range of days, both counted, in the zone of the account. */
export interface Days {
  from: string
  /** Absent: up to now. */
  to?: string
}

export const presets = { today: 1, week: 7, month: 30 } as const
export type Preset = keyof typeof presets

export const isPreset = (text: string | null): text is Preset => text !== null && text in presets

/** The days of a preset: the last one is today. */
export const daysOf = (preset: Preset, timezone: string | undefined): Days => ({
  from: dayAfter(dayOf(gregorianNow(), timezone), 1 - presets[preset]),
})

/** As lists and statistics take it. */
export const windowOf = ({ from, to }: Days, timezone: string | undefined) => ({
  created_from: String(startOfDay(from, timezone)),
  ...(to === undefined ? {} : { created_to: String(startOfDay(dayAfter(to, 1), timezone) - 1) }),
})
