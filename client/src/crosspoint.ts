import { type CsvOptions, csvQuery, type Sheet, sheetOf } from './csv.ts'
import { createFollow } from './events.ts'
import { createPages } from './pages.ts'
import { createAddresses, createCalls, createRequest } from './request.ts'
import { createSending, type Waiting } from './sending.ts'
import { memoryStore, type Session, type SessionStore } from './session.ts'
import { createSessions } from './sessions.ts'
import { createSignIn } from './sign-in.ts'

export interface CrosspointOptions {
  /** `https://telephony.example.com`; a page uses `location.origin`. */
  server: string
  /** Where the session is kept; in memory unless this says otherwise. */
  store?: SessionStore
  fetch?: typeof fetch
  /**
   * Called when the session has ended and cannot be renewed. The client waits for its promise: if the user has
   * signed in again by then, the refused calls are repeated.
   */
  onSignedOut?: (ended: Session) => void | Promise<void>
  /** A request is going to be repeated after a pause: the server is away, busy, or asks for it. */
  onWaiting?: (waiting: Waiting) => void
  /** How long in all a request waits to be repeated before it fails. */
  patienceMs?: number
  /** How long the beginning of an answer is waited for. */
  answerWithinMs?: number
}

const defaultPatienceMs = 20_000
const defaultAnswerWithinMs = 60_000

/** The parts of a client, without what is generated. */
export const createCore = (options: CrosspointOptions) => {
  const { server, store = memoryStore(), onSignedOut = () => {}, onWaiting = () => {} } = options
  const { patienceMs = defaultPatienceMs, answerWithinMs = defaultAnswerWithinMs } = options
  // Called without a receiver: a browser's `fetch` belongs to the window.
  const { fetch: ask = (input, init) => globalThis.fetch(input, init) } = options
  const now = () => Date.now()
  const addressOf = createAddresses(server)
  const send = createSending({ fetch: ask, patienceMs, answerWithinMs, onWaiting })
  const sessions = createSessions({ url: addressOf, send, store, now, onSignedOut })
  const { call, callAnonymously } = createCalls(send, sessions)
  const requests = createRequest(call, addressOf)
  const { request, open } = requests
  return {
    call,
    addressOf,
    crosspoint: {
      ...createSignIn({ ...createRequest(callAnonymously, addressOf), sessions, now }),
      ...createPages(requests),
      /** The signed-in user; undefined if none. */
      session: (): Session | undefined => sessions.current(),
      request,
      open,
      follow: createFollow({ call, addressOf, onSign: sessions.forCall }),
      /** A list at a path as CSV: rows, or bytes, as they come. */
      csv: (path: string, { query, ...rest }: CsvOptions = {}): Sheet =>
        sheetOf(() => open({ path, query: csvQuery(query), accept: 'text/csv', ...rest })),
    },
  }
}

export type CrosspointCore = ReturnType<typeof createCore>['crosspoint']

/** A client of one server, for paths by their text. */
export const createCrosspoint = (options: CrosspointOptions): CrosspointCore => createCore(options).crosspoint
