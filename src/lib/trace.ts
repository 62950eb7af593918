// Which trace (W3C Trace Context) the work at hand belongs to, and the spans that are recorded of it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { codeOf } from './error-facts.ts'
import { Failure } from './failure.ts'
import { randomHex } from './ids.ts'

type SpanKind = 'server' | 'client' | 'internal' | 'producer' | 'consumer'

/** What is told of a span; its values are for operators, and never secrets. Those with `error.type` have failed. */
export type SpanFacts = Record<string, string | number>

/** What is begun. */
interface Span {
  name: string
  kind: SpanKind
  facts?: SpanFacts
  /** What has asked for it, where that is not the work at hand: each a `traceparent`. */
  causes?: readonly string[]
}

/** Where a span is. */
export interface SpanPlace {
  traceId: string
  spanId: string
}

/** A piece of work that has ended. Times in Unix milliseconds, with fractions. */
export interface EndedSpan {
  name: string
  kind: SpanKind
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  startedAt: number
  endedAt: number
  facts: SpanFacts
  /** What has asked for it, its parent among them or not. */
  links: readonly SpanPlace[]
}

/** Takes spans to where they are looked at. */
export interface Recorder {
  record(span: EndedSpan): void
}

/** A place in a trace: what is done there has it as its parent. */
export interface Trace {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  parentSpanId: string | undefined
  /** Whether somebody records the trace, here or where it began. */
  isSampled: boolean
  /** Undefined: nothing is recorded here. */
  recorder: Recorder | undefined
  /** What will be told of its span. */
  facts?: SpanFacts
}

const current = new AsyncLocalStorage<Trace | undefined>()

// Of later versions the first four fields are what they are in this one.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

/** The trace that goes on here, or a new one where `header` names none. */
export const beginTrace = (header: unknown, recorder: Recorder | undefined): Trace => {
  const found = typeof header === 'string' ? form.exec(header) : undefined
  const [, traceId, parentSpanId, flags] = found ?? []
  const spanId = randomHex(8)
  if (traceId === undefined || flags === undefined) {
    return {
      traceId: randomHex(16),
      spanId,
      parentSpanId: undefined,
      isSampled: recorder !== undefined,
      recorder,
    }
  }
  // Whoever began the trace has decided whether it is recorded.
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, spanId, parentSpanId, isSampled, recorder: isSampled ? recorder : undefined }
}

/** What a request or an answer carries in `traceparent`. */
export const traceparentOf = ({ traceId, spanId, isSampled }: Trace) =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** What is kept of the work at hand, for what it leaves to be done later; undefined: it is a part of no trace. */
export const currentTraceparent = () => {
  const trace = current.getStore()
  return trace && traceparentOf(trace)
}

const placesIn = (headers: readonly string[]): SpanPlace[] =>
  headers.flatMap((header) => {
    const [, traceId, spanId] = form.exec(header) ?? []
    return traceId === undefined || spanId === undefined ? [] : [{ traceId, spanId }]
  })

/** What the work at hand belongs to. */
export const currentTrace = () => current.getStore()

/** Does work as a part of a trace; undefined: of none, whoever has caused it. */
export const inTrace = <T>(trace: Trace | undefined, work: () => T): T => current.run(trace, work)

/** Unix milliseconds, of which the differences are exact. */
const exactNow = () => performance.timeOrigin + performance.now()

/** Begins to time what `trace` is the place of; to be called when it has ended. */
export const timeSpan = (trace: Trace, kind: SpanKind, links: readonly SpanPlace[] = []) => {
  const { recorder, traceId, spanId, parentSpanId } = trace
  if (!recorder) return () => undefined
  const startedAt = exactNow()
  return (name: string, facts: SpanFacts) =>
    recorder.record({
      name,
      kind,
      traceId,
      spanId,
      parentSpanId,
      startedAt,
      endedAt: exactNow(),
      facts,
      links,
    })
}

/** What went wrong, in a word of few, as `error.type`: never a message, which may hold anything. */
export const faultOf = (error: unknown): string => {
  if (error instanceof Failure) return error.kind.name
  const code = codeOf(error)
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'unknown'
}

type Work<T> = () => Promise<T>

/** Has something told of the span at hand. */
export const reportSpan = (facts: SpanFacts) => {
  const told = currentTrace()?.facts
  if (told) Object.assign(told, facts)
}

/** Does work in a span of its own, at its place. */
const inSpanAt = async <T>(
  trace: Trace,
  { name, kind, facts, causes = [] }: Span,
  work: Work<T>,
): Promise<T> => {
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

/** Does work in a span below the trace at hand; where nothing is recorded it is just done. */
export const inSpan = <T>(span: Span, work: Work<T>): Promise<T> => {
  const trace = currentTrace()
  return trace?.recorder ? inSpanAt(below(trace), span, work) : work()
}

/** What all of them belong to; undefined: they are of several traces, or none. */
const sharedBy = (causes: readonly string[]) => {
  const places = placesIn(causes)
  return new Set(places.map(({ traceId }) => traceId)).size === 1 ? causes[0] : undefined
}

/**
 * Does work that no request may wait for in a span of its own: below what has asked for it, if that is of one trace;
 * else below the trace at hand, or in a new one.
 */
export const inLaterSpan = <T>(recorder: Recorder | undefined, span: Span, work: Work<T>): Promise<T> => {
  const { causes = [] } = span
  if (causes.length === 0 && currentTrace()) return inSpan(span, work)
  return inSpanAt(beginTrace(sharedBy(causes), recorder), span, work)
}
