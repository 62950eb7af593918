import { weakKeyMarks } from '../../../auth/credentials.ts'
import type { PasswordHasher } from '../../../auth/deriving/deriver.ts'
import type { StepwiseWork } from '../../../jobs/steps.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { createUserStore } from './store.ts'

// Each has up to two keys, and each key takes some 60 ms for every layer it lacks.
const usersPerStep = 10

/** Adds missing layers to stored sign-in keys, without the passwords. */
export const createKeyRenewal = (store: Store, deriver: PasswordHasher): StepwiseWork => {
  const users = createUserStore(store)

  // Found by their keys, so that new and renamed users are included.
  const weakHolders = async (accountId: string) => {
    const ids = new Set<string>()
    for (const mark of weakKeyMarks)
      for (const { id } of await store.records.claimants(accountId, 'sign_in', mark, 2 * usersPerStep))
        ids.add(id)
    return [...ids]
  }

  return async (author, account) => {
    const ids = await weakHolders(account.id)
    const sets: ChangeSet[] = []
    for (const id of ids.slice(0, usersPerStep)) {
      const user = await users.find(account.id, id)
      if (!user) continue
      const signInKeys: string[] = []
      for (const key of user.hidden.signInKeys)
        signInKeys.push(await deriver.strongestKey(account.id, account.hidden.signInSalt, key))
      const set = new ChangeSet(author)
      users.replace(set, user, users.revise(user, { hidden: { ...user.hidden, signInKeys } }))
      sets.push(set)
    }
    const isLast = sets.length === 0 || ids.length <= usersPerStep
    return { sets, changed: sets.length, ...(isLast ? {} : { next: 'more' }) }
  }
}
