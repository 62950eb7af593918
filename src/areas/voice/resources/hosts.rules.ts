// Which names lead to where a carrier's calls come from.
import {
  type Address,
  type Cidr,
  formatAddress,
  isInCidr,
  parseAddress,
  parseNetwork,
} from '../../../lib/cidr.ts'
import type { Problems } from '../../../lib/failure.ts'
import { isSipHost, type SipPlace, sipPlaceIn } from '../../../lib/sip-host.ts'
import type { Gateway } from './schema.ts'

/** A host name of a carrier. */
export interface CarrierHost {
  host: string
  /** Where further hosts stand in the DNS, when no port is said. */
  service: string | undefined
  /** The only port that its calls come from. */
  port: number | undefined
}

const services = { udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp' } as const

/** The one spelling of a host: an address as it is compared, a name in lower case and without the dot at its end. */
export const plainHost = (text: string) => {
  const address = parseAddress(text)
  return address ? formatAddress(address) : text.replace(/\.$/, '').toLowerCase()
}

/** The names to look up for a host that is called over SIP (RFC 3263). */
export const namesToLookUp = (
  name: string,
  port: number | undefined,
  transport: keyof typeof services = 'udp',
): Pick<CarrierHost, 'host' | 'service'> => {
  const host = plainHost(name)
  return { host, service: port === undefined ? `${services[transport]}.${host}` : undefined }
}

/** The name to look up for a gateway; none for one that says an address. */
export const hostOf = ({
  server,
  port,
  transport,
  force_port: isForced,
}: Readonly<Gateway>): CarrierHost[] =>
  parseAddress(server)
    ? []
    : [{ ...namesToLookUp(server, port, transport), port: isForced ? (port ?? 5060) : undefined }]

export const isOneOf = (addresses: readonly string[], address: Address) => {
  const wanted = formatAddress(address)
  return addresses.some((text) => {
    const found = parseAddress(text)
    return found !== undefined && formatAddress(found) === wanted
  })
}

/** Whether a call comes from one of the addresses that a host has. */
export const comesFrom = (
  { port: only }: CarrierHost,
  addresses: readonly string[],
  { address, port }: { address: Address; port?: number | undefined },
) => (only === undefined || only === port) && isOneOf(addresses, address)

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
