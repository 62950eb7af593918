import { type Address, type Cidr, isInCidr, parseAddress, parseNetwork } from './cidr.ts'

// Addresses that mean something only inside of a machine or a network: whoever may name one reaches behind the firewall.
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
  // Teredo: the IPv4 address in it is hidden.
  '2001::/32',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].flatMap((text) => parseNetwork(text) ?? [])

// Addresses that carry an IPv4 address further on: 6to4, NAT64 and what is mapped in the old way.
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

/** The IPv4 address that an address carries, such as 203.0.113.7 in 64:ff9b::cb00:7107; otherwise the address itself. */
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

/** Whether an address is loopback, private or otherwise not of the internet. What is no address is not either. */
export const isPrivateAddress = isInside

/** Whether a list of host names, addresses and CIDRs names this host, known by its name or its address. */
export const namesHost = (list: readonly string[], host: string, address: string): boolean => {
  const parsed = parseAddress(address)
  return list.some((entry) => {
    const network = parseNetwork(entry)
    if (network) return parsed !== undefined && isInCidr(parsed, network)
    return entry.toLowerCase() === host.toLowerCase()
  })
}
