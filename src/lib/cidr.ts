import { isIPv4, isIPv6 } from 'node:net'
import { elementAt } from './list.ts'

/** 4 or 16 bytes. An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address. */
export interface Address {
  readonly family: 4 | 6
  readonly bytes: readonly number[]
}

export interface Cidr extends Address {
  readonly prefixLength: number
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]
const mappedBits = mappedPrefix.length * 8

const bytesOfIPv4 = (text: string) => text.split('.').map(Number)

const bytesOfGroups = (text: string) => {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return bytesOfIPv4(group)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

const bytesOfIPv6 = (text: string) => {
  const [head = '', tail] = text.split('::')
  const left = bytesOfGroups(head)
  const right = tail === undefined ? [] : bytesOfGroups(tail)
  return [...left, ...new Array<number>(16 - left.length - right.length).fill(0), ...right]
}

const isMapped = (bytes: readonly number[]) => mappedPrefix.every((byte, index) => bytes[index] === byte)

const parseUnmapped = (text: string): Address | undefined => {
  if (isIPv4(text)) return { family: 4, bytes: bytesOfIPv4(text) }
  // A zone (`fe80::1%eth0`) names an interface of one machine, not an address.
  if (isIPv6(text) && !text.includes('%')) return { family: 6, bytes: bytesOfIPv6(text) }
  return undefined
}

/** Strict: no leading zeros, no zone. */
export const parseAddress = (text: string): Address | undefined => {
  const address = parseUnmapped(text)
  if (address?.family === 6 && isMapped(address.bytes)) return { family: 4, bytes: address.bytes.slice(12) }
  return address
}

/** Bits after the prefix are ignored. */
export const parseCidr = (text: string): Cidr | undefined => {
  const slash = text.indexOf('/')
  const length = text.slice(slash + 1)
  const address = slash < 0 ? undefined : parseUnmapped(text.slice(0, slash))
  if (!address || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined
  const prefixLength = Number(length)
  if (prefixLength > address.bytes.length * 8) return undefined
  if (address.family === 6 && prefixLength >= mappedBits && isMapped(address.bytes)) {
    return { family: 4, bytes: address.bytes.slice(12), prefixLength: prefixLength - mappedBits }
  }
  return { ...address, prefixLength }
}

/** A CIDR, or an address as the CIDR that contains only it. */
export const parseNetwork = (text: string): Cidr | undefined => {
  if (text.includes('/')) return parseCidr(text)
  const address = parseAddress(text)
  return address && { ...address, prefixLength: address.bytes.length * 8 }
}

export const isInCidr = (address: Address, cidr: Cidr): boolean => {
  if (address.family !== cidr.family) return false
  const wholeBytes = cidr.prefixLength >> 3
  for (let index = 0; index < wholeBytes; index++) {
    if (address.bytes[index] !== cidr.bytes[index]) return false
  }
  const shift = 8 - (cidr.prefixLength & 7)
  if (shift === 8) return true
  return elementAt(address.bytes, wholeBytes) >> shift === elementAt(cidr.bytes, wholeBytes) >> shift
}

const hexGroups = (bytes: readonly number[]) =>
  Array.from({ length: 8 }, (_, index) =>
    ((elementAt(bytes, 2 * index) << 8) | elementAt(bytes, 2 * index + 1)).toString(16),
  ).join(':')

/** RFC 5952: equal addresses give equal texts. */
export const formatAddress = ({ family, bytes }: Address): string => {
  if (family === 4) return bytes.join('.')
  const groups = hexGroups(bytes)
  const runs = [...groups.matchAll(/\b0(?::0)+\b/g)]
  const longest = runs.reduce((best, run) => (run[0].length > (best?.[0].length ?? 0) ? run : best), runs[0])
  if (!longest) return groups
  const before = groups.slice(0, longest.index).replace(/:$/, '')
  const after = groups.slice(longest.index + longest[0].length).replace(/^:/, '')
  return `${before}::${after}`
}
