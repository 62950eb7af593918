import { createHash } from 'node:crypto'
import type { AccountRecord, UserRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure, forbidden, tooManyRequests } from '../../../lib/failure.ts'
import { randomKey } from '../../../lib/ids.ts'
import { removalWithOwner } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import type { DepsOf } from '../../area.ts'
import {
  afterFailure,
  afterSuccess,
  appLabel,
  type FactorHidden,
  freshStep,
  neverUsed,
  plainRecoveryCode,
  recoveryCodeBytes,
  recoveryCodeCount,
  recoveryCodeText,
} from './rules.ts'
import { createFactorStore, type FactorRecord } from './store.ts'
import { otpauthUrl } from './totp.ts'

interface Holder {
  account: AccountRecord
  user: UserRecord
}

/** Set after the first code: the recovery codes, shown once. */
interface Passed {
  recoveryCodes: string[] | undefined
}

export type Factors = ReturnType<typeof createFactors>

export const createFactors = ({ store, keyring }: DepsOf<'store' | 'keyring'>) => {
  const factors = createFactorStore(store)
  const { clock } = store
  const unixNow = () => clock.now() / 1000
  const contextOf = ({ account, user }: Holder) => `second_factor/${account.id}/${user.id}`
  const find = ({ account, user }: Holder) => factors.find(account.id, user.id)

  const secretOf = (holder: Holder, factor: FactorRecord) =>
    Buffer.from(keyring.open(factor.hidden.sealedSecret, contextOf(holder)), 'base64')

  const derive = (holder: Holder, code: string) =>
    createHash('sha256')
      .update(`${contextOf(holder)}/${plainRecoveryCode(code)}`)
      .digest('base64url')

  const save = async (author: Author, factor: FactorRecord, hidden: FactorHidden, verified: boolean) => {
    const set = new ChangeSet(author)
    factors.replace(set, factor, factors.revise(factor, { doc: { ...factor.doc, verified }, hidden }))
    await store.commit(set)
  }

  const enrol = async (author: Author, holder: Holder): Promise<FactorRecord> => {
    const hidden: FactorHidden = {
      sealedSecret: keyring.seal(randomKey(20).toString('base64'), contextOf(holder)),
      lastStep: neverUsed(unixNow()),
      recoveryCodes: [],
      failures: 0,
      blockedUntil: 0,
    }
    const doc = { provider_name: 'otp' as const, verified: false }
    const factor = factors.draft(holder.account.id, { doc, hidden }, holder.user.id)
    const set = new ChangeSet(author)
    requireRecord(set, holderOf(holder.user))
    factors.insert(set, factor)
    await store.commit(set)
    return factor
  }

  const assertNotBlocked = ({ hidden: { blockedUntil } }: FactorRecord) => {
    const left = blockedUntil - unixNow()
    if (left > 0) throw failure(tooManyRequests, { retryAfterSeconds: Math.ceil(left) })
  }

  const takeCode = async (author: Author, holder: Holder, factor: FactorRecord, step: number) => {
    if (factor.doc.verified) {
      await save(author, factor, afterSuccess(factor.hidden, { lastStep: step }), true)
      return { recoveryCodes: undefined }
    }
    const codes = Array.from({ length: recoveryCodeCount }, () =>
      recoveryCodeText(randomKey(recoveryCodeBytes)),
    )
    const derived = codes.map((code) => derive(holder, code))
    await save(author, factor, afterSuccess(factor.hidden, { lastStep: step, recoveryCodes: derived }), true)
    return { recoveryCodes: codes }
  }

  const takeRecoveryCode = async (author: Author, factor: FactorRecord, derived: string) => {
    const recoveryCodes = factor.hidden.recoveryCodes.filter((code) => code !== derived)
    await save(author, factor, afterSuccess(factor.hidden, { recoveryCodes }), true)
    return { recoveryCodes: undefined }
  }

  return {
    isVerified: async (holder: Holder) => (await find(holder))?.doc.verified === true,

    /** The address for an authenticator app. It is not shown after the first good code. */
    async enrolmentUrl(author: Author, holder: Holder): Promise<string> {
      const factor = (await find(holder)) ?? (await enrol(author, holder))
      if (factor.doc.verified) throw failure(forbidden, { message: 'QR code already verified.' })
      const { account, user } = holder
      return otpauthUrl({
        key: secretOf(holder, factor),
        ...appLabel(account.doc.name, user.doc.username),
      })
    },

    /** Checks a code or recovery code. The first good one verifies the factor. Throws 429 after too many wrong ones. */
    async pass(author: Author, holder: Holder, response: string): Promise<Passed | undefined> {
      const factor = await find(holder)
      if (!factor) return undefined
      assertNotBlocked(factor)
      const step = freshStep(secretOf(holder, factor), response.trim(), unixNow(), factor.hidden.lastStep)
      if (step !== undefined) return takeCode(author, holder, factor, step)
      const derived = derive(holder, response)
      if (factor.hidden.recoveryCodes.includes(derived)) return takeRecoveryCode(author, factor, derived)
      await save(author, factor, afterFailure(factor.hidden, unixNow()), factor.doc.verified)
      return undefined
    },

    removeWith: removalWithOwner(factors),

    /** Removes the factor of a user who lost it: the next sign-in enrols another. */
    async remove(author: Author, holder: Holder) {
      const factor = await find(holder)
      if (!factor) throw failure(badIdentifier, { cause: holder.user.id })
      const set = new ChangeSet(author)
      factors.remove(set, factor)
      await store.commit(set)
    },
  }
}
