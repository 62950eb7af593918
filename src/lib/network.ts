import { formatAddress, parseAddress } from './cidr.ts'

// A household has a /64 of IPv6 addresses, a site a /48.

const cut = (bytes: readonly number[], bits: number) =>
  bytes.map((byte, index) => (index * 8 < bits ? byte : 0))

/** Undefined: no IPv6 address. */
export const ipv6Network = (address: string, bits: 48 | 64): string | undefined => {
  const parsed = parseAddress(address)
  if (parsed?.family !== 6) return undefined
  return `${formatAddress({ family: 6, bytes: cut(parsed.bytes, bits) })}/${bits}`
}

/** The /24 of IPv4, the /64 of IPv6, otherwise the text. */
export const networkOf = (address: string): string => {
  const parsed = parseAddress(address)
  if (!parsed) return address
  const bits = parsed.family === 4 ? 24 : 64
  return `${formatAddress({ family: parsed.family, bytes: cut(parsed.bytes, bits) })}/${bits}`
}
