import type { JsonWebKey } from 'node:crypto'
import type { Static } from 'typebox'
import type { UserRecord } from '../../../../auth/identity.ts'
import { type Failure, invalid } from '../../../../lib/failure.ts'
import { type ChangeSet, type Claim, conflict, systemScope } from '../../../../storage/change-set.ts'
import { createCollection } from '../../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type { PasskeyRecord } from './schema.ts'

type PasskeyDoc = Omit<Static<typeof PasskeyRecord>, 'id'> & { owner_id: string }

interface PasskeyHidden {
  /** Base64url, as sent by the browser. */
  credentialId: string
  publicKey: JsonWebKey
  /** The signature counter of the authenticator; 0 if it has none. */
  counter: number
  transports?: readonly string[]
}

export interface Challenge {
  id: string
  /** Unix milliseconds. */
  goodUntil: number
}

export type Passkey = StoredRecord<PasskeyDoc, PasskeyHidden>

const maxRead = 100

export const credentialClaim = (credentialId: string): Claim => ({
  scope: systemScope,
  name: 'passkey',
  value: credentialId,
})

const passkeyTaken = () =>
  invalid({ credential: { unique: { message: 'This passkey is registered already', cause: 'credential' } } })

export const createPasskeyStore = (store: Store) => {
  const collection = createCollection<PasskeyDoc, PasskeyHidden>(store, {
    kind: 'passkey',
    sortKey: (doc) => sortKeyOf(doc.name),
    ownerId: (doc) => doc.owner_id,
    row: ({ name, rp_id, backed_up, last_used }) => ({ name, rp_id, backed_up, last_used }),
    claims: ({ hidden }) => [{ ...credentialClaim(hidden.credentialId), orElse: passkeyTaken }],
  })

  return {
    ...collection,

    /** The passkeys of a user; with `rpId`, those of this domain. */
    async ofUser({ accountId, id }: UserRecord, rpId?: string): Promise<Passkey[]> {
      const all = await collection.page({ accountId, ownerId: id, limit: maxRead, descending: false })
      return all.filter(({ doc }) => rpId === undefined || doc.rp_id === rpId)
    },

    /** Consumes a challenge, and deletes expired ones. */
    takeChallenge(set: ChangeSet, { id, goodUntil }: Challenge, orElse: () => Failure) {
      set.run('DELETE FROM passkey_challenges WHERE good_until < $1', [store.clock.now()])
      set.run(
        'INSERT INTO passkey_challenges (challenge, good_until) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        [id, goodUntil],
        { rows: 1, orElse },
      )
    },

    /** Fails the change set if another passkey of the user was just created. */
    requireNone: (set: ChangeSet, { accountId, id }: UserRecord) =>
      set.run(
        'DELETE FROM records WHERE account_id = $1 AND kind = $2 AND owner_id = $3',
        [accountId, collection.kind, id],
        { rows: 0, orElse: conflict },
      ),
  }
}
