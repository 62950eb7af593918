import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import { currentTraceparent, inLaterSpan, type Recorder, reportSpan, type SpanFacts } from '../lib/trace.ts'

// Calls to other systems have a metric and a span.

export type Purpose =
  | 'bookkeeper'
  | 'call_archive'
  | 'carrier'
  | 'dns'
  | 'mail'
  | 'message_bus'
  | 'provisioner'
  | 'sip_edge'
  | 'stripe'
  | 'webhook'

interface WatchedCall<Answer> {
  purpose: Purpose
  /** The name of its span: few different ones, without paths and names. */
  name: string
  kind: 'client' | 'producer'
  /** No secrets, and nothing that customers chose, except hosts. */
  facts: SpanFacts
  /** The `traceparent` of each request that caused it, if not the current trace. */
  causes?: readonly string[]
  /** For the metric: few different words. */
  outcomeOf(answer: Answer): string
  faultOf(error: unknown): string
}

interface Deps {
  metrics: Metrics
  recorder?: Recorder | undefined
}

const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'smtp:': 25,
  'smtps:': 465,
  'amqp:': 5672,
  'amqps:': 5671,
}

/** Only host and port: the rest of a URL may contain keys and names. */
export const serverIn = (url: string): SpanFacts => {
  const address = URL.parse(url)
  if (!address) return {}
  const { hostname, port, protocol } = address
  const number = port === '' ? defaultPorts[protocol] : Number(port)
  return { 'server.address': hostname, ...(number === undefined ? {} : { 'server.port': number }) }
}

export const traceHeaders = () => {
  const traceparent = currentTraceparent()
  return traceparent === undefined ? {} : { traceparent }
}

/** `2xx` to `5xx`. */
export const httpOutcome = (status: number) => {
  reportSpan({ 'http.response.status_code': status })
  if (status >= 400) reportSpan({ 'error.type': String(status) })
  return `${Math.floor(status / 100)}xx`
}

export type Calls = ReturnType<typeof createCalls>

export const createCalls = ({ metrics, recorder }: Deps) => {
  const durations = metrics.histogram({
    name: 'crosspoint_outgoing_request_duration_seconds',
    help: 'Seconds that a request to another server took, by result.',
    labels: ['purpose', 'outcome'],
    bounds: secondsBounds,
  })

  return {
    watch: <Answer>(call: WatchedCall<Answer>, work: () => Promise<Answer>): Promise<Answer> => {
      const { purpose, outcomeOf, faultOf, ...span } = call
      const began = performance.now()
      const count = (outcome: string) =>
        durations.labels(purpose, outcome).observe((performance.now() - began) / 1000)
      return inLaterSpan(recorder, span, async () => {
        let answer: Answer
        try {
          answer = await work()
        } catch (error) {
          const fault = faultOf(error)
          reportSpan({ 'error.type': fault })
          count(fault)
          throw error
        }
        count(outcomeOf(answer))
        return answer
      })
    },
  }
}
