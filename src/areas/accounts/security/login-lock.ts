import type { AccountRecord } from '../../../auth/identity.ts'
import { failure, SignInRefusal } from '../../../lib/failure.ts'
import { authSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { putDocument } from '../../../storage/collection.ts'
import { retrying } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { accountIsLocked } from './failures.ts'
import { createLockStore, type LockHidden } from './store.ts'

export type LoginLock = ReturnType<typeof createLoginLock>

/** Too many failed sign-ins lock an account for a while, where `lock_account_on_failed_attempts` is set. */
export const createLoginLock = ({ store, settings, log }: DepsOf<'store' | 'settings' | 'log'>) => {
  const locks = createLockStore(store)
  const unixNow = () => Math.floor(store.clock.now() / 1000)
  const find = (account: AccountRecord) => locks.find(account.id, account.id)
  const rule = async () => {
    const auth = await settings.of(authSettings)
    return auth.lock_account_on_failed_attempts ? auth : undefined
  }

  const isLocked = async (account: AccountRecord) => {
    if (!(await rule())) return false
    const lock = await find(account)
    return lock !== undefined && lock.hidden.lockedUntil > unixNow()
  }

  const counted = (before: LockHidden | undefined, most: number, seconds: number): LockHidden => {
    const now = unixNow()
    const isOld = before === undefined || now - before.since > seconds
    const failures = isOld ? 1 : before.failures + 1
    const since = isOld ? now : before.since
    return { failures, since, lockedUntil: failures >= most ? now + seconds : 0 }
  }

  const unlockWith = async (set: ChangeSet, account: AccountRecord) => {
    const lock = await find(account)
    if (lock) locks.remove(set, lock)
  }

  /** The same format as log lines of rejected sign-ins. */
  const tellLocked = ({ clientAddress }: Author, { id }: AccountRecord, seconds: number) =>
    log.write('info', 'account locked', {
      client_address: clientAddress,
      account_id: id,
      reason: 'too many failed sign-ins',
      seconds,
    })

  const noteLocked = (set: ChangeSet, { id }: AccountRecord, seconds: number) => {
    const { clientAddress } = set.author
    const facts = {
      reason: 'too many failed sign-ins',
      client_address: clientAddress,
      locked_seconds: seconds,
    }
    const after = JSON.stringify(facts)
    set.happened({ accountId: id, type: 'sign_in.refused', kind: 'account', id, after })
  }

  return {
    isLocked,

    async assertUnlocked(account: AccountRecord) {
      if (await isLocked(account))
        throw failure(accountIsLocked, {}, new SignInRefusal('the account is locked', account.id))
    },

    async countFailure(author: Author, account: AccountRecord) {
      const auth = await rule()
      if (!auth) return
      await retrying(async () => {
        const lock = await find(account)
        const hidden = counted(lock?.hidden, auth.failed_attempts_until_lock, auth.lock_s)
        const set = new ChangeSet(author)
        putDocument(set, locks, account, { before: lock, doc: {}, hidden })
        const isNew = hidden.lockedUntil > (lock?.hidden.lockedUntil ?? 0)
        if (isNew) noteLocked(set, account, auth.lock_s)
        await store.commit(set)
        if (isNew) tellLocked(author, account, auth.lock_s)
      })
    },

    unlockWith,

    /** Resets the failures: after a sign-in, or by an ancestor. */
    async unlock(author: Author, account: AccountRecord) {
      const set = new ChangeSet(author)
      await unlockWith(set, account)
      if (set.changes.length > 0) await store.commit(set)
    },
  }
}
