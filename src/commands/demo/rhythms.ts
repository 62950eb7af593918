// When people telephone, by their own clocks: a weight for each hour from midnight, and for each day from Sunday.

interface Rhythm {
  hours: readonly number[]
  days: readonly number[]
}

const night = [0, 0, 0, 0, 0, 0]

export const rhythms = {
  office: {
    hours: [...night, 0, 1, 5, 10, 11, 9, 5, 8, 10, 9, 7, 3, 1, 0, 0, 0, 0, 0],
    days: [0.05, 1.2, 1.1, 1, 1, 0.8, 0.1],
  },
  shop: {
    hours: [...night, 2, 5, 7, 8, 8, 7, 6, 6, 7, 8, 7, 5, 3, 1, 0, 0, 0, 0],
    days: [0.2, 0.8, 0.9, 0.9, 1, 1.2, 1.3],
  },
  hotel: {
    hours: [2, 1, 1, 1, 1, 2, 4, 6, 8, 8, 7, 6, 6, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3],
    days: [1.1, 0.9, 0.9, 0.9, 1, 1.2, 1.3],
  },
  centre: {
    hours: [1, 1, 1, 1, 1, 2, 4, 8, 11, 12, 12, 11, 9, 10, 11, 11, 9, 7, 4, 3, 2, 2, 1, 1],
    days: [0.3, 1.3, 1.1, 1, 1, 1, 0.5],
  },
} as const satisfies Record<string, Rhythm>

export type RhythmName = keyof typeof rhythms

const partsOf = (timezone: string) =>
  new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    weekday: 'short',
    hour: 'numeric',
    hourCycle: 'h23',
  })

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const formats = new Map<string, Intl.DateTimeFormat>()

const localTime = (timezone: string, unixMilliseconds: number) => {
  const format = formats.get(timezone) ?? partsOf(timezone)
  formats.set(timezone, format)
  const parts = Object.fromEntries(
    format.formatToParts(unixMilliseconds).map(({ type, value }) => [type, value]),
  )
  return { hour: Number(parts.hour), day: weekdays.indexOf(parts.weekday ?? '') }
}

/** How much a company of this rhythm telephones in the hour that begins then. */
export const weightOf = (name: RhythmName, timezone: string, unixMilliseconds: number): number => {
  const { hour, day } = localTime(timezone, unixMilliseconds)
  const { hours, days } = rhythms[name]
  return (hours[hour] ?? 0) * (days[day] ?? 0)
}
