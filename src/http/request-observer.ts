import type { Actor } from '../auth/identity.ts'
import { Failure } from '../lib/failure.ts'
import type { Log } from '../lib/log.ts'
import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import { type SpanFacts, timeSpan } from '../lib/trace.ts'
import type { RequestContext } from './exchange.ts'
import { canonicalPeer } from './transport/client-address.ts'

// Log line, metric and span of each request.

interface Deps {
  metrics: Metrics
  log: Log
  logsAccess: boolean
}

const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'PATCH', 'DELETE'])

/** The client left before the response. */
const clientHasGone = 499

const unknownRoute = 'unknown'

const actorIn = (actor: Actor | undefined) => actor?.user?.id ?? actor?.key?.id ?? actor?.accountId

const reasonOf = ({ fault }: RequestContext) => {
  if (fault === undefined) return undefined
  return fault instanceof Failure ? fault.kind.name : 'unexpected'
}

const addressOf = ({ clientAddress, request }: RequestContext) =>
  clientAddress || canonicalPeer(request.socket.remoteAddress ?? '')

export const createRequestObserver = ({ metrics, log, logsAccess }: Deps) => {
  const durations = metrics.histogram({
    name: 'crosspoint_http_request_duration_seconds',
    help: 'Seconds from the head of a request to the end of its response.',
    labels: ['method', 'route', 'status'],
    bounds: secondsBounds,
  })

  const writeLine = (
    exchange: RequestContext,
    { ms, ...facts }: { method: string; route: string; status: number; ms: number },
  ) =>
    log.write('info', 'request', {
      client_address: addressOf(exchange),
      ...facts,
      duration_ms: Math.round(ms * 100) / 100,
      account_id: exchange.account?.id ?? exchange.actor?.accountId,
      actor: actorIn(exchange.actor),
      reason: reasonOf(exchange),
      request_id: exchange.id,
      trace_id: exchange.trace.traceId,
    })

  /** `place`: the template of a path without a route. */
  return (exchange: RequestContext, place?: string) => {
    const began = performance.now()
    const endSpan = timeSpan(exchange.trace, 'server')
    return (sent?: number) => {
      const ms = performance.now() - began
      const { response, route: matched, trace } = exchange
      const status = sent ?? (response.headersSent ? response.statusCode : clientHasGone)
      const method = knownMethods.has(exchange.method) ? exchange.method : 'other'
      const route = place ?? matched?.path ?? unknownRoute
      durations.observe({ method, route, status }, ms / 1000)
      if (logsAccess && log.enabled('info')) writeLine(exchange, { method, route, status, ms })
      if (!trace.recorder) return
      const facts: SpanFacts = {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'crosspoint.request_id': exchange.id,
      }
      if (status >= 500) facts['error.type'] = String(status)
      endSpan(`${method} ${route}`, facts)
    }
  }
}
