/** Wakes an idle loop. */
export const createWaker = () => {
  let wake: (() => void) | undefined
  let hasRung = false

  return {
    ring() {
      hasRung = true
      wake?.()
    },

    /**
     * Resolves when it rings, or has since the last time; after `milliseconds` at most, or when `signal` ends it. Resolves
     * with whether it rang.
     */
    heard: (milliseconds: number | undefined, signal: AbortSignal) =>
      new Promise<boolean>((resolve) => {
        const end = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', end)
          wake = undefined
          resolve(hasRung)
          hasRung = false
        }
        const timer = milliseconds === undefined ? undefined : setTimeout(end, milliseconds).unref()
        wake = end
        signal.addEventListener('abort', end, { once: true })
        if (hasRung || signal.aborted) end()
      }),
  }
}

export type Waker = ReturnType<typeof createWaker>
