import type { LookupAddress, LookupOptions } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isPrivateAddress, namesHost } from '../lib/private-address.ts'

/** Hosts inside of private networks that may be called all the same: names, addresses or CIDRs. */
export type AllowedHosts = () => Promise<readonly string[]>

/** The addresses of a host, as the machine knows them. */
export type LookUpAll = (host: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

/** A host leads into a private network, where nobody but the operator may send this server. */
export class PrivateHost extends Error {}

const isAllowed = (allowed: readonly string[], host: string, address: string) =>
  !isPrivateAddress(address) || namesHost(allowed, host, address)

/** The host of a URL as an address: URLs write IPv6 in brackets. */
export const literalIn = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/** Fails unless a literal address may be called. */
export const requireAllowed = async (address: string, allowedHosts: AllowedHosts) => {
  if (isAllowed(await allowedHosts(), address, address)) return
  throw new PrivateHost(`${address} is no address of the internet`)
}

/**
 * Looks names up for sockets and judges what was found: the socket connects to these addresses and to no others, so
 * whatever the name leads to a moment later makes no difference.
 */
export const createGuardedLookup = (lookUpAll: LookUpAll, allowedHosts: AllowedHosts): LookupFunction => {
  const find = async (host: string, options: LookupOptions) => {
    const [found, allowed] = await Promise.all([lookUpAll(host, { ...options, all: true }), allowedHosts()])
    const [first, ...others] = found.filter(({ address }) => isAllowed(allowed, host, address))
    if (!first) throw new PrivateHost(`${host} leads to no address of the internet`)
    return [first, ...others] as const
  }

  return (host, options, callback) => {
    find(host, options).then(
      ([first, ...others]) =>
        options.all ? callback(null, [first, ...others]) : callback(null, first.address, first.family),
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}
