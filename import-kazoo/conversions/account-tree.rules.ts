import { hash } from 'node:crypto'
import { nameKey } from '../../src/areas/accounts/accounts/rules.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, isGone, textIn, timesOf } from '../documents/fields.ts'
import { finding, maxNameLength } from './findings.ts'
import { createNames } from './people-context.rules.ts'

export const copiesDatabase = 'accounts'

export interface SeenAccount {
  id: string
  database: string
  isGone: boolean
  created: number
  name: string | undefined
  realm: string | undefined
  /** Ids of the ancestors, the master account first. */
  tree: readonly string[]
  /** False if the document has no tree. */
  hasTree: boolean
  isReseller: boolean
  resellerId: string | undefined
  isEnabled: boolean
  /** Equal for accounts with the same API key. */
  keyMark: string | undefined
}

const treeIn = ({ pvt_tree: tree }: Json): string[] =>
  (Array.isArray(tree) ? tree : [tree]).filter((id): id is string => typeof id === 'string' && id !== '')

/** Only the account's own setting disables it. */
export const isEnabledIn = ({ pvt_enabled: enabled }: Json) => enabled !== false && enabled !== 'false'

/** Operators are resellers, too. */
const isResellerIn = ({ pvt_reseller: reseller, pvt_superduper_admin: operator }: Json) =>
  isTrue(reseller) || isTrue(operator)

export const seenAccount = ({ id, database, type, fields }: KazooDocument): SeenAccount | undefined => {
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
    tree: treeIn(fields),
    hasTree: Array.isArray(fields.pvt_tree),
    isReseller: isResellerIn(fields),
    resellerId: textIn(fields, 'pvt_reseller_id'),
    isEnabled: isEnabledIn(fields),
    keyMark: apiKey === undefined ? undefined : hash('sha256', apiKey, 'hex').slice(0, 16),
  }
}

type Parents = Map<string, string | undefined>

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

const olderFirst = (a: SeenAccount, b: SeenAccount) => a.created - b.created || (a.id < b.id ? -1 : 1)

export const oldestOf = (accounts: Iterable<SeenAccount>): SeenAccount | undefined =>
  [...accounts].reduce<SeenAccount | undefined>(
    (oldest, one) => (oldest === undefined || olderFirst(one, oldest) < 0 ? one : oldest),
    undefined,
  )

const inOrderOfAge = (accounts: Iterable<SeenAccount>) => [...accounts].sort(olderFirst)

/**
 * The parent is the last existing account of the stored tree, else the master account. A cycle is cut at its
 * oldest account.
 */
export const parentsOf = (accounts: ReadonlyMap<string, SeenAccount>, masterId: string): Parents => {
  const parents: Parents = new Map()
  for (const account of accounts.values()) {
    const [parent = masterId] = candidates(account, accounts)
    parents.set(account.id, account.id === masterId ? undefined : parent)
  }
  const reachesMaster = new Set(topDown(parents, masterId))

  const cut = (circle: readonly string[]) => {
    const oldest = oldestOf(circle.flatMap((id) => accounts.get(id) ?? []))
    if (!oldest) return
    const other = candidates(oldest, accounts).find((id) => reachesMaster.has(id))
    parents.set(oldest.id, other ?? masterId)
  }

  for (const { id: start } of inOrderOfAge(accounts.values())) {
    const path: string[] = []
    const places = new Map<string, number>()
    let at = start
    while (!reachesMaster.has(at) && !places.has(at)) {
      places.set(at, path.length)
      path.push(at)
      at = parents.get(at) ?? masterId
    }
    const begun = places.get(at)
    if (begun !== undefined) cut(path.slice(begun))
    for (const id of path) reachesMaster.add(id)
  }
  return parents
}

/** Removes added ancestors that have no descendants. */
export const withoutBarren = (parents: Parents, isNeeded: (id: string) => boolean): Parents => {
  const left = new Map(parents)
  const children = new Map<string, number>()
  for (const parent of parents.values())
    if (parent !== undefined) children.set(parent, (children.get(parent) ?? 0) + 1)
  const barren = [...parents.keys()].filter((id) => !isNeeded(id) && !children.has(id))
  for (const id of barren) {
    left.delete(id)
    const parent = parents.get(id)
    if (parent === undefined) continue
    const others = (children.get(parent) ?? 0) - 1
    children.set(parent, others)
    if (others === 0 && !isNeeded(parent)) barren.push(parent)
  }
  return left
}

/** All accounts, ancestors first. */
export const topDown = (parents: Parents, masterId: string): string[] => {
  const below = new Map<string, string[]>()
  for (const [id, parent] of parents) {
    if (parent === undefined) continue
    const siblings = below.get(parent)
    if (siblings) siblings.push(id)
    else below.set(parent, [id])
  }
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
