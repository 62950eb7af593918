import { type Address, type Cidr, isInCidr, parseAddress, parseNetwork } from './cidr.ts'

// Addresses of a machine or an internal network.
const inside: readonly Cidr[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/127',
  '64:ff9b:1::/48',
  '100::/64',
  // Teredo hides the IPv4 address.
  '2001::/32',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].flatMap((text) => parseNetwork(text) ?? [])

// 6to4, NAT64 and the old mapping contain an IPv4 address.
const carriers: readonly (readonly [Cidr, number])[] = (
  [
    ['2002::/16', 2],
    ['64:ff9b::/96', 12],
    ['::/96', 12],
  ] as const
).flatMap(([text, at]) => {
  const network = parseNetwork(text)
  return network ? [[network, at] as const] : []
})

/** 203.0.113.7 for 64:ff9b::cb00:7107; otherwise the address itself. */
export const carriedAddress = (address: Address): Address => {
  const [, at] = carriers.find(([network]) => isInCidr(address, network)) ?? []
  return at === undefined ? address : { family: 4, bytes: address.bytes.slice(at, at + 4) }
}

const isInside = (text: string): boolean => {
  const address = parseAddress(text)
  if (!address) return true
  const carried = carriedAddress(address)
  return inside.some((network) => isInCidr(address, network) || isInCidr(carried, network))
}

/** Also true for texts that are not addresses. */
export const isPrivateAddress = isInside

/** The list has host names, addresses and CIDRs. */
export const namesHost = (list: readonly string[], host: string, address: string): boolean => {
  const parsed = parseAddress(address)
  return list.some((entry) => {
    const network = parseNetwork(entry)
    if (network) return parsed !== undefined && isInCidr(parsed, network)
    return entry.toLowerCase() === host.toLowerCase()
  })
}
