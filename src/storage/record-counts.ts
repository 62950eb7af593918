import { evictOldest } from '../lib/forget-oldest.ts'
import type { Database } from './db.ts'
import { placeOf } from './generations.ts'

const maxKinds = 20_000

/** How many there were when they were counted, and how many records have changed since: so many may have come. */
interface Count {
  counted: number
  /** Counting ended here: there may be more. */
  atMost: number
  changedSince: number
}

/** Up to how many to count, and how many there are of them. */
type CountUpTo = (atMost: number) => Promise<number>

/**
 * Says whether an account may have more records of a kind without counting them each time: every change of one, in this
 * process or another, is taken for a birth until that would be too many. Only then they are counted again. So nobody
 * has one too few; requests of the same moment may have one too many each.
 */
export const createRecordCounts = (db: Pick<Database, 'onStale'>) => {
  const counts = new Map<string, Count>()

  db.onStale((keys) => {
    if (keys === 'everything') return counts.clear()
    if (counts.size === 0) return
    for (const key of keys) {
      const count = counts.get(placeOf(key))
      if (count) count.changedSince += 1
    }
  })

  const countAnew = async (place: string, atMost: number, countUpTo: CountUpTo) => {
    const count: Count = { counted: 0, atMost, changedSince: 0 }
    counts.delete(place)
    counts.set(place, count)
    evictOldest(counts, maxKinds)
    try {
      count.counted = await countUpTo(atMost)
    } catch (error) {
      counts.delete(place)
      throw error
    }
    return count
  }

  const isOver = ({ counted, changedSince }: Count, adding: number, limit: number) =>
    counted + changedSince + adding > limit

  return {
    /** Whether an account stays within `limit` with so many records more. */
    async allows(
      { accountId, kind }: { accountId: string; kind: string },
      adding: number,
      limit: number,
      countUpTo: CountUpTo,
    ): Promise<boolean> {
      const place = `${accountId}/${kind}`
      const known = counts.get(place)
      const isComplete = known !== undefined && (known.counted < known.atMost || known.atMost >= limit)
      if (known && isComplete && !isOver(known, adding, limit)) return true
      if (known && isComplete && known.changedSince === 0) return false
      return !isOver(await countAnew(place, limit, countUpTo), adding, limit)
    },
  }
}
