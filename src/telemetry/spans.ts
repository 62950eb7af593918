import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import { messageOf } from '../lib/error-facts.ts'
import type { Log } from '../lib/log.ts'
import type { EndedSpan, Recorder, SpanPlace } from '../lib/trace.ts'

// Loaded on demand: its libraries take some megabytes.

interface Deps {
  /** OTEL_EXPORTER_OTLP_ENDPOINT. */
  endpoint: string
  serviceName: string
  version: string
  node: string
  log: Log
}

interface SpanExport extends Recorder {
  stop(): Promise<void>
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

// One warning in this time.
const complaintMs = 60_000
// Spans beyond `maxWaiting` are dropped.
const pauseMs = 2000
const maxWaiting = 8192
const exportTimeoutMs = 5000

const urlOf = (endpoint: string) => `${endpoint.replace(/\/+$/, '')}/v1/traces`

/** Seconds and nanoseconds. */
const hrTime = (milliseconds: number): [number, number] => {
  const seconds = Math.floor(milliseconds / 1000)
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)]
}

const complaining = (exporter: SpanExporter, log: Log): SpanExporter => {
  let complainedAt = Number.NEGATIVE_INFINITY
  return {
    export(spans, tell) {
      exporter.export(spans, (result) => {
        const now = performance.now()
        if (result.error && now - complainedAt > complaintMs) {
          complainedAt = now
          // The error may contain the collector's response.
          log.write('warn', 'spans could not be sent', { reason: messageOf(result.error) })
        }
        tell(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** OTLP over HTTP with JSON. OTEL_EXPORTER_OTLP_* has headers and the like. */
export const openSpanExport = ({ endpoint, serviceName, version, node, log }: Deps): SpanExport => {
  const own = {
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': node,
  }
  const resource = defaultResource().merge(resourceFromAttributes(own))
  const exporter = new OTLPTraceExporter({ url: urlOf(endpoint), timeoutMillis: exportTimeoutMs })
  const processor = new BatchSpanProcessor({
    exporter: complaining(exporter, log),
    scheduledDelayMillis: pauseMs,
    maxQueueSize: maxWaiting,
    exportTimeoutMillis: exportTimeoutMs,
  })

  const contextOf = ({ traceId, spanId }: SpanPlace) => ({
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
  })

  const readable = ({ traceId, spanId, parentSpanId, ...span }: EndedSpan): ReadableSpan => ({
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => contextOf({ traceId, spanId }),
    ...(parentSpanId === undefined
      ? {}
      : { parentSpanContext: contextOf({ traceId, spanId: parentSpanId }) }),
    startTime: hrTime(span.startedAt),
    endTime: hrTime(span.endedAt),
    duration: hrTime(span.endedAt - span.startedAt),
    status: { code: 'error.type' in span.facts ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: span.facts,
    links: span.links.map((place) => ({ context: contextOf(place) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: 'crosspoint', version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  })

  return {
    record: (span) => processor.onEnd(readable(span)),
    // A failure was logged and does not change the exit code.
    stop: () => processor.shutdown().catch(() => undefined),
  }
}
