// W3C Trace Context: the current trace, and its spans.
import { AsyncLocalStorage } from 'node:async_hooks'
import { codeOf } from './error-facts.ts'
import { Failure } from './failure.ts'
import { randomHex } from './ids.ts'

type SpanKind = 'server' | 'client' | 'internal' | 'producer' | 'consumer'

/** For operators: no secrets. A failed span has `error.type`. */
export type SpanFacts = Record<string, string | number>

interface Span {
  name: string
  kind: SpanKind
  facts?: SpanFacts
  /** The `traceparent` of each request that caused it, if not the current trace. */
  causes?: readonly string[]
}

export interface SpanPlace {
  traceId: string
  spanId: string
}

/** Times in Unix milliseconds, with fractions. */
export interface EndedSpan {
  name: string
  kind: SpanKind
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  startedAt: number
  endedAt: number
  facts: SpanFacts
  /** Its causes. */
  links: readonly SpanPlace[]
}

export interface Recorder {
  record(span: EndedSpan): void
}

/** The parent of new spans. */
export interface Trace {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  parentSpanId: string | undefined
  /** Whether the trace is recorded, here or where it began. */
  isSampled: boolean
  /** Undefined: nothing is recorded here. */
  recorder: Recorder | undefined
  /** The attributes of its span, until that ends. */
  facts?: SpanFacts
}

const current = new AsyncLocalStorage<Trace | undefined>()

// Later versions have the same first four fields.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

/** Continues the trace in `header`, or begins a new one. */
export const beginTrace = (header: unknown, recorder: Recorder | undefined): Trace => {
  const found = typeof header === 'string' ? form.exec(header) : undefined
  const [, traceId, parentSpanId, flags] = found ?? []
  const spanId = randomHex(8)
  if (traceId === undefined || flags === undefined) {
    const isSampled = recorder !== undefined
    return { traceId: randomHex(16), spanId, parentSpanId: undefined, isSampled, recorder }
  }
  // The first system of the trace decides whether it is recorded.
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, spanId, parentSpanId, isSampled, recorder: isSampled ? recorder : undefined }
}

export const traceparentOf = ({ traceId, spanId, isSampled }: Trace) =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** For work that is done later. */
export const currentTraceparent = () => {
  const trace = current.getStore()
  return trace && traceparentOf(trace)
}

const placesIn = (headers: readonly string[]): SpanPlace[] =>
  headers.flatMap((header) => {
    const [, traceId, spanId] = form.exec(header) ?? []
    return traceId === undefined || spanId === undefined ? [] : [{ traceId, spanId }]
  })

export const currentTrace = () => current.getStore()

/** Undefined: the work belongs to no trace, also if its caller does. */
export const inTrace = <T>(trace: Trace | undefined, work: () => T): T => current.run(trace, work)

/** Unix milliseconds with exact differences. */
const exactNow = () => performance.timeOrigin + performance.now()

/** Starts the span of `trace`; call the result when it ends. */
export const timeSpan = (trace: Trace, kind: SpanKind, links: readonly SpanPlace[] = []) => {
  const { recorder, traceId, spanId, parentSpanId } = trace
  if (!recorder) return () => undefined
  const place = { traceId, spanId, parentSpanId }
  const startedAt = exactNow()
  return (name: string, facts: SpanFacts) =>
    recorder.record({ ...place, name, kind, startedAt, endedAt: exactNow(), facts, links })
}

/** For `error.type`: a name or code. A message could contain anything. */
export const faultOf = (error: unknown): string => {
  if (error instanceof Failure) return error.kind.name
  const code = codeOf(error)
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'unknown'
}

type Work<T> = () => Promise<T>

/** Adds facts to the current span. */
export const reportSpan = (facts: SpanFacts) => {
  const told = currentTrace()?.facts
  if (told) Object.assign(told, facts)
}

const inSpanAt = async <T>(trace: Trace, span: Span, work: Work<T>): Promise<T> => {
  const { name, kind, facts, causes = [] } = span
  if (!trace.recorder) return inTrace(trace, work)
  const told: SpanFacts = { ...facts }
  const end = timeSpan(trace, kind, placesIn(causes))
  try {
    return await inTrace({ ...trace, facts: told }, work)
  } catch (error) {
    told['error.type'] ??= faultOf(error)
    throw error
  } finally {
    end(name, told)
  }
}

const below = (trace: Trace): Trace => ({ ...trace, spanId: randomHex(8), parentSpanId: trace.spanId })

/** In a span below the current one, if that is recorded. */
export const inSpan = <T>(span: Span, work: Work<T>): Promise<T> => {
  const trace = currentTrace()
  return trace?.recorder ? inSpanAt(below(trace), span, work) : work()
}

/** Undefined if they belong to several traces, or to none. */
const sharedBy = (causes: readonly string[]) => {
  const places = placesIn(causes)
  return new Set(places.map(({ traceId }) => traceId)).size === 1 ? causes[0] : undefined
}

/** For work without a request: in a span below its causes if they are of one trace, else below the current one, or in a new trace. */
export const inLaterSpan = <T>(recorder: Recorder | undefined, span: Span, work: Work<T>): Promise<T> => {
  const { causes = [] } = span
  if (causes.length === 0 && currentTrace()) return inSpan(span, work)
  return inSpanAt(beginTrace(sharedBy(causes), recorder), span, work)
}
