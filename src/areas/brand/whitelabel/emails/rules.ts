import type { Problems } from '../../../../lib/failure.ts'
import type { Json } from '../../../../lib/json.ts'
import { senderReadOnly } from './schema.ts'

/** The stored fields of a request. */
export const storedSenderFields = (data: Json): Json =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !senderReadOnly.includes(key)))

/** At most `most` within `seconds`. */
export interface Limit {
  seconds: number
  most: number
}

const hour = 3600
const day = 24 * hour

/** Each mail allows one guess at one of 9,000 codes, so these limits bound the guesses. */
export const codesToAddress: readonly Limit[] = [
  { seconds: hour, most: 20 },
  { seconds: day, most: 40 },
]

/** Bounds the mails of an account. */
export const codesOfAccount: readonly Limit[] = [
  { seconds: hour, most: 60 },
  { seconds: day, most: 200 },
]

const longestLimit = (limits: readonly Limit[]) => Math.max(...limits.map(({ seconds }) => seconds))

/** Times that still count. */
export const recent = (times: readonly number[], now: number, limits: readonly Limit[]) =>
  times.filter((time) => time > now - longestLimit(limits))

/** 0: now. `times` is ascending. */
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
const codeCount = 9000

export const codeFrom = (random: Buffer) => String(smallestCode + (random.readUInt32BE(0) % codeCount))

/** Other texts are not guesses: the code stays valid. */
export const codeProblems = ({ code }: { code?: string | number }): Problems => {
  if (code === undefined || /^\d{4}$/.test(String(code))) return {}
  const message = 'Must be the four digits of the mailed code'
  return { code: { pattern: { message, target: '^[0-9]{4}$', value: code } } }
}

export const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** All of them are read to choose a sender. */
export const maxAddresses = 100
