/** The same in parts of so many. */
export const inParts = <T>(all: readonly T[], size = 500): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

/** Pages of rows in the order of a key, until one has fewer than `limit`. */
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

/** Does all of them at once, to their ends. They hear when one has failed, or somebody says stop. */
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
  /** What a result is not complete without: only one more is begun before that. */
  storedOf?(result: R): Promise<unknown>
}

/** Does something for each, some at once; none is begun after one has failed, or when the signal says stop. */
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
