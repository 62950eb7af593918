/** Somebody who waits for something to do, and may be woken. */
export const createBell = () => {
  let wake: (() => void) | undefined
  let hasRung = false

  return {
    ring() {
      hasRung = true
      wake?.()
    },

    /**
     * Resolves when it rings, or has since the last time; after so many milliseconds at most, or when `signal` ends it.
     * Answers with whether it rang.
     */
    heard: (milliseconds: number, signal: AbortSignal) =>
      new Promise<boolean>((resolve) => {
        const end = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', end)
          wake = undefined
          resolve(hasRung)
          hasRung = false
        }
        const timer = setTimeout(end, milliseconds)
        timer.unref()
        wake = end
        signal.addEventListener('abort', end, { once: true })
        if (hasRung || signal.aborted) end()
      }),
  }
}

export type Bell = ReturnType<typeof createBell>
