import { nameKey } from '../../../src/areas/accounts/accounts/rules.ts'
import type { Finding } from '../../documents/document.ts'
import { derivedId } from '../../documents/fields.ts'
import { finding } from '../findings.ts'
import { createNames } from '../people/context.ts'
import { inOrderOfAge } from './parents.ts'
import type { SeenAccount } from './seen.ts'

/** What an account is called here. */
export interface AccountNames {
  realm: string
  /** What its name is found by: not the plain one where an older account has that. */
  nameClaim: string
  /** Whether an older account has the same API key. */
  isKeyTaken: boolean
}

const realmForm = /^[.\w-]{4,253}$/
const realmDigits = 6

export const longestName = 128

/** What an account is called that says nothing, or too much. */
export const accountNameOf = ({ id, name, realm }: Pick<SeenAccount, 'id' | 'name' | 'realm'>) =>
  (name ?? realm ?? id).slice(0, longestName)

/**
 * Gives names, realms and API keys to the oldest account that has them. A realm that is taken, or none, is replaced by
 * a generated one: phones have to learn it.
 */
export const namesOf = (accounts: Iterable<SeenAccount>, realmSuffix: string) => {
  const byAge = inOrderOfAge(accounts)
  const findings: Finding[] = []
  const hold = createNames()
  const isRealm = (realm: string | undefined) => realm !== undefined && realmForm.test(realm)
  const holdRealm = (realm: string) => hold('realm', realm.toLowerCase())
  // Generated realms must not take one that a younger account has.
  const keepsRealm = new Set(byAge.filter(({ realm = '' }) => isRealm(realm) && holdRealm(realm)))

  const generatedRealm = ({ id, database }: SeenAccount) => {
    for (let attempt = 0; ; attempt += 1) {
      const realm = `${derivedId(database, id, `realm ${attempt}`).slice(0, realmDigits)}.${realmSuffix}`
      if (holdRealm(realm)) return realm
    }
  }

  const realmOf = (account: SeenAccount) => {
    const { realm } = account
    if (realm !== undefined && keepsRealm.has(account)) return realm
    const generated = generatedRealm(account)
    const code = isRealm(realm) ? 'realm_taken' : 'realm_invalid'
    findings.push(finding(account, 'needs_hand', code, { field: 'realm', old: realm, new: generated }))
    return generated
  }

  const nameClaimOf = (account: SeenAccount) => {
    const name = accountNameOf(account)
    const key = nameKey(name)
    if (hold('name', key)) return key
    findings.push(finding(account, 'repaired', 'name_shared', { field: 'name', old: name }))
    return `${key}/${account.id}`
  }

  const isKeyTaken = (account: SeenAccount) => {
    if (account.keyMark === undefined || hold('key', account.keyMark)) return false
    findings.push(finding(account, 'needs_hand', 'api_key_taken', { field: 'pvt_api_key' }))
    return true
  }

  const namesOfOne = (account: SeenAccount): AccountNames => ({
    realm: realmOf(account),
    nameClaim: nameClaimOf(account),
    isKeyTaken: isKeyTaken(account),
  })
  return { names: new Map(byAge.map((account) => [account.id, namesOfOne(account)])), findings }
}
