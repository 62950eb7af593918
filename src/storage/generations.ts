import type { Database } from './db.ts'

// What is made of an account's records of one kind, and kept, goes by a number that is another one after each commit that
// names one of them stale. Whoever keeps something takes the number before reading, and keeps it under that.

/** `account/kind` of a record's cache key. */
export const placeOf = (key: string) => key.slice(0, key.indexOf('/', key.indexOf('/') + 1))

// A number and its key. Whatever was kept under a number that is forgotten is not found again.
const maxPlaces = 50_000

/** The number of the moment for an account's records of a kind. It moves with commits of this process and of others. */
export type GenerationOf = (accountId: string, kind: string) => number

export const createGenerations = (db: Pick<Database, 'onStale'>): GenerationOf => {
  const numbers = new Map<string, number>()
  let latest = 0

  db.onStale((keys) => {
    if (keys === 'everything' || keys.includes('*')) return numbers.clear()
    if (numbers.size > 0) for (const key of keys) numbers.delete(placeOf(key))
  })

  return (accountId, kind) => {
    const place = `${accountId}/${kind}`
    const known = numbers.get(place)
    if (known !== undefined) return known
    if (numbers.size >= maxPlaces) numbers.clear()
    latest += 1
    numbers.set(place, latest)
    return latest
  }
}
