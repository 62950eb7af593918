import { passwordResetKind } from '../../../../auth/identity.ts'
import { conflict, systemScope } from '../../../../storage/change-set.ts'
import { createCollection } from '../../../../storage/collection.ts'
import type { StoredRecord } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'

/** Only the digest of a reset ID is stored. */
interface Reset {
  hash: string
  /** Gregorian seconds. */
  expires: number
}

interface ResetHidden {
  resets: readonly Reset[]
}

export type ResetRecord = StoredRecord<object, ResetHidden>

export const resetClaim = (hash: string) => ({ scope: systemScope, name: 'reset_id', value: hash })

export const createResetStore = (store: Store) =>
  createCollection<object, ResetHidden>(store, {
    kind: passwordResetKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
    claims: ({ hidden }) => hidden.resets.map(({ hash }) => ({ ...resetClaim(hash), orElse: conflict })),
  })
