// To which hosts customers may have calls sent.
import {
  type Address,
  type Cidr,
  formatAddress,
  isInCidr,
  parseAddress,
  parseNetwork,
} from '../../../../lib/cidr.ts'
import type { Problems } from '../../../../lib/failure.ts'
import { isSipHost, type SipPlace, sipPlaceIn } from '../../../../lib/sip-host.ts'
import { plainHost } from '../hosts/rules.ts'

/** Why no call of a customer is sent to a host. */
export type Objection = 'carrier' | 'platform' | 'internal'

/** A SIP URI or a host that a customer writes, and the field that holds it. */
export interface WrittenDestination {
  path: string
  /** `host`: a name or an address alone. */
  form: 'uri' | 'host'
  text: string
}

const messages: Readonly<Record<Objection, string>> = {
  carrier: 'The host belongs to a carrier: use the host of your phone or PBX',
  platform: 'The host belongs to this platform: use the host of your phone or PBX',
  internal: 'The host is in a private network: use a public one, or ask the operator to allow it',
}

export const objectionProblem = (
  { path, text }: Pick<WrittenDestination, 'path' | 'text'>,
  objection: Objection,
): Problems => ({ [path]: { forbidden: { message: messages[objection], cause: text } } })

/** Where a written destination leads; undefined where it is no destination. */
export const placeOf = ({ form, text }: Pick<WrittenDestination, 'form' | 'text'>): SipPlace | undefined => {
  if (form === 'uri') return sipPlaceIn(text)
  return isSipHost(text) ? { host: text } : undefined
}

/** What is no SIP URI or no host. */
export const shapeProblem = ({ path, form, text }: WrittenDestination): Problems => {
  if (placeOf({ form, text })) return {}
  const wrong =
    form === 'uri'
      ? { message: 'Must be a SIP URI such as sip:1001@pbx.example:5060;transport=tcp', format: 'sip-uri' }
      : { message: 'Must be a host name or an address', format: 'hostname' }
  return { [path]: { wrong_format: { ...wrong, value: text } } }
}

/** Hosts, by name or address in their one spelling, and networks. */
export interface HostSet {
  names: ReadonlySet<string>
  networks: readonly Cidr[]
}

/** Names, addresses and CIDRs, in whatever spelling. */
export const hostSet = (texts: Iterable<string>): HostSet => {
  const all = [...texts]
  return {
    names: new Set(all.filter((text) => !text.includes('/')).map(plainHost)),
    networks: all.flatMap((text) => (text.includes('/') ? (parseNetwork(text) ?? []) : [])),
  }
}

/** The hosts that are names and have to be looked up. */
export const namesIn = ({ names }: HostSet) => [...names].filter((name) => !parseAddress(name))

/** Whether a host, of this name or at this address, is one of a set. */
export const includesHost = ({ names, networks }: HostSet, host: string, address: Address | undefined) =>
  names.has(plainHost(host)) ||
  (address !== undefined &&
    (names.has(formatAddress(address)) || networks.some((network) => isInCidr(address, network))))

/** The host of a URL, without the brackets of IPv6. */
export const hostOfUrl = (url: string): string[] => {
  const host = URL.parse(url)?.hostname
  return host === undefined || host === '' ? [] : [host.replace(/^\[(.*)\]$/, '$1')]
}

export const literalOf = (host: string): string | undefined => {
  const address = parseAddress(host)
  return address && formatAddress(address)
}
