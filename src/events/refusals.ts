import type { Afterwards } from '../jobs/afterwards.ts'
import { forgetOldest } from '../lib/forget-oldest.ts'
import { type Author, ChangeSet, type Happening } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'

/** Tells subscribers of what was refused, and therefore wrote nothing that could tell of it. */
export interface Refusals {
  /** Tells of it after the answer. Whoever tries again and again is told of once a minute. */
  tell(author: Author, happening: Happening): void
}

interface Tools {
  store: Store
  afterwards: Afterwards
}

// Anybody may cause refusals, as fast as the network is: they must not fill the store.
const pauseMs = 60_000
const mostRemembered = 20_000

/** Who asked. The key of a request that was refused keeps its answer, not this. */
const without = ({ idempotency: _, acceptsCharges: __, ...author }: Author): Author => author

export const createRefusals = ({ store, afterwards }: Tools): Refusals => {
  const told = new Map<string, number>()

  const isTold = ({ accountId, type, id }: Happening) => {
    const key = JSON.stringify([accountId, type, id])
    const now = store.clock.now()
    const before = told.get(key)
    if (before !== undefined && now - before < pauseMs) return true
    told.delete(key)
    told.set(key, now)
    forgetOldest(told, mostRemembered)
    return false
  }

  return {
    tell(author, happening) {
      if (isTold(happening)) return
      const set = new ChangeSet(without(author)).happened(happening)
      afterwards.run('telling of a refusal', () => store.commit(set))
    },
  }
}
