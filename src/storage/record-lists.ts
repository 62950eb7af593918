import { createRecordCache } from './cache.ts'
import type { Database } from './db.ts'
import { placeOf } from './generations.ts'

const cacheBytes = 20_000_000

/**
 * Everything that an account has of one kind, kept at hand until a record of that kind changes there, in this process or
 * another.
 */
export const createRecordLists = <Stored extends { docText: string; rowText: string }>(
  db: Pick<Database, 'onStale'>,
) => {
  const cache = createRecordCache<readonly Stored[]>(cacheBytes)
  let isUsed = false

  db.onStale((keys) => {
    if (isUsed) cache.forget(keys === 'everything' ? keys : keys.map(placeOf))
  })

  return (accountId: string, kind: string, read: () => Promise<readonly Stored[]>) => {
    isUsed = true
    return cache.get(`${accountId}/${kind}`, async () => {
      const value = await read()
      const bytes = value.reduce(
        (sum, { docText, rowText }) => sum + 2 * (docText.length + rowText.length),
        0,
      )
      return { value, bytes }
    })
  }
}
