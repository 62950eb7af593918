import { hash } from 'node:crypto'
import { isTrue, type Json } from '../../../src/lib/json.ts'
import type { KazooDocument } from '../../documents/document.ts'
import { isGone, textIn, timesOf } from '../../documents/fields.ts'

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
