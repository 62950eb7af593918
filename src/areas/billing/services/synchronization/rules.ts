import type { Bookkeeper } from '../pricing/plan.ts'

// The built-in bookkeeper knows all there is, and a gateway that is told amounts only need not know what they are for.
const knowAlready = new Set(['default', 'stripe'])

/** Whether a bookkeeper has to be told when an invoice changes. */
export const needsSync = ({ type }: Pick<Bookkeeper, 'type'>) => !knowAlready.has(type)

/** What rows name a bookkeeper by. */
export const bookkeeperKey = ({ id, type, vendor_id }: Bookkeeper) => JSON.stringify([type, vendor_id, id])

export const bookkeeperOfKey = (key: string): Bookkeeper => {
  const [type, vendor_id, id]: [string, string, string] = JSON.parse(key)
  return { id, type, vendor_id }
}

const firstPauseMs = 10_000
const longestPauseMs = 3_600_000

/** How long to wait before a bookkeeper that did not take an invoice is told again. */
export const pauseAfter = (attempts: number) =>
  Math.min(firstPauseMs * 2 ** Math.min(attempts, 20), longestPauseMs)

/** After this time audit entries stop waiting; the bookkeeper is told all the same, whenever it listens again. */
export const maxRetryWaitMs = 24 * 3_600_000
