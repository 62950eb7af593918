import { domainOf } from '../../src/areas/brand/whitelabel/rules.ts'
import { sipAddressOf, sipIdentityOf } from '../../src/areas/voice/devices/rules.ts'
import type { Json } from '../../src/lib/json.ts'
import type { KazooDocument } from '../documents/document.ts'
import { textIn, timesOf } from '../documents/fields.ts'

export interface PeopleContext {
  accountId: string
  realm: string
  /** Shared names that records of other accounts keep: see `lostNames`. */
  lost: ReadonlySet<string>
  /** Notices and the names that their templates may use. */
  notices: Readonly<Record<string, { macros: Readonly<Record<string, { isSecret?: boolean }>> }>>
  /** Settings that accounts may override. */
  accountSettings: ReadonlySet<string>
  /** Imported providers of second factors, by `providerKey`. */
  providers: ReadonlySet<string>
}

/** The other documents of the account. */
export interface People extends PeopleContext {
  /** Reserves a name of the account; false if it is taken. */
  hold(kind: string, value: string): boolean
  users: ReadonlySet<string>
  devices: ReadonlySet<string>
  /** The latest document of packet limits, by owner. */
  packetLimits: ReadonlyMap<string, KazooDocument>
  /** The account may have another realm here. */
  storedRealm: string | undefined
}

export const providerKey = (accountId: string, id: string) => `${accountId}/${id}`

/** The oldest document keeps a name. */
export const inOrderOfAge = (documents: readonly KazooDocument[]) =>
  documents
    .map((document) => ({ document, created: timesOf(document.fields).created }))
    .sort((a, b) => a.created - b.created || (a.document.id < b.document.id ? -1 : 1))
    .map(({ document }) => document)

export const createNames = () => {
  const held = new Set<string>()
  return (kind: string, value: string) => held.size < held.add(`${kind} ${value}`).size
}

// Names that only one account may have: domains, addresses of phones without a password, SIP identities
// under a custom realm. They are gathered from all accounts first.

export interface SharedName {
  kind: 'domain' | 'sip_ip' | 'sip_identity'
  value: string
  accountId: string
  id: string
  created: number
}

const keyOfLost = ({ kind, value, accountId, id }: SharedName) => JSON.stringify([kind, value, accountId, id])

export const sharedNamesOf = (
  { id, type, fields }: KazooDocument,
  doc: Json,
  accountId: string,
): SharedName[] => {
  const { created } = timesOf(fields)
  const claim = (kind: SharedName['kind'], value: unknown): SharedName[] =>
    typeof value === 'string' ? [{ kind, value, accountId, id, created }] : []
  if (type === 'whitelabel') return claim('domain', domainOf({ domain: textIn(doc, 'domain') ?? '' }))
  const identity = sipIdentityOf(doc)
  if (typeof identity?.username === 'string' && typeof identity.realm === 'string')
    return claim('sip_identity', JSON.stringify([identity.realm, identity.username]).toLowerCase())
  return claim('sip_ip', sipAddressOf(doc))
}

export const isNameLost = (
  document: KazooDocument,
  doc: Json,
  { accountId, lost }: Pick<PeopleContext, 'accountId' | 'lost'>,
) => sharedNamesOf(document, doc, accountId).some((name) => lost.has(keyOfLost(name)))

const isOlder = (one: SharedName, other: SharedName) =>
  one.created - other.created || (one.accountId + one.id < other.accountId + other.id ? -1 : 1)

/** The oldest holder keeps a name; returns the keys of all others. */
export const lostNames = (names: Iterable<SharedName>): Set<string> => {
  const byName = Map.groupBy(names, ({ kind, value }) => `${kind} ${value}`).values()
  return new Set([...byName].flatMap((claims) => claims.sort(isOlder).slice(1).map(keyOfLost)))
}
