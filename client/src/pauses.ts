// Timers take no more than this: a longer one would fire at once.
const longestTimerMs = 2 ** 31 - 1

/** Ends early, with the signal's reason, when it is aborted. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(ms, longestTimerMs),
    )
    signal?.addEventListener('abort', stop, { once: true })
  })

/** Resolves with the promise, or rejects with the signal's reason if that comes first. */
export const unlessAborted = async <T>(awaited: Promise<T>, signal?: AbortSignal): Promise<T> => {
  if (!signal) return awaited
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([awaited, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const firstMs = 250
const longestMs = 5000

/** Each pause up to twice as long as the one before, and a part of it by chance: a crowd does not come back at once. */
export const growingPauses = () => {
  let nextMs = firstMs
  return {
    next() {
      const ms = nextMs * (0.5 + Math.random() / 2)
      nextMs = Math.min(2 * nextMs, longestMs)
      return ms
    },
    reset() {
      nextMs = firstMs
    },
  }
}
