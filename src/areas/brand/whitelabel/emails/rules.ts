import type { Problems } from '../../../../lib/failure.ts'
import type { Json } from '../../../../lib/json.ts'
import { senderReadOnly } from './schema.ts'

/** What is stored of what a client sends. */
export const storedHalf = (data: Json): Json =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !senderReadOnly.includes(key)))

/** At most this many within this time. */
export interface Limit {
  seconds: number
  most: number
}

const hour = 3600
const day = 24 * hour

/** Each mail allows one guess at one of 9,000 codes: what bounds the mails bounds the guesses. */
export const codesToAddress: readonly Limit[] = [
  { seconds: hour, most: 20 },
  { seconds: day, most: 40 },
]

/** So that no account mails the whole world. */
export const codesOfAccount: readonly Limit[] = [
  { seconds: hour, most: 60 },
  { seconds: day, most: 200 },
]

const longest = (limits: readonly Limit[]) => Math.max(...limits.map(({ seconds }) => seconds))

/** The times at which something happened that still count. */
export const recent = (times: readonly number[], now: number, limits: readonly Limit[]) =>
  times.filter((time) => time > now - longest(limits))

/** Seconds until it may happen again; 0: now. Times are ascending. */
export const secondsToWait = (times: readonly number[], now: number, limits: readonly Limit[]) =>
  Math.max(
    0,
    ...limits.map(({ seconds, most }) => {
      const within = times.filter((time) => time > now - seconds)
      const first = within.at(-most)
      return first === undefined ? 0 : first + seconds - now
    }),
  )

export const codeSeconds = hour

const smallestCode = 1000
const codes = 9000

/** Four digits from four random bytes. */
export const codeFrom = (random: Buffer) => String(smallestCode + (random.readUInt32BE(0) % codes))

/** What cannot have been mailed is no guess: the code that was stays good. */
export const codeProblems = ({ code }: { code?: string | number }): Problems => {
  if (code === undefined || /^\d{4}$/.test(String(code))) return {}
  const message = 'The code that was mailed has four digits'
  return { code: { pattern: { message, target: '^[0-9]{4}$', value: code } } }
}

export const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** More than any reseller needs: all of them are read to find the one that mail comes from. */
export const maxAddresses = 100
