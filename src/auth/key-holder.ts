import type { ClaimHolder } from '../storage/change-set.ts'
import type { Records } from '../storage/records.ts'
import type { DigestMethod } from './credentials.ts'
import type { Asker, Deriver } from './deriving/deriver.ts'

/** Where sign-in keys are looked for: an account, or nobody's place, where none is found in the same time. */
export interface KeyPlace {
  accountId: string
  /** Hex. */
  salt: string
}

/**
 * Who holds a sign-in key that is made of this digest, of whatever layer. All layers are looked up, the weaker ones
 * first: a key that gets another layer meanwhile is found where it went.
 */
export const keyHolder = async (
  { records, deriver }: { records: Records; deriver: Deriver },
  asker: Asker,
  { accountId, salt }: KeyPlace,
  { method, digest }: { method: DigestMethod; digest: string },
): Promise<ClaimHolder | undefined> => {
  let holder: ClaimHolder | undefined
  for (const value of await deriver.signInKeys(asker, salt, method, digest)) {
    const found = await records.claimant({ scope: accountId, name: 'sign_in', value })
    holder ??= found
  }
  return holder
}
