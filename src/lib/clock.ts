/** Where time comes from. Tests hand in their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** ISO 8601 text of a moment given in Unix milliseconds. */
export const isoTime = (unixMilliseconds: number) => new Date(unixMilliseconds).toISOString()
