import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { isInCidr, parseAddress, parseNetwork } from '../../lib/cidr.ts'
import type { PlainPage } from '../exchange.ts'
import { canonicalPeer } from './client-address.ts'

interface Deps {
  /** All figures, in the text format of Prometheus. */
  text(): Promise<string>
  /** Networks that may read them. */
  networks(): Promise<readonly string[]>
}

// What a proxy adds speaks for somebody else, whose address nobody can be sure of here.
const proxyHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-real-ip',
  'via',
]

// Whoever scrapes gives up after ten seconds.
const patienceMs = 2000

const isDirect = ({ headers }: IncomingMessage) => proxyHeaders.every((name) => headers[name] === undefined)

const refusal = `figures are told to clients that connect directly, from system_configs/crossbar metrics_networks\n`

/** Figures of the process: neither names nor addresses of customers, but how busy they are. */
export const metricsPage = ({ text, networks }: Deps): PlainPage => {
  let known: readonly string[] = []

  const isAllowed = async (request: IncomingMessage) => {
    // Figures matter most when the store is away: then the networks known last are let in.
    known = await Promise.race([networks().catch(() => known), sleep(patienceMs, known, { ref: false })])
    const peer = parseAddress(canonicalPeer(request.socket.remoteAddress ?? ''))
    if (!peer || !isDirect(request)) return false
    return known.some((network) => {
      const cidr = parseNetwork(network)
      return cidr !== undefined && isInCidr(peer, cidr)
    })
  }

  return async (request, response) => {
    if (!(await isAllowed(request))) {
      response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end(refusal)
      return
    }
    const body = Buffer.from(await text())
    response.writeHead(200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': body.length,
      'cache-control': 'no-store',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}
