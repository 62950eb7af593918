import { silence } from './exchange.ts'

/** Lets `limit` of them run at a time, the others in the order they came, unless their time is over first. */
export const createGate = (limit: number) => {
  let running = 0
  const waiting = new Set<() => void>()

  const wait = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        waiting.delete(enter)
        reject(silence())
      }
      const enter = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.add(enter)
    })

  return async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (signal.aborted) throw silence()
    if (running >= limit) await wait(signal)
    else running += 1
    try {
      return await work()
    } finally {
      const [next] = waiting
      if (next) {
        waiting.delete(next)
        next()
      } else running -= 1
    }
  }
}
