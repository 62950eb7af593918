import type { UserRecord } from '../../../../auth/identity.ts'
import { sha256Hex } from '../../../../auth/keyring.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { randomHex } from '../../../../lib/ids.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import { removalWithOwner } from '../../../../storage/attachment.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import { putDocument } from '../../../../storage/collection.ts'
import { holderOf, requireRecord } from '../../../../storage/records.ts'
import type { DepsOf } from '../../../area.ts'
import { maxResets } from './rules.ts'
import { createResetStore, type ResetRecord, resetClaim } from './store.ts'

interface ResetFacts {
  lifetimeSeconds?: number
  /** Hexadecimal digits. */
  size?: number
}

export type Resets = ReturnType<typeof createResets>

export const createResets = ({ store, settings }: DepsOf<'store' | 'settings'>) => {
  const resets = createResetStore(store)
  const isGood = (reset: { expires: number }) => reset.expires > gregorianNow(store.clock)

  return {
    /** Adds a reset ID to a change set. Undefined if the user has enough valid ones. */
    async addTo(set: ChangeSet, user: UserRecord, said: ResetFacts = {}) {
      const { reset_id_size: usualSize, reset_id_expiry_s: usual } = await settings.of(crossbarSettings)
      const { lifetimeSeconds: lifetime = usual, size = usualSize } = said
      const before = await resets.find(user.accountId, user.id)
      const good = before?.hidden.resets.filter(isGood) ?? []
      if (good.length >= maxResets) return undefined
      const resetId = randomHex(Math.ceil(size / 2)).slice(0, size)
      const reset = { hash: sha256Hex(resetId), expires: gregorianNow(store.clock) + lifetime }
      requireRecord(set, holderOf(user))
      putDocument(set, resets, user, { before, doc: {}, hidden: { resets: [...good, reset] } })
      return { resetId, lifetime }
    },

    /** Finds the record of a reset ID; it has the user's ID. */
    async find(resetId: string) {
      const hash = sha256Hex(resetId.toLowerCase())
      const record = await resets.holder(resetClaim(hash))
      const reset = record?.hidden.resets.find((candidate) => candidate.hash === hash)
      return record && reset ? { record, expires: reset.expires, isExpired: !isGood(reset) } : undefined
    },

    remove: (set: ChangeSet, record: ResetRecord) => resets.remove(set, record),

    removeWith: removalWithOwner(resets),
  }
}
