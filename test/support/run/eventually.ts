import { setTimeout as sleep } from 'node:timers/promises'

// Ends what would never come. A busy machine must not reach it.
const patienceMs = 120_000
const pauseMs = 25

/** Waits until `isDone` accepts what `look` returns, for at most `withinMs` (default 120,000 ms). */
export const eventually = async <T>(
  look: () => Promise<T> | T,
  isDone: (seen: T) => boolean,
  withinMs = patienceMs,
): Promise<T> => {
  const deadline = Date.now() + withinMs
  for (;;) {
    const seen = await look()
    if (isDone(seen)) return seen
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(seen)}`)
    await sleep(pauseMs)
  }
}
