export const inParts = <T>(all: readonly T[], size = 500): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

/** Reads pages in key order until one is shorter than `limit`. */
export async function* inPages<Row>(
  limit: number,
  read: (after: string) => Promise<readonly Row[]>,
  keyOf: (row: Row) => string,
): AsyncGenerator<readonly Row[]> {
  for (let after = ''; ; ) {
    const page = await read(after)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return
    after = keyOf(last)
  }
}

const databasesAtOnce = 4

/** Runs all to their end; the first failure or `signal` aborts the others. */
export const allAtOnce = async (
  signal: AbortSignal | undefined,
  works: readonly ((stop: AbortSignal) => Promise<unknown>)[],
) => {
  const failing = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failing.signal]) : failing.signal
  const tried = works.map(async (work) => {
    try {
      await work(stop)
    } catch (error) {
      failing.abort()
      throw error
    }
  })
  for (const one of await Promise.allSettled(tried)) if (one.status === 'rejected') throw one.reason
}

interface Way<R> {
  atOnce?: number
  /** Each worker has at most one unfinished result when it begins the next one. */
  storedOf?(result: R): Promise<unknown>
}

/** Begins nothing after a failure or when `signal` aborts. */
export const forEach = <T, R>(
  signal: AbortSignal | undefined,
  all: Iterable<T>,
  work: (one: T, stop: AbortSignal) => Promise<R>,
  { atOnce = databasesAtOnce, storedOf }: Way<R> = {},
) => {
  const waiting = Iterator.from(all)
  const worker = async (stop: AbortSignal) => {
    let before: Promise<unknown> | undefined
    try {
      for (const one of waiting) {
        if (stop.aborted) break
        const earlier = before
        const done = await work(one, stop)
        before = storedOf?.(done)
        await earlier
      }
    } finally {
      await before
    }
  }
  return allAtOnce(
    signal,
    Array.from({ length: atOnce }, () => worker),
  )
}
