export const createWaker = () => {
  let wake: (() => void) | undefined
  let hasRung = false

  return {
    ring() {
      hasRung = true
      wake?.()
    },

    /**
     * Resolves on `ring`, also one before the call, after `milliseconds`, or when `signal` aborts. Returns whether it
     * rang.
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
