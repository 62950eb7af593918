// Which trace (W3C Trace Context) the work at hand belongs to, and the spans that are recorded of it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomHex } from './ids.ts'

type SpanKind = 'server' | 'client' | 'internal'

/** What is told of a span; its values are for operators, and never secrets. */
type SpanFacts = Record<string, string | number>

/** What is begun. */
interface Span {
  name: string
  kind: SpanKind
  facts?: SpanFacts
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
  hasFailed: boolean
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

/** What the work at hand belongs to. */
export const currentTrace = () => current.getStore()

/** Does work as a part of a trace; undefined: of none, whoever has caused it. */
export const inTrace = <T>(trace: Trace | undefined, work: () => T): T => current.run(trace, work)

/** Unix milliseconds, of which the differences are exact. */
const exactNow = () => performance.timeOrigin + performance.now()

/** Begins to time what `trace` is the place of; to be called when it has ended. */
export const timeSpan = (trace: Trace, kind: SpanKind) => {
  const { recorder, traceId, spanId, parentSpanId } = trace
  if (!recorder) return () => undefined
  const startedAt = exactNow()
  return (name: string, facts: SpanFacts, hasFailed: boolean) =>
    recorder.record({
      name,
      kind,
      traceId,
      spanId,
      parentSpanId,
      startedAt,
      endedAt: exactNow(),
      facts,
      hasFailed,
    })
}

/** Does work in a span of its own, below the trace that it is a part of; what `work` adds to the facts is told as well. */
const inSpanOf = async <T>(
  trace: Trace,
  { name, kind, facts = {} }: Span,
  work: (facts: SpanFacts) => Promise<T>,
): Promise<T> => {
  const told = { ...facts }
  const end = timeSpan(trace, kind)
  try {
    const result = await inTrace(trace, () => work(told))
    end(name, told, false)
    return result
  } catch (error) {
    end(name, told, true)
    throw error
  }
}

/** Does work in a span below the trace at hand; where nothing is recorded it is just done. */
export const inSpan = <T>(span: Span, work: (facts: SpanFacts) => Promise<T>): Promise<T> => {
  const trace = currentTrace()
  if (!trace?.recorder) return work({})
  return inSpanOf({ ...trace, spanId: randomHex(8), parentSpanId: trace.spanId }, span, work)
}

/** Does what no request waits for in a trace of its own. */
export const inOwnTrace = <T>(
  recorder: Recorder | undefined,
  span: Span,
  work: (facts: SpanFacts) => Promise<T>,
): Promise<T> => {
  const trace = beginTrace(undefined, recorder)
  return trace.recorder ? inSpanOf(trace, span, work) : inTrace(trace, () => work({}))
}
