// A collector of traces: OTLP over HTTP with JSON, as far as a test asks for it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { eventually } from '../run/eventually.ts'

export interface CollectedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  kind: number
  status: { code?: number }
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Record<string, unknown>
  /** What else it follows from. */
  links: { traceId: string; spanId: string }[]
  service: unknown
}

interface Attribute {
  key: string
  value: Record<string, unknown>
}

interface Sent {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'links' | 'service'> & {
        attributes: Attribute[]
        links?: { traceId: string; spanId: string }[]
      })[]
    }[]
  }[]
}

const valuesOf = (attributes: Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

export type SpanCollector = Awaited<ReturnType<typeof startSpanCollector>>

export const startSpanCollector = async () => {
  const spans: CollectedSpan[] = []
  const paths: string[] = []
  const server = createServer(async (request, response) => {
    paths.push(request.url ?? '')
    const sent = JSON.parse(await text(request)) as Sent
    for (const { resource, scopeSpans } of sent.resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          ...span,
          attributes: valuesOf(span.attributes),
          links: (span.links ?? []).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
          service: valuesOf(resource.attributes)['service.name'],
        })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    spans,
    /** The spans of a trace, once this number has arrived. */
    ofTrace: (traceId: string, atLeast: number) =>
      eventually(
        () => spans.filter((span) => span.traceId === traceId),
        (found) => found.length >= atLeast,
      ),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
