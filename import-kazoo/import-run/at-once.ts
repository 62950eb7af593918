import { inParallel } from '../../src/lib/in-parallel.ts'

const databasesAtOnce = 4

/** Runs all to their end. Begins nothing after a failure or when `signal` aborts; both abort the others. */
export const forEach = async <T>(
  signal: AbortSignal | undefined,
  all: Iterable<T>,
  work: (one: T, stop: AbortSignal) => Promise<unknown>,
  atOnce = databasesAtOnce,
) => {
  const failing = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failing.signal]) : failing.signal
  const attempt = (one: T) =>
    work(one, stop).catch((error: unknown) => {
      failing.abort()
      throw error
    })
  await inParallel(all, atOnce, attempt, () => stop.aborted)
}
