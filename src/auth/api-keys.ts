import { type Address, type Cidr, isInCidr, parseAddress, parseNetwork } from '../lib/cidr.ts'
import { unixOfGregorian } from '../lib/gregorian.ts'
import { kind, type RecordOf } from '../storage/records.ts'
import { type Asked, covers, everything, isScopeWithin, type Scopes } from './scopes.ts'

// What named API keys may be used for. Asked for each request: nothing here waits, or is made anew.

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

/** Unix milliseconds; undefined: it does not end by itself. */
export const keyEnd = ({ doc: { expires } }: ApiKeyRecord) =>
  expires === undefined ? undefined : unixOfGregorian(expires) * 1000

export const isKeyAlive = (key: ApiKeyRecord, unixMilliseconds: number) =>
  (keyEnd(key) ?? Number.POSITIVE_INFINITY) > unixMilliseconds

/** Whether it may do all that the account's one key may: from anywhere, and for ever. */
export const isUnlimited = ({ doc: { scopes, expires, networks } }: Pick<ApiKeyRecord, 'doc'>) =>
  scopes.includes(everything) && expires === undefined && networks === undefined

/** Whether the key's scope lets a request pass. */
export const isInScope = (key: ApiKeyRecord, { area, access, rule }: Asked) => {
  if (rule === 'any') return true
  if (rule === 'none') return false
  if (rule === 'unlimited') return isUnlimited(key)
  return covers(key.doc.scopes, area, access)
}

const networksRead = new WeakMap<object, readonly Cidr[]>()

// What cannot be read lets nobody in.
const networksOf = (texts: readonly string[]) => {
  const known = networksRead.get(texts) ?? texts.flatMap((text) => parseNetwork(text) ?? [])
  networksRead.set(texts, known)
  return known
}

const isInOneOf = (networks: readonly Cidr[], address: Address | undefined) =>
  address !== undefined && networks.some((network) => isInCidr(address, network))

/** Whether the key may be used from there. */
export const isFromAllowedNetwork = ({ doc: { networks } }: ApiKeyRecord, clientAddress: string) =>
  networks === undefined || isInOneOf(networksOf(networks), parseAddress(clientAddress))

const isNetworkWithin = (text: string, of: readonly Cidr[]) => {
  const network = parseNetwork(text)
  return (
    network !== undefined &&
    of.some((other) => other.prefixLength <= network.prefixLength && isInCidr(network, other))
  )
}

/** What limits a key, or whoever makes one. */
export type KeyLimits = Readonly<Pick<ApiKeyDoc, 'scopes' | 'expires' | 'networks'>>

/** In which of its limits a key goes beyond other ones. */
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
