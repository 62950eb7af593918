import type { Afterwards } from '../jobs/afterwards.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { type Author, ChangeSet, type EventDraft } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'

export interface Refusal {
  happening: EventDraft
  /** Distinguishes events of the same type and record. */
  about?: string
}

// Clients can cause any number of rejections: they must not fill the store.
const pauseMs = 60_000
const maxRemembered = 20_000

/** The idempotency key keeps the response of the rejected request, not this event. */
const without = ({ idempotency: _, acceptsCharges: __, consent: ___, ...author }: Author): Author => author

const keyOf = ({ happening: { accountId, type, id }, about }: Refusal) =>
  JSON.stringify([accountId, type, id, about])

export type Refusals = ReturnType<typeof createRefusals>

/** Emits events about rejected requests, which wrote nothing: one a minute for each kind and record. */
export const createRefusals = ({ store, afterwards }: { store: Store; afterwards: Afterwards }) => {
  const told = new Map<string, number>()

  const isTold = (key: string) => {
    const now = store.clock.now()
    const before = told.get(key)
    if (before !== undefined && now - before < pauseMs) return true
    told.delete(key)
    told.set(key, now)
    evictOldest(told, maxRemembered)
    return false
  }

  return {
    /** After the response. */
    tell(author: Author, happening: EventDraft) {
      if (isTold(keyOf({ happening }))) return
      const set = new ChangeSet(without(author)).happened(happening)
      afterwards.run('recording a refusal', () => store.commit(set))
    },

    /** Commits events of rejections by other systems; returns how many were new. */
    async note(author: Author, refusals: readonly Refusal[]): Promise<number> {
      const fresh = refusals.filter((refusal) => !isTold(keyOf(refusal)))
      if (fresh.length === 0) return 0
      const set = new ChangeSet(author)
      for (const { happening } of fresh) set.happened(happening)
      try {
        await store.commit(set)
      } catch (error) {
        for (const refusal of fresh) told.delete(keyOf(refusal))
        throw error
      }
      return fresh.length
    },
  }
}
