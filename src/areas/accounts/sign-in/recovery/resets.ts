import { passwordResetKind, type UserRecord } from '../../../../auth/identity.ts'
import { sha256Hex } from '../../../../auth/keyring.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { randomHex } from '../../../../lib/ids.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import { removalWithOwner } from '../../../../storage/attachment.ts'
import { type ChangeSet, conflict, systemScope } from '../../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../../storage/collection.ts'
import { holderOf, requireRecord, type StoredRecord } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import { maxResets } from '../rules.ts'

/** Only the digest of a reset ID is stored. */
interface Reset {
  hash: string
  /** Gregorian seconds. */
  expires: number
}

interface ResetHidden {
  resets: readonly Reset[]
}

type ResetRecord = StoredRecord<object, ResetHidden>

const resetClaim = (hash: string) => ({ scope: systemScope, name: 'reset_id', value: hash })

const createResetStore = (store: Store) =>
  createCollection<object, ResetHidden>(store, {
    kind: passwordResetKind,
    claims: ({ hidden }) => hidden.resets.map(({ hash }) => ({ ...resetClaim(hash), orElse: conflict })),
  })

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
