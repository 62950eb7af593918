import { useSyncExternalStore } from 'react'

/** A value that parts of the page follow, and that may be set from outside of React. */
export const createSignal = <T>(initial: T) => {
  let value = initial
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const get = () => value
  return {
    get,
    set(next: T) {
      value = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, get),
  }
}
