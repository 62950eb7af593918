import { domainOf } from '../../src/areas/brand/whitelabel/rules.ts'
import { sipAddressOf, sipIdentityOf } from '../../src/areas/voice/devices/rules.ts'
import type { Json } from '../../src/lib/json.ts'
import type { KazooDocument } from '../documents/document.ts'
import { inOrder, textIn, timesOf } from '../documents/fields.ts'
import type { Conversion } from './findings.ts'

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

export type PeopleConversion = Conversion<People>

export const providerKey = (accountId: string, id: string) => `${accountId}/${id}`

export const createNames = () => {
  const held = new Set<string>()
  return (kind: string, value: string) => held.size < held.add(`${kind} ${value}`).size
}

/**
 * A name that only one account may have: a domain, the address of a phone without a password, a SIP identity
 * under a custom realm. They are gathered from all accounts first.
 */
export interface SharedName {
  kind: 'domain' | 'sip_ip' | 'sip_identity'
  value: string
  accountId: string
  id: string
  created: number
}

const keyOfLost = ({ kind, value, accountId, id }: SharedName) => JSON.stringify([kind, value, accountId, id])

const nameIn = (type: string, doc: Json): [kind: SharedName['kind'], value: unknown] => {
  if (type === 'whitelabel') return ['domain', domainOf({ domain: textIn(doc, 'domain') ?? '' })]
  const { username, realm } = sipIdentityOf(doc) ?? {}
  return typeof username === 'string' && typeof realm === 'string'
    ? ['sip_identity', JSON.stringify([realm, username]).toLowerCase()]
    : ['sip_ip', sipAddressOf(doc)]
}

export const sharedNamesOf = (
  { id, type, fields }: KazooDocument,
  doc: Json,
  accountId: string,
): SharedName[] => {
  const [kind, value] = nameIn(type, doc)
  return typeof value === 'string' ? [{ kind, value, accountId, id, created: timesOf(fields).created }] : []
}

export const isNameLost = (conversion: Conversion<Pick<PeopleContext, 'accountId' | 'lost'>>, doc: Json) =>
  sharedNamesOf(conversion, doc, conversion.accountId).some((name) => conversion.lost.has(keyOfLost(name)))

/** The oldest holder keeps a name; returns the keys of all others. */
export const lostNames = (names: Iterable<SharedName>): Set<string> => {
  const byName = Map.groupBy(names, ({ kind, value }) => `${kind} ${value}`).values()
  const younger = (claims: SharedName[]) =>
    inOrder(claims, ({ created, accountId, id }) => [created, accountId + id]).slice(1)
  return new Set(byName.flatMap(younger).map(keyOfLost))
}
