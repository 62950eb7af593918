// Which names lead to where a carrier's calls come from.
import { type Address, formatAddress, parseAddress } from '../../../../lib/cidr.ts'
import type { Gateway } from '../schema.ts'

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
