export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

let latest = { unixMilliseconds: 0, text: '' }

/** `unixMilliseconds` as ISO 8601; the latest text is cached. */
export const isoTime = (unixMilliseconds: number) => {
  if (latest.unixMilliseconds !== unixMilliseconds || latest.text === '') {
    latest = { unixMilliseconds, text: new Date(unixMilliseconds).toISOString() }
  }
  return latest.text
}
