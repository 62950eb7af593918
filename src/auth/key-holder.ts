import type { Records } from '../storage/records.ts'
import { type DigestMethod, isEmptyPassword } from './credentials.ts'
import type { Asker, PasswordHasher } from './deriving/deriver.ts'
import { type UserRecord, userKind } from './identity.ts'

/** Where sign-in keys are looked for: an account, or nobody's place, where none is found in the same time. */
export interface KeyPlace {
  accountId: string
  /** Hex. */
  salt: string
}

/**
 * The user whose sign-in key is made of this digest, of whatever layer. All layers are looked up, the weaker ones first:
 * a key that gets another layer during the look-up is found there.
 */
export const keyHolder = async (
  { records, deriver }: { records: Records; deriver: PasswordHasher },
  asker: Asker,
  { accountId, salt }: KeyPlace,
  { method, digest }: { method: DigestMethod; digest: string },
): Promise<UserRecord | undefined> => {
  let holderId: string | undefined
  for (const value of await deriver.signInKeys(asker, salt, method, digest)) {
    const found = await records.claimant({ scope: accountId, name: 'sign_in', value })
    holderId ??= found?.id
  }
  const user = holderId === undefined ? undefined : await records.find(accountId, userKind, holderId)
  return user && !isEmptyPassword(method, digest, user.doc.username) ? user : undefined
}
