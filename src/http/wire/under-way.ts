// Requests go on when their clients have gone. Whoever closes what they read from waits for them.

export type ActiveRequests = ReturnType<typeof createActiveRequests>

/** The requests of a server that are being carried out. */
export const createActiveRequests = () => {
  let count = 0
  let onLast: (() => void) | undefined

  return {
    async during(work: () => Promise<void>) {
      count += 1
      try {
        await work()
      } finally {
        count -= 1
        if (count === 0) onLast?.()
      }
    },

    /** Resolves when none is under way any more, or after so many milliseconds. */
    over(milliseconds: number) {
      if (count === 0) return Promise.resolve()
      return new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        onLast = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
  }
}
