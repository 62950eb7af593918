import { forgetOldest } from '../../lib/forget-oldest.ts'
import { networkOf } from '../../lib/network.ts'

const mostRemembered = 20_000

export type Acquaintances = ReturnType<typeof createAcquaintances>

/** From where people signed in to which account: in the memory of this process, the oldest forgotten first. */
export const createAcquaintances = () => {
  const known = new Map<string, true>()
  const keyOf = (accountId: string, address: string) => `${accountId} ${networkOf(address)}`

  return {
    /** Somebody signed in well. */
    note(accountId: string, address: string | undefined) {
      if (address === undefined) return
      const key = keyOf(accountId, address)
      known.delete(key)
      known.set(key, true)
      forgetOldest(known, mostRemembered)
    },

    isKnown: (accountId: string, address: string | undefined) =>
      address !== undefined && known.has(keyOf(accountId, address)),
  }
}
