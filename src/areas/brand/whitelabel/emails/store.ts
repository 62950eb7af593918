import { sha256Hex } from '../../../../auth/keyring.ts'
import { invalid } from '../../../../lib/failure.ts'
import { fingerprint } from '../../../../lib/secrets.ts'
import { type ChangeSet, type Claim, systemScope } from '../../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../../storage/collection.ts'
import type { StoredRecord } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import type { DkimKey } from './dkim-key.ts'
import { codesOfAccount, codesToAddress, recent, secondsToWait } from './rules.ts'
import type { SenderEmail } from './schema.ts'

export interface SenderHidden {
  isVerified: boolean
  /** Absent after it was used or guessed wrong. */
  code?: {
    sealed: string
    /** Unix milliseconds. */
    expires: number
  }
  /** The private half is encrypted with the server's key. */
  key?: Omit<DkimKey, 'privateKey'> & { sealed: string }
}

export type SenderRecord = StoredRecord<SenderEmail, SenderHidden>

export const addressTaken = (email: unknown) => ({
  email: { unique: { message: 'Whitelabel email address is already in use', cause: email } },
})

export const addressClaim = (accountId: string, email: string): Claim => ({
  scope: accountId,
  name: 'whitelabel_email',
  value: email.toLowerCase(),
})

export const createSenderStore = (store: Store) =>
  createCollection<SenderEmail, SenderHidden>(store, {
    kind: 'whitelabel_email',
    sortKey: (doc) => doc.email.toLowerCase(),
    row: (doc, { isVerified }) => ({ email: doc.email, verified: isVerified }),
    claims: ({ accountId, doc }) => [
      { ...addressClaim(accountId, doc.email), orElse: () => invalid(addressTaken(doc.email)) },
    ],
    audited: ({ isVerified, key }) => ({
      verified: isVerified,
      ...(key ? { dkim_key_fingerprint: fingerprint(key.publicKey) } : {}),
    }),
  })

/** Times of mailed codes in Unix seconds, ascending: by address, and by account. */
export const createCodeBooks = (store: Store) => {
  const books = createCollection<{ sent: number[] }, object>(store, {
    kind: 'verification_mails',
    sortKey: () => '',
    row: () => ({}),
  })

  const ofAddress = (email: string) => ({
    accountId: systemScope,
    id: sha256Hex(email.toLowerCase()).slice(0, 32),
  })

  return {
    /** Records a mail. Returns the seconds to wait if it is one too many; nothing is recorded then. */
    async spend(set: ChangeSet, accountId: string, email: string): Promise<number> {
      const now = Math.floor(store.clock.now() / 1000)
      const limited = [
        { place: { accountId, id: 'all' }, limits: codesOfAccount },
        { place: ofAddress(email), limits: codesToAddress },
      ]
      const opened = await Promise.all(
        limited.map(async (one) => ({
          ...one,
          before: await books.find(one.place.accountId, one.place.id),
        })),
      )
      const wait = Math.max(
        ...opened.map(({ before, limits }) => secondsToWait(before?.doc.sent ?? [], now, limits)),
      )
      if (wait > 0) return wait
      for (const { place, limits, before } of opened) {
        const doc = { sent: [...recent(before?.doc.sent ?? [], now, limits), now] }
        putDocument(set, books, place, { before, doc, hidden: {} })
      }
      return 0
    },

    /** A verified address has no limit. */
    async forget(set: ChangeSet, email: string) {
      const { accountId, id } = ofAddress(email)
      const record = await books.find(accountId, id)
      if (record) books.remove(set, record)
    },
  }
}
