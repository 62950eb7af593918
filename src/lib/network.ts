import { formatAddress, parseAddress } from './cidr.ts'

// A household or a rented machine has a /64 of IPv6 addresses, a site or a tunnel a /48: an address alone says little.

const cut = (bytes: readonly number[], bits: number) =>
  bytes.map((byte, index) => (index * 8 < bits ? byte : 0))

/** An IPv6 network as text; undefined for what is no IPv6 address. */
export const ipv6Network = (address: string, bits: 48 | 64): string | undefined => {
  const parsed = parseAddress(address)
  if (parsed?.family !== 6) return undefined
  return `${formatAddress({ family: 6, bytes: cut(parsed.bytes, bits) })}/${bits}`
}

/** The network that an address belongs to: the /24 of IPv4, the /64 of IPv6, else the text itself. */
export const networkOf = (address: string): string => {
  const parsed = parseAddress(address)
  if (!parsed) return address
  const bits = parsed.family === 4 ? 24 : 64
  return `${formatAddress({ family: parsed.family, bytes: cut(parsed.bytes, bits) })}/${bits}`
}
