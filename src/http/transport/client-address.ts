import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { type Cidr, formatAddress, isInCidr, parseAddress, parseNetwork } from '../../lib/cidr.ts'

const absolute = /^https?:\/\/[^/?#]+/i

/** Path and query. Proxies and some clients send an absolute URL. */
export const targetOf = ({ url = '/' }: Pick<IncomingMessage, 'url'>) => {
  const origin = url.startsWith('/') ? undefined : absolute.exec(url)
  if (!origin) return url
  const target = url.slice(origin[0].length)
  return target.startsWith('/') ? target : `/${target}`
}

const cidrsOf = new WeakMap<readonly string[], Cidr[]>()

export const trustedProxies = (texts: readonly string[]) => {
  const known = cidrsOf.get(texts) ?? texts.flatMap((text) => parseNetwork(text) ?? [])
  cidrsOf.set(texts, known)
  return known
}

interface ClientAddressQuestion {
  /** Undefined when the socket is closed. */
  peer: string | undefined
  forwardedFor: string | undefined
  trustedProxies: readonly Cidr[]
  /** Off: the header of any peer counts. */
  checkProxies: boolean
}

// A dual-stack socket reports IPv4 peers as ::ffff:1.2.3.4, link-local peers with a zone.
export const canonicalPeer = (peer: string) => {
  if (isIPv4(peer)) return peer
  const address = parseAddress(peer.replace(/%.*$/, ''))
  return address ? formatAddress(address) : peer
}

const parseHop = (hop: string) => {
  const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(hop)
  return parseAddress(withPort?.[1] ?? withPort?.[2] ?? hop)
}

const isTrusted = (text: string, trustedProxies: readonly Cidr[]) => {
  const address = parseAddress(text)
  return address !== undefined && trustedProxies.some((proxy) => isInCidr(address, proxy))
}

/**
 * The address of the client: the first hop, from the socket outwards, that is not a trusted proxy. Hops before it, or before an
 * invalid one, may be forged.
 */
export const clientAddress = (question: ClientAddressQuestion): string | undefined => {
  const { peer, forwardedFor, trustedProxies, checkProxies } = question
  if (peer === undefined) return undefined
  let nearest = canonicalPeer(peer)
  if (!forwardedFor || (checkProxies && !isTrusted(nearest, trustedProxies))) return nearest
  const hops = forwardedFor.split(',').map((hop) => hop.trim())
  for (const hop of hops.reverse()) {
    if (hop === '') continue
    const address = parseHop(hop)
    if (!address) return nearest
    nearest = formatAddress(address)
    if (!trustedProxies.some((proxy) => isInCidr(address, proxy))) return nearest
  }
  return nearest
}
