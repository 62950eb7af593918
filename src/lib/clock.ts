/** Where time comes from. Tests hand in their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

let latest = { unixMilliseconds: 0, text: '' }

/** ISO 8601 text of a moment given in Unix milliseconds. The latest one is kept: answers of one millisecond share it. */
export const isoTime = (unixMilliseconds: number) => {
  if (latest.unixMilliseconds !== unixMilliseconds || latest.text === '') {
    latest = { unixMilliseconds, text: new Date(unixMilliseconds).toISOString() }
  }
  return latest.text
}
