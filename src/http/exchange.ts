import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiKeyRecord } from '../auth/api-keys.ts'
import type { Authenticate, Credential } from '../auth/authenticate.ts'
import type { AccountRecord, Actor } from '../auth/identity.ts'
import type { ResellerOf } from '../auth/policies.ts'
import type { Refusals } from '../events/refusals.ts'
import type { Clock } from '../lib/clock.ts'
import { invalid } from '../lib/failure.ts'
import { isTrue } from '../lib/json.ts'
import type { Log } from '../lib/log.ts'
import { memberOf } from '../lib/member.ts'
import { beginTrace, type Recorder, type Trace, traceparentOf } from '../lib/trace.ts'
import type { crossbarSettings } from '../settings/documents.ts'
import type { SettingsOf } from '../settings/keys.ts'
import type { Settings } from '../settings/settings.ts'
import type { Warning } from '../settings/unknown-keys.ts'
import type { Author, ChargeConsent } from '../storage/change-set.ts'
import type { CommittedChange, KeyClaim } from '../storage/idempotency.ts'
import type { Store } from '../storage/store.ts'
import type { Idempotency } from './request/idempotency.ts'
import type { Match, Router } from './request/router.ts'
import type { ListPlan } from './response/listing.ts'
import type { ResponseCache } from './response/response-cache.ts'
import type { Method, Route } from './route.ts'
import type { FairQueue } from './throttle/fair-queue.ts'
import type { InFlight } from './throttle/in-flight.ts'
import type { Throttle } from './throttle/throttle.ts'
import { type Body, emptyBody } from './transport/bodies.ts'
import type { WaitingBody } from './transport/body-bytes.ts'
import { targetOf } from './transport/client-address.ts'
import type { Places } from './transport/connection-limits.ts'

/** Handles a path outside of `/v2`. */
export type PlainPage = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

export interface FoundPage {
  /** Its path with placeholders, for metrics. */
  route: string
  answer: PlainPage
}

export interface Pages {
  find(path: string, method: string): FoundPage | undefined
}

interface RestrictionQuestion {
  actor: Actor
  account: AccountRecord | undefined
  endpoint: string
  endpointArguments: readonly string[]
  method: string
}

export interface ShutdownState {
  /** Clients should connect to another server. */
  isEnding: boolean
  /** Streams were ended. */
  isOver: boolean
  readonly live: Set<() => void>
}

export interface Upgrades {
  openCount(): number
  /** Other upgrade requests are answered as ordinary requests. */
  isOne(request: IncomingMessage): boolean
  take(frame: ServerContext, request: IncomingMessage, head: Buffer): void
  /** Closes all WebSockets. */
  stop(): Promise<void>
}

/** The dependencies of the pipeline. */
export interface ServerContext {
  router: Router
  pages: Pages
  life: ShutdownState
  underWay: ActiveRequests
  places: Places
  upgrades: Upgrades
  authenticate: Authenticate
  /** Records that a named API key was used, in the background. */
  noteKeyUse(key: ApiKeyRecord): void
  isUnrestricted(question: RestrictionQuestion): Promise<boolean>
  resellerOf: ResellerOf
  /** Classes of numbers, by name, that calls can be restricted by. */
  numberClasses(): Promise<object>
  /** A deleted account, as far as it is known. */
  departedAccount(id: string): Promise<AccountRecord | undefined>
  /** Resolves when the billing providers know the changes of these accounts. */
  settleServices(accountIds: readonly string[]): Promise<void>
  throttle: Throttle
  /** Reads of one page, and long reads. */
  turns: { short: FairQueue; long: FairQueue }
  inFlight: InFlight
  responseCache: ResponseCache
  refusals: Refusals
  idempotency: Idempotency
  settings: Settings
  maxRecordValues(): Promise<number>
  store: Store
  clock: Clock
  log: Log
  /**
   * Starts to measure a request; call the result when it is over. `route` is the template of a path without a route.
   * `status`: undefined means that of the response.
   */
  witness(exchange: RequestContext, route?: string): (status?: number) => void
  recorder: Recorder | undefined
  node: string
  version: string
}

