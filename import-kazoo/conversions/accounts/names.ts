import { nameKey } from '../../../src/areas/accounts/rules.ts'
import { derivedId } from '../../documents/derived-id.ts'
import type { Finding } from '../../documents/document.ts'
import { finding } from '../findings.ts'
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
 * one that is made up: phones have to learn it.
 */
export const namesOf = (accounts: Iterable<SeenAccount>, realmSuffix: string) => {
  const byAge = inOrderOfAge(accounts)
  const names = new Map<string, AccountNames>()
  const findings: Finding[] = []
  const [heldNames, heldRealms, heldKeys] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const hold = (held: Set<string>, value: string) => {
    if (held.has(value)) return false
    held.add(value)
    return true
  }

  const keeps = new Map<string, boolean>()
  for (const { id, realm } of byAge)
    keeps.set(id, realm !== undefined && realmForm.test(realm) && hold(heldRealms, realm.toLowerCase()))

  const madeUpRealm = ({ id, database }: SeenAccount) => {
    for (let attempt = 0; ; attempt += 1) {
      const realm = `${derivedId(database, id, `realm ${attempt}`).slice(0, realmDigits)}.${realmSuffix}`
      if (hold(heldRealms, realm.toLowerCase())) return realm
    }
  }

  const realmOf = (account: SeenAccount) => {
    const { realm } = account
    if (realm !== undefined && keeps.get(account.id)) return realm
    const made = madeUpRealm(account)
    const code = realm !== undefined && realmForm.test(realm) ? 'realm_taken' : 'realm_invalid'
    const told = { field: 'realm', new: made, ...(realm === undefined ? {} : { old: realm }) }
    findings.push(finding(account, 'needs_hand', code, told))
    return made
  }

  const nameClaimOf = (account: SeenAccount) => {
    const name = accountNameOf(account)
    const key = nameKey(name)
    if (hold(heldNames, key)) return key
    findings.push(finding(account, 'repaired', 'name_shared', { field: 'name', old: name }))
    return `${key}/${account.id}`
  }

  const isKeyTaken = (account: SeenAccount) => {
    if (account.keyMark === undefined || hold(heldKeys, account.keyMark)) return false
    findings.push(finding(account, 'needs_hand', 'api_key_taken', { field: 'pvt_api_key' }))
    return true
  }

  for (const account of byAge)
    names.set(account.id, {
      realm: realmOf(account),
      nameClaim: nameClaimOf(account),
      isKeyTaken: isKeyTaken(account),
    })
  return { names, findings }
}
