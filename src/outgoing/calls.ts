import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import { currentTraceparent, inLaterSpan, type Recorder, reportSpan, type SpanFacts } from '../lib/trace.ts'

// Whatever leaves for the servers of others, in whatever protocol: each call is counted, and has a span.

/** What for. */
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
  /** Of its span. There are few different ones: neither paths nor names of anybody. */
  name: string
  kind: 'client' | 'producer'
  /** Never what a customer has chosen or a secret, but for hosts. */
  facts: SpanFacts
  /** What has asked for it, where that is not the work at hand: each a `traceparent`. */
  causes?: readonly string[]
  /** What came of it, in a word of few. */
  outcomeOf(answer: Answer): string
  /** The same where it failed. */
  faultOf(error: unknown): string
}

interface Deps {
  metrics: Metrics
  /** Takes the spans of calls, where somebody wants them. */
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

/** Where a call goes, as spans tell it: nothing else of the address, which may hold keys and people. */
export const serverIn = (url: string): SpanFacts => {
  const address = URL.parse(url)
  if (!address) return {}
  const { hostname, port, protocol } = address
  const number = port === '' ? defaultPorts[protocol] : Number(port)
  return { 'server.address': hostname, ...(number === undefined ? {} : { 'server.port': number }) }
}

/** What a call is a part of, so that whoever is called can say so too. */
export const traceHeaders = () => {
  const traceparent = currentTraceparent()
  return traceparent === undefined ? {} : { traceparent }
}

/** What came of a call over HTTP: `2xx` to `5xx`. To whoever calls, a refusal is an error. */
export const httpOutcome = (status: number) => {
  reportSpan({ 'http.response.status_code': status })
  if (status >= 400) reportSpan({ 'error.type': String(status) })
  return `${Math.floor(status / 100)}xx`
}

export type Calls = ReturnType<typeof createCalls>

export const createCalls = ({ metrics, recorder }: Deps) => {
  const durations = metrics.histogram({
    name: 'crosspoint_outgoing_call_duration_seconds',
    help: 'Seconds that calls to the servers of others took, by what came of them.',
    labels: ['purpose', 'outcome'],
    bounds: secondsBounds,
  })

  return {
    /** Does what calls somebody, and tells how it went. */
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