/** One request: each step of the pipeline sets what later steps read. */
export class RequestContext {
  readonly frame: ServerContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly trace: Trace
  readonly path: string
  /** Without the question mark. */
  readonly search: string
  readonly query: URLSearchParams
  /** As sent; a tunnelled verb replaces it. */
  method: Method | 'HEAD' | 'OPTIONS'
  segments: readonly string[] = []
  crossbar!: SettingsOf<typeof crossbarSettings>
  clientAddress = ''
  /** The other end of the connection: the nearest proxy, or the client. */
  peerAddress = ''
  body: Body = emptyBody
  waitingBody: WaitingBody | undefined
  paidBytes = 0
  credential: Credential | undefined
  actor: Actor | undefined
  /** The failure of the credential, until it is known whether one is needed. */
  refusal: unknown
  match: Match | undefined
  route: Route | undefined
  variables: Record<string, string> = {}
  account: AccountRecord | undefined
  tokens: { consumed: number; remaining: number } | undefined
  accepts = 'application/json'
  listPlan: ListPlan | undefined
  warnings: readonly Warning[] = []
  /** For a running request with an Idempotency-Key. */
  claim: KeyClaim | undefined
  /** What an earlier attempt committed before it crashed. */
  lost: CommittedChange[] | undefined
  fault: unknown
  /** The response has started: the remaining steps are skipped. */
  done = false
  /** Memory for the response is reserved. */
  hasRoom = false

  constructor(frame: ServerContext, request: IncomingMessage, response: ServerResponse, id: string) {
    this.frame = frame
    this.request = request
    this.response = response
    this.id = id
    this.trace = beginTrace(request.headers.traceparent, frame.recorder)
    this.method = request.method as Method
    const url = targetOf(request)
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.search = mark < 0 ? '' : url.slice(mark + 1)
    this.query = mark < 0 ? noQuery : new URLSearchParams(this.search)
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  /** A value by name: in `data`, then in the envelope, then in the query. */
  value(name: string): unknown {
    const { data, envelope } = this.body
    if (data !== undefined && !Array.isArray(data)) {
      const own = memberOf(data, name)
      if (own !== undefined) return own
    }
    return envelope[name] ?? this.query.get(name) ?? undefined
  }

  isTrue(name: string) {
    return isTrue(this.value(name))
  }
}

const noQuery = new URLSearchParams()

/** Rejects values that cannot be the id of a quote. */
export const requireQuoteId = (exchange: RequestContext) => {
  const value = exchange.value('quote_id') ?? undefined
  if (value === undefined || (typeof value === 'string' && value !== '')) return
  const message = exchange.route?.spec.query?.quote_id
    ? 'Must be the id of a finished dry run'
    : 'Must be the quote_id of a 402 response'
  throw invalid({ quote_id: { type: { message, value } } })
}

const consentOf = (exchange: RequestContext): ChargeConsent => {
  const quoteId = exchange.value('quote_id')
  const { claims, key, user } = exchange.actor ?? {}
  const caller = claims?.jti ?? key?.id ?? user?.id
  return {
    ...(typeof quoteId === 'string' ? { quoteId } : {}),
    ...(caller === undefined ? {} : { caller }),
    toJSON: () => undefined,
  }
}

export const authorOf = (exchange: RequestContext): Author => {
  const { actor } = exchange
  const author: Author = {
    requestId: exchange.id,
    clientAddress: exchange.clientAddress,
    request: { method: exchange.method, path: exchange.path },
  }
  if (exchange.trace.recorder) author.trace = traceparentOf(exchange.trace)
  if (exchange.isTrue('accept_charges')) author.acceptsCharges = true
  if (exchange.method !== 'GET') author.consent = consentOf(exchange)
  if (exchange.claim) author.idempotency = exchange.claim
  if (!actor) return author
  author.authAccountId = actor.accountId
  author.authMethod = actor.method
  if (actor.user) author.authUserId = actor.user.id
  if (actor.key) author.authKeyId = actor.key.id
  if (actor.claims?.original_account_id) author.originalAuthAccountId = actor.claims.original_account_id
  if (actor.claims?.original_owner_id) author.originalAuthUserId = actor.claims.original_owner_id
  return author
}

// Requests continue when their clients leave. The server waits for them before it closes the store.

type ActiveRequests = ReturnType<typeof createActiveRequests>

export const createActiveRequests = () => {
  let count = 0
  let onLast: (() => void) | undefined

  return {
    async during(work: () => Promise<void>) {
      count += 1
      try {
        await work()
      } finally {
        count -= 1
        if (count === 0) onLast?.()
      }
    },

    /** Resolves when no request is running, or after this time. */
    over(milliseconds: number) {
      if (count === 0) return Promise.resolve()
      return new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        onLast = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
  }
}
