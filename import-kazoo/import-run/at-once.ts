export const inParts = <T>(all: readonly T[], size = 500): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

/** Reads pages in key order until one is shorter than `limit`. */
export async function* inPages<Row, Key>(
  limit: number,
  first: Key,
  read: (after: Key) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row[]> {
  for (let after = first; ; ) {
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
  const tried = works.map((work) =>
    work(stop).catch((error: unknown) => {
      failing.abort()
      throw error
    }),
  )
  for (const one of await Promise.allSettled(tried)) if (one.status === 'rejected') throw one.reason
}

/** Begins nothing after a failure or when `signal` aborts. */
export const forEach = <T>(
  signal: AbortSignal | undefined,
  all: Iterable<T>,
  work: (one: T, stop: AbortSignal) => Promise<unknown>,
  atOnce = databasesAtOnce,
) => {
  const waiting = Iterator.from(all)
  const worker = async (stop: AbortSignal) => {
    for (const one of waiting) {
      if (stop.aborted) break
      await work(one, stop)
    }
  }
  return allAtOnce(
    signal,
    Array.from({ length: atOnce }, () => worker),
  )
}
