import { BroadcastChannel } from 'node:worker_threads'
import { evictOldest } from '../../lib/forget-oldest.ts'
import { networkOf } from '../../lib/network.ts'

const maxRemembered = 20_000

export type KnownNetworkCache = ReturnType<typeof createKnownNetworkCache>

/**
 * From where people signed in to which account: in the memory of this process, the oldest forgotten first. `channel` is
 * where several threads of it tell each other.
 */
export const createKnownNetworkCache = (channel?: string) => {
  const known = new Map<string, true>()
  const others = channel === undefined ? undefined : new BroadcastChannel(channel)
  const keyOf = (accountId: string, address: string) => `${accountId} ${networkOf(address)}`

  const learn = (key: string) => {
    known.delete(key)
    known.set(key, true)
    evictOldest(known, maxRemembered)
  }

  others?.unref()
  if (others) others.onmessage = ({ data }) => learn(String(data))

  return {
    /** Somebody signed in well. */
    note(accountId: string, address: string | undefined) {
      if (address === undefined) return
      const key = keyOf(accountId, address)
      learn(key)
      others?.postMessage(key)
    },

    isKnown: (accountId: string, address: string | undefined) =>
      address !== undefined && known.has(keyOf(accountId, address)),

    close: () => others?.close(),
  }
}
