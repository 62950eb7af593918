import { hash } from 'node:crypto'
import { nameKey } from '../../src/areas/accounts/accounts/rules.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { derivedId, isGone, textIn, timesOf } from '../documents/fields.ts'
import { finding } from './findings.ts'
import { createNames } from './people-context.rules.ts'

/** Where copies of the documents of all accounts lie. */
export const copiesDatabase = 'accounts'

/** What of an account's document decides about the tree: little, because there are many of them. */
export interface SeenAccount {
  id: string
  /** In which it was found: the account's own, or the one with copies of all. */
  database: string
  isGone: boolean
  created: number
  name: string | undefined
  realm: string | undefined
  /** As it is stored there: ids of those above, the master account first. */
  tree: readonly string[]
  /** Of a missing tree nothing follows. */
  hasTree: boolean
  isReseller: boolean
  resellerId: string | undefined
  isEnabled: boolean
  /** By which it is seen that two accounts have one API key. */
  keyMark: string | undefined
}

/** The text, or both of them if there are two. */
const treeIn = ({ pvt_tree: tree }: Json): string[] =>
  (Array.isArray(tree) ? tree : [tree]).filter((id): id is string => typeof id === 'string' && id !== '')

/** Nobody but the account's own administration switches it off. */
export const isEnabledIn = ({ pvt_enabled: enabled }: Json) => enabled !== false && enabled !== 'false'

/** Whether somebody flagged it as a reseller, or as an operator, who is one. */
const isResellerIn = ({ pvt_reseller: reseller, pvt_superduper_admin: operator }: Json) =>
  isTrue(reseller) || isTrue(operator)

/** Reads what decides about the tree. Of a document that is no account's it is undefined. */
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

/** Who stands above whom; the master account above everybody. */
type Parents = Map<string, string | undefined>

interface Known {
  /** Accounts that stand here, and those that may have to, by id. */
  get(id: string): SeenAccount | undefined
}

/** The accounts above, as they are stored, the nearest first; those that nobody knows, and the account itself, left out. */
const candidates = ({ id, tree }: SeenAccount, known: Known) =>
  tree.filter((above) => above !== id && known.get(above) !== undefined).toReversed()

/** Those who are there, and those above them who have to be although nothing of them is left but a copy. */
export const withAncestors = (present: ReadonlyMap<string, SeenAccount>, copies: Known) => {
  const all = new Map(present)
  const known = { get: (id: string) => present.get(id) ?? copies.get(id) }
  // A map hands out what is added to it while it is being walked.
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
 * The parent of each: the last one of its stored tree that is there; of those who have none, the master account. A
 * circle is cut at its oldest account, which comes to stand below another one of its tree, or below the master.
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

/** Takes out accounts that had to be there for those below them, and have nobody below them in the end. */
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

/** Everybody below the master account, each behind who stands above it. */
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
