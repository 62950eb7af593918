import { setTimeout as sleep } from 'node:timers/promises'

const patienceMs = 15_000
const pauseMs = 25

/** Waits for what follows in the background, within a bound. */
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
