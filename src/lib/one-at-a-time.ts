/** Serializes work with the same key. */
export const createKeyedQueue = () => {
  const tails = new Map<string, Promise<void>>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = tails.get(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    tails.set(key, promise)
    try {
      await before
      return await work()
    } finally {
      resolve()
      if (tails.get(key) === promise) tails.delete(key)
    }
  }
}
