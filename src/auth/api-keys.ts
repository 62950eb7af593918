import { type Cidr, isInCidr, parseAddress, parseNetwork } from '../lib/cidr.ts'
import { unixOfGregorian } from '../lib/gregorian.ts'
import { kind, type RecordOf } from '../storage/records.ts'

// Checks of scopes. They run for each request, so they are synchronous.

/** `<area>:read`, `<area>:write`, or `*`. */
export type Scopes = readonly string[]

type ScopeAccess = 'read' | 'write'

/** Which API keys may call a route, regardless of its area: see RouteSpec. */
export type KeyRule = 'any' | 'unlimited' | 'none'

/** The scope that a request needs: the area is the resource of its route. */
export interface ScopeRequest {
  area: string
  access: ScopeAccess
  rule: KeyRule | undefined
}

export const everything = '*'

const sets = new WeakMap<Scopes, ReadonlySet<string>>()

const scopeSetOf = (scopes: Scopes) => {
  const known = sets.get(scopes) ?? new Set(scopes)
  sets.set(scopes, known)
  return known
}

/** The right to write in an area includes the right to read. */
const covers = (scopes: Scopes, area: string, access: ScopeAccess) => {
  const words = scopeSetOf(scopes)
  return (
    words.has(everything) || words.has(`${area}:write`) || (access === 'read' && words.has(`${area}:read`))
  )
}

/**
 * Whether a token with these scopes may send a request. Requests that limited keys may not send need all
 * scopes.
 */
export const letsPass = (scopes: Scopes, { area, access, rule }: ScopeRequest) => {
  if (rule === 'any') return true
  return rule === undefined ? covers(scopes, area, access) : scopes.includes(everything)
}

const isScopeWithin = (scope: string, of: Scopes) => {
  const [area = '', access] = scope.split(':')
  return scope === everything
    ? of.includes(everything)
    : covers(of, area, access === 'read' ? 'read' : 'write')
}

/** Whether these go nowhere beyond those. Undefined is everything. */
export const areScopesWithin = (scopes: Scopes | undefined, of: Scopes | undefined) =>
  of === undefined || (scopes ?? [everything]).every((scope) => isScopeWithin(scope, of))

/** The scopes of a record or document: an empty list restricts nothing. */
export const settingScopes = (list: unknown): Scopes | undefined =>
  Array.isArray(list) && list.length > 0 ? list : undefined

/** Scopes that both lists allow. Undefined: all. */
export const bothAllow = (one: Scopes | undefined, other: Scopes | undefined): Scopes | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  const within = (scopes: Scopes, of: Scopes) => scopes.filter((scope) => isScopeWithin(scope, of))
  return [...new Set([...within(one, other), ...within(other, one)])]
}

// The limits of named API keys. Read for each request, so nothing here waits or allocates.

export interface ApiKeyDoc {
  name: string
  /** `<area>:read`, `<area>:write`, or `*`. */
  scopes: Scopes
  /** Gregorian seconds. */
  expires?: number
  /** Where it may be used from: addresses and CIDRs. */
  networks?: readonly string[]
}

export interface ApiKeyHidden {
  /** SHA-256 of the key, hex. */
  hash: string
}

export const apiKeyKind = kind<ApiKeyDoc, ApiKeyHidden>('api_key')

export type ApiKeyRecord = RecordOf<typeof apiKeyKind>

export const isKeyAlive = ({ doc: { expires } }: ApiKeyRecord, unixMilliseconds: number) =>
  expires === undefined || unixOfGregorian(expires) * 1000 > unixMilliseconds

/** Whether it may do all that the account's one key may: from anywhere, and for ever. */
export const isUnlimited = ({ doc: { scopes, expires, networks } }: Pick<ApiKeyRecord, 'doc'>) =>
  scopes.includes(everything) && expires === undefined && networks === undefined

/** Whether the key's scope lets a request pass. */
export const isInScope = (key: ApiKeyRecord, { area, access, rule }: ScopeRequest) => {
  if (rule === 'any') return true
  if (rule === 'none') return false
  if (rule === 'unlimited') return isUnlimited(key)
  return covers(key.doc.scopes, area, access)
}

const networksRead = new WeakMap<object, readonly Cidr[]>()

// Unreadable scopes deny access.
const networksOf = (texts: readonly string[]) => {
  const known = networksRead.get(texts) ?? texts.flatMap((text) => parseNetwork(text) ?? [])
  networksRead.set(texts, known)
  return known
}

/** Whether the key may be used from there. */
export const isFromAllowedNetwork = ({ doc: { networks } }: ApiKeyRecord, clientAddress: string) => {
  if (networks === undefined) return true
  const address = parseAddress(clientAddress)
  return address !== undefined && networksOf(networks).some((network) => isInCidr(address, network))
}

const isNetworkWithin = (text: string, of: readonly Cidr[]) => {
  const network = parseNetwork(text)
  return (
    network !== undefined &&
    of.some((other) => other.prefixLength <= network.prefixLength && isInCidr(network, other))
  )
}

/** The limits of a key, or of the caller that creates one. */
export type KeyLimits = Readonly<Pick<ApiKeyDoc, 'scopes' | 'expires' | 'networks'>>

/** The limits in which a key exceeds other limits. */
export const excessOver = (doc: KeyLimits, of: KeyLimits) => {
  const { networks, expires = Number.POSITIVE_INFINITY } = doc
  const around = of.networks
  return {
    scopes: doc.scopes.filter((scope) => !isScopeWithin(scope, of.scopes)),
    expires: expires > (of.expires ?? Number.POSITIVE_INFINITY),
    networks:
      around !== undefined &&
      (networks === undefined || networks.some((text) => !isNetworkWithin(text, networksOf(around)))),
  }
}
