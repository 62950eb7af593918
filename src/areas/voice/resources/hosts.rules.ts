import {
  type Address,
  type Cidr,
  formatAddress,
  isInCidr,
  parseAddress,
  parseNetwork,
} from '../../../lib/cidr.ts'
import { type Problems, wrongFormat } from '../../../lib/failure.ts'
import { isSipHost, type SipPlace, sipPlaceIn } from '../../../lib/sip-host.ts'
import type { Gateway } from './schema.ts'

export interface CarrierHost {
  host: string
  /** The SRV name, if no port is set. */
  service: string | undefined
  /** Calls come only from this port. */
  port: number | undefined
}

/** An address in the form in which addresses are compared. Undefined: a name. */
export const literalOf = (host: string): string | undefined => {
  const address = parseAddress(host)
  return address && formatAddress(address)
}

const services = { udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp' } as const

/**
 * The form in which hosts are compared: a normalized address, or a name in lower case without the final dot.
 */
export const plainHost = (text: string) => literalOf(text) ?? text.replace(/\.$/, '').toLowerCase()

/** The names to look up for a host that is called over SIP (RFC 3263). */
export const namesToLookUp = (
  name: string,
  port: number | undefined,
  transport: keyof typeof services = 'udp',
): Pick<CarrierHost, 'host' | 'service'> => {
  const host = plainHost(name)
  return { host, service: port === undefined ? `${services[transport]}.${host}` : undefined }
}

export const hostOf = ({ server, port, transport, force_port }: Readonly<Gateway>): CarrierHost[] =>
  parseAddress(server)
    ? []
    : [{ ...namesToLookUp(server, port, transport), port: force_port ? (port ?? 5060) : undefined }]

export const isAmongAddresses = (addresses: readonly string[], address: Address) =>
  addresses.map(literalOf).includes(formatAddress(address))

export const comesFrom = (
  { port: only }: CarrierHost,
  addresses: readonly string[],
  { address, port }: { address: Address; port?: number | undefined },
) => (only === undefined || only === port) && isAmongAddresses(addresses, address)

/** Why calls of customers are not sent to a host. */
export type Objection = 'carrier' | 'platform' | 'internal'

/** A SIP URI or host that a customer writes, and its field. */
export interface WrittenDestination {
  path: string
  /** `host`: only a name or an address. */
  form: 'uri' | 'host'
  text: string
}

const messages: Readonly<Record<Objection, string>> = {
  carrier: 'The host belongs to a carrier: use the host of your phone or PBX',
  platform: 'The host belongs to this platform: use the host of your phone or PBX',
  internal: 'The host is in a private network: use a public one, or ask the operator to allow it',
}

/** Current addresses of a destination. */
export interface Reached {
  /** Built from its parts, so it cannot contain another host. */
  uri: string
  /**
   * The current address of the name as a SIP URI, so that the edge needs no DNS. Absent if `uri` has an
   * address.
   */
  proxy?: string
}

export const objectionProblem = ({ path, text }: WrittenDestination, objection: Objection): Problems => ({
  [path]: { forbidden: { message: messages[objection], cause: text } },
})

export const destinationPlace = ({ form, text }: WrittenDestination): SipPlace | undefined => {
  if (form === 'uri') return sipPlaceIn(text)
  return isSipHost(text) ? { host: text } : undefined
}

const uriMessage = 'Must be a SIP URI such as sip:1001@pbx.example:5060;transport=tcp'

export const shapeProblem = (written: WrittenDestination): Problems => {
  const { path, form, text } = written
  if (destinationPlace(written)) return {}
  return form === 'uri'
    ? wrongFormat(path, 'sip-uri', uriMessage, text)
    : wrongFormat(path, 'hostname', 'Must be a host name or an address', text)
}

/** Hosts in the form of `plainHost`, and networks. */
export interface HostSet {
  names: ReadonlySet<string>
  networks: readonly Cidr[]
}

export const hostSet = (texts: Iterable<string>): HostSet => {
  const all = [...texts]
  return {
    names: new Set(all.filter((text) => !text.includes('/')).map(plainHost)),
    networks: all.flatMap((text) => (text.includes('/') ? (parseNetwork(text) ?? []) : [])),
  }
}

export const hostNamesIn = ({ names }: HostSet) => [...names].filter((name) => !parseAddress(name))

export const includesHost = ({ names, networks }: HostSet, host: string, address: Address | undefined) =>
  names.has(plainHost(host)) ||
  (address !== undefined &&
    (names.has(formatAddress(address)) || networks.some((network) => isInCidr(address, network))))

/** Without the brackets of IPv6. */
export const hostOfUrl = (url: string): string[] => {
  const host = URL.parse(url)?.hostname
  return host === undefined || host === '' ? [] : [host.replace(/^\[(.*)\]$/, '$1')]
}
