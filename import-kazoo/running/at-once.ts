/** The same in parts of so many. */
export const inParts = <T>(all: readonly T[], size = 500): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

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

/** Does something for each, some at once; none is begun any more when one has failed, or somebody says stop. */
export const forEach = <T>(
  signal: AbortSignal | undefined,
  all: Iterable<T>,
  /** `endsWith`: what it does not wait for itself. Only one more is begun before that has ended. */
  work: (one: T, stop: AbortSignal, endsWith: (end: Promise<unknown>) => void) => Promise<unknown>,
  atOnce = databasesAtOnce,
) => {
  const waiting = Iterator.from(all)
  const worker = async (stop: AbortSignal) => {
    let before: Promise<unknown> = Promise.resolve()
    try {
      for (const one of waiting) {
        if (stop.aborted) break
        let end: Promise<unknown> = Promise.resolve()
        await work(one, stop, (promise) => {
          end = promise
        })
        const earlier = before
        before = end
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
