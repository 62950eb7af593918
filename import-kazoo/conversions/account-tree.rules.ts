import { hash } from 'node:crypto'
import { nameKey } from '../../src/areas/accounts/accounts/rules.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, inOrder, isGone, textIn, textsIn, timesOf } from '../documents/fields.ts'
import { finding, maxNameLength } from './findings.ts'
import { createNames } from './people-context.rules.ts'

export const copiesDatabase = 'accounts'

/** Only the account's own setting disables it. */
export const isEnabledIn = ({ pvt_enabled: enabled }: Json) => enabled !== false && enabled !== 'false'

export const seenAccount = ({ id, database, type, fields }: KazooDocument) => {
  const wasDeleted = isGone(fields)
  if (type !== 'account' && !(wasDeleted && database === copiesDatabase)) return undefined
  const apiKey = textIn(fields, 'pvt_api_key')
  return {
    id,
    database,
    isGone: wasDeleted,
    created: timesOf(fields).created,
    name: textIn(fields, 'name'),
    realm: textIn(fields, 'realm'),
    /** Ids of the ancestors, the master account first. */
    tree: textsIn(fields.pvt_tree),
    hasTree: Array.isArray(fields.pvt_tree),
    // Operators are resellers, too.
    isReseller: isTrue(fields.pvt_reseller) || isTrue(fields.pvt_superduper_admin),
    resellerId: textIn(fields, 'pvt_reseller_id'),
    isEnabled: isEnabledIn(fields),
    /** Equal for accounts with the same API key. */
    keyMark: apiKey === undefined ? undefined : hash('sha256', apiKey, 'hex').slice(0, 16),
  }
}

export type SeenAccount = NonNullable<ReturnType<typeof seenAccount>>

type Parents = ReadonlyMap<string, string | undefined>

interface Known {
  get(id: string): SeenAccount | undefined
}

/** The stored ancestors that exist, nearest first. */
const candidates = ({ id, tree }: SeenAccount, known: Known) =>
  tree.filter((above) => above !== id && known.get(above) !== undefined).toReversed()

/** Adds ancestors of which only a copy is left. */
export const withAncestors = (present: ReadonlyMap<string, SeenAccount>, copies: Known) => {
  const all = new Map(present)
  const known = { get: (id: string) => present.get(id) ?? copies.get(id) }
  // The loop also visits accounts that it adds.
  for (const account of all.values()) {
    const [parentId] = candidates(account, known)
    const parent = parentId === undefined ? undefined : known.get(parentId)
    if (parent && !all.has(parent.id)) all.set(parent.id, parent)
  }
  return all
}

const inOrderOfAge = (accounts: Iterable<SeenAccount>) =>
  inOrder(accounts, ({ created, id }) => [created, id])

export const oldestOf = (accounts: Iterable<SeenAccount>) => inOrderOfAge(accounts)[0]

/**
 * The parent is the last existing account of the stored tree, else the master account. A cycle is cut at its
 * oldest account.
 */
export const parentsOf = (accounts: ReadonlyMap<string, SeenAccount>, masterId: string): Parents => {
  const parents = new Map<string, string | undefined>()
  for (const account of accounts.values()) {
    const [parent = masterId] = candidates(account, accounts)
    parents.set(account.id, account.id === masterId ? undefined : parent)
  }
  const reachesMaster = new Set(topDown(parents, masterId))
  for (const { id } of inOrderOfAge(accounts.values())) {
    const way = new Set<string>()
    let at = id
    for (; !reachesMaster.has(at) && !way.has(at); at = parents.get(at) ?? masterId) way.add(at)
    const cycle = way.has(at) ? [...way].slice([...way].indexOf(at)) : []
    const oldest = oldestOf(cycle.flatMap((one) => accounts.get(one) ?? []))
    const other = oldest && candidates(oldest, accounts).find((one) => reachesMaster.has(one))
    if (oldest) parents.set(oldest.id, other ?? masterId)
    for (const one of way) reachesMaster.add(one)
  }
  return parents
}

/** Removes added ancestors that have no descendants. */
export const withoutBarren = (parents: Parents, isNeeded: (id: string) => boolean): Parents => {
  const kept = new Set<string>()
  for (const id of parents.keys().filter(isNeeded))
    for (let at: string | undefined = id; at !== undefined && !kept.has(at); at = parents.get(at))
      kept.add(at)
  return new Map([...parents].filter(([id]) => kept.has(id)))
}

/** All accounts, ancestors first. */
export const topDown = (parents: Parents, masterId: string): string[] => {
  const below = Map.groupBy(parents.keys(), (id) => parents.get(id))
  const order = [masterId]
  for (const id of order) for (const child of (below.get(id) ?? []).sort()) order.push(child)
  return order
}

export interface AccountNames {
  realm: string
  /** Unique: has the account's id appended if an older account has the name. */
  nameClaim: string
  /** Whether an older account has the same API key. */
  isKeyTaken: boolean
}

const realmForm = /^[.\w-]{4,253}$/
const realmDigits = 6

const accountNameOf = ({ id, name, realm }: Pick<SeenAccount, 'id' | 'name' | 'realm'>) =>
  (name ?? realm ?? id).slice(0, maxNameLength)

/**
 * The oldest account keeps a name, realm or API key. Accounts without a free realm get a generated one,
 * which phones must learn.
 */
export const namesOf = (accounts: Iterable<SeenAccount>, realmSuffix: string) => {
  const byAge = inOrderOfAge(accounts)
  const findings: Finding[] = []
  const hold = createNames()
  const isRealm = (realm: string | undefined) => realm !== undefined && realmForm.test(realm)
  const holdRealm = (realm: string) => hold('realm', realm.toLowerCase())
  // Generated realms must not take the realm of a younger account.
  const keepsRealm = new Set(byAge.filter(({ realm = '' }) => isRealm(realm) && holdRealm(realm)))

  const generatedRealm = ({ id, database }: SeenAccount) => {
    for (let attempt = 0; ; attempt += 1) {
      const realm = `${derivedId(database, id, `realm ${attempt}`).slice(0, realmDigits)}.${realmSuffix}`
      if (holdRealm(realm)) return realm
    }
  }

  const namesOfOne = (account: SeenAccount): AccountNames => {
    const { id, realm: old, keyMark } = account
    const keeps = old !== undefined && keepsRealm.has(account)
    const realm = keeps ? old : generatedRealm(account)
    const code = isRealm(old) ? 'realm_taken' : 'realm_invalid'
    if (!keeps) findings.push(finding(account, 'needs_hand', code, { field: 'realm', old, new: realm }))
    const name = accountNameOf(account)
    const key = nameKey(name)
    const isNameFree = hold('name', key)
    if (!isNameFree) findings.push(finding(account, 'repaired', 'name_shared', { field: 'name', old: name }))
    const isKeyTaken = keyMark !== undefined && !hold('key', keyMark)
    if (isKeyTaken) findings.push(finding(account, 'needs_hand', 'api_key_taken', { field: 'pvt_api_key' }))
    return { realm, nameClaim: isNameFree ? key : `${key}/${id}`, isKeyTaken }
  }
  return { names: new Map(byAge.map((account) => [account.id, namesOfOne(account)])), findings }
}
