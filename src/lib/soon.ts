// What is mostly at hand, and sometimes has to be waited for. A request comes by two dozen such places, and each `await` of
// something that is there already costs a turn of the microtask queue and a promise.

/** A value that is at hand, or will be. */
export type Soon<T> = T | Promise<T>

/** Goes on with the value: at once where it is at hand. */
export const whenThere = <T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/** What `work` brings, or what is made of its failure, whether it fails at once or later. */
export const caught = <T>(work: () => Soon<T>, recover: (error: unknown) => Soon<T>): Soon<T> => {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(recover) : value
  } catch (error) {
    return recover(error)
  }
}
