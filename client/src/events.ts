import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { isObject } from './envelope.ts'
import { CrosspointError } from './errors.ts'
import { growingPauses, pause, unlessAborted } from './pauses.ts'
import type { AddressOf, Call } from './request.ts'

/** Something that was committed in an account. */
export interface CrosspointEvent {
  /** Position in the order of all events; the text sorts in this order. */
  sequence: string
  /** `user.edited`, `balance.low` and so on. */
  type: string
  account_id: string
  /** Gregorian seconds. */
  at: number
  actor: { type: string; id?: string; account_id?: string; as?: { id?: string; account_id?: string } }
  request_id: string
  record: { kind: string; id: string }
  /** The record after it; absent of what is gone. */
  after?: Record<string, unknown>
  before?: Record<string, unknown>
}

export type FollowState =
  | 'connecting'
  /** Receives new events as they occur. */
  | 'live'
  /** The line is broken, or the server asks to come back later. */
  | 'waiting'

export interface FollowOptions {
  accountId: string
  /** `user.edited`, `task.*`; default: all except `cdr.created`, which must be named. */
  types?: readonly string[]
  /** A sequence; `now` begins with what comes. Absent: with the oldest that is kept. */
  after?: string
  includeSubaccounts?: boolean
  /** Also the record as it was. */
  withBefore?: boolean
  signal?: AbortSignal
  onState?: (state: FollowState) => void
  /** A connection without data for this time counts as broken. Servers send something every ten seconds. */
  silenceMs?: number
}

const defaultSilenceMs = 30_000

const isEvent = (value: unknown): value is CrosspointEvent =>
  isObject(value) && typeof value.sequence === 'string' && typeof value.type === 'string'

const jsonIn = (text: string): unknown => JSON.parse(text)

const afterIn = ({ data }: EventSourceMessage) => {
  const value = jsonIn(data)
  return isObject(value) && typeof value.after === 'string' ? value.after : undefined
}

/** Errors that may be temporary: no response, and states of the server. */
const isPassing = (error: unknown) =>
  !(error instanceof CrosspointError) || error.status === 0 || error.status === 429 || error.status >= 500

interface Listening {
  signal: AbortSignal | undefined
  silenceMs: number
  onSign: () => void
}

/** The messages of a stream, until it ends or falls silent. */
async function* messagesOf(response: Response, { signal, silenceMs, onSign }: Listening) {
  const reader = response.body?.getReader()
  if (!reader) return
  const messages: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => messages.push(message) })
  const decoder = new TextDecoder()
  const readInTime = async () => {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(new Error('nothing has come for too long')), silenceMs)
    try {
      return await unlessAborted(unlessAborted(reader.read(), silence.signal), signal)
    } finally {
      clearTimeout(timer)
    }
  }
  try {
    for (;;) {
      const { done, value } = await readInTime()
      if (done) return
      onSign()
      parser.feed(decoder.decode(value, { stream: true }))
      yield* messages.splice(0)
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

interface Tools {
  call: Call
  addressOf: AddressOf
  /** The user is active: the session is renewed. */
  onSign: () => void
}

export const createFollow = ({ call, addressOf, onSign }: Tools) =>
  /** Events as they come, each once and in their order, over broken lines. It ends with its signal, or with an error. */
  async function* follow(options: FollowOptions): AsyncGenerator<CrosspointEvent, void, undefined> {
    const { accountId, types, includeSubaccounts, withBefore, signal } = options
    const { onState = () => {}, silenceMs = defaultSilenceMs } = options
    const pauses = growingPauses()
    let place = options.after

    const open = async () => {
      const query = {
        type: types?.join(','),
        include_subaccounts: includeSubaccounts,
        with_before: withBefore,
        after: place,
      }
      const url = addressOf(`/v2/accounts/${accountId}/events`, query)
      const headers = new Headers({ accept: 'text/event-stream' })
      const response = await call({ method: 'GET', url, headers, signal, patienceMs: 0 })
      // Where `now` was: without it what happens before the first event would be lost when the line breaks.
      place = response.headers.get('x-last-event-id') ?? place
      return response
    }

    async function* once() {
      onState('connecting')
      const response = await open()
      onState('live')
      for await (const message of messagesOf(response, { signal, silenceMs, onSign })) {
        pauses.reset()
        if (message.event === 'lagging') {
          place = afterIn(message) ?? place
          return
        }
        const event = jsonIn(message.data)
        if (!isEvent(event)) continue
        place = event.sequence
        yield event
      }
    }

    while (!signal?.aborted) {
      let askedMs: number | undefined
      try {
        yield* once()
      } catch (error) {
        if (signal?.aborted) return
        if (!isPassing(error)) throw error
        if (error instanceof CrosspointError && error.retryAfterSeconds !== undefined)
          askedMs = error.retryAfterSeconds * 1000
      }
      if (signal?.aborted) return
      onState('waiting')
      await pause(Math.max(askedMs ?? 0, pauses.next()), signal).catch(() => undefined)
    }
  }

export type Follow = ReturnType<typeof createFollow>
