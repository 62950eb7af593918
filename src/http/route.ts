import type { Static, TSchema } from 'typebox'
import type { KeyRule } from '../auth/api-keys.ts'
import type { AccountRecord, Actor, TokenPurpose } from '../auth/identity.ts'
import type { Policy } from '../auth/policies.ts'
import type { FailureKind, Problems } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import type { Warning } from '../settings/unknown-keys.ts'
import type { Author } from '../storage/change-set.ts'
import type { CommittedChange } from '../storage/idempotency.ts'
import type { Price } from './throttle/token-buckets.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

type Variables<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Variables<Rest>
  : never

/** The path's variables by name, decoded: `'/v2/accounts/{account_id}'` gives `{ account_id: string }`. */
type PathOf<Path extends string> = { readonly [Name in Variables<Path>]: string }

/** The words of a path: `'/v2/accounts/{account_id}'` gives `'v2' | 'accounts'`. */
type WordsOf<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? WordsOf<Head> | WordsOf<Tail>
  : Path extends '' | `{${string}}`
    ? never
    : Path

/** A request body that is not JSON. */
export interface Upload {
  contentType: string
  /** The character set that was named beside it. */
  charset?: string
  bytes: Buffer
  fileName: string
  /** How many the request holds: the others of a form are left out. */
  files: number
}

/** A request body of any size, handed on piece by piece as it arrives. */
export interface BodyStream {
  contentType: string
  fileName: string
  /** Fails when the body grows beyond `crossbar.max_streamed_size`, or when nothing comes for a minute. */
  chunks: AsyncIterable<Buffer>
}

/** What a route's `run` is given: a request that has passed every step before it. */
export interface Call<Path extends string = string, Data = unknown, Subject = unknown> {
  path: PathOf<Path>
  /** The validated body; for PATCH the record with the change merged in. */
  data: Data
  /** What the client sent under `data`, as it was sent (only private keys are gone). */
  sent: unknown
  /** What `subject` found. */
  subject: Subject
  /** The account in the path. */
  account: AccountRecord
  actor: Actor
  /** Undefined on routes that anyone may call without a token. */
  visitor: Actor | undefined
  author: Author
  query: URLSearchParams
  /** Envelope keys other than `data`, lower-cased. */
  envelope: Readonly<Record<string, unknown>>
  upload: Upload | undefined
  /** The body, when the route streams its content type. It can be read once: such a request is never repeated inside. */
  stream: BodyStream | undefined
  request: RequestFacts
}

export interface RequestFacts {
  id: string
  method: Method | 'HEAD' | 'OPTIONS'
  /** The path as it was sent, without its query. */
  path: string
  clientAddress: string
  /** Where the connection comes from: of a request through proxies the nearest one. */
  peerAddress: string
  header(name: string): string | undefined
  /** A value by name: searched in `data`, then the envelope, then the query. */
  value(name: string): unknown
  /** The content type that the client prefers among those the route makes. */
  accepts: string
}

/** A query parameter that is `true` or `false`; an empty value counts as absent. */
interface QueryFlag {
  flag: string
}

/** A description of query parameters for OpenAPI. */
type QueryDescription = Readonly<Record<string, string | QueryFlag>>

/** The record that a GET reads whose path ends in its id: what the audit tells of it stands behind that path. */
export interface AuditedRecord<Path extends string = string> {
  kind: string
  /** Its id, where that is not the last variable of the path as it stands. */
  id?(call: Pick<Call<Path>, 'path'>): Promise<string>
  /** Whose it is, where that is not the account in the path, or nobody without one. */
  owner?: 'actor' | 'nobody'
}

/** What is known of a body when it is judged. */
export interface Findings {
  /** Its schema has found nothing wrong. */
  isSound: boolean
}

export interface RouteSpec<Path extends string, Body extends TSchema, Found> {
  summary: string
  allow: Policy
  /**
   * What named API keys may do here whatever their scope: `any` may call it, only an `unlimited` one, or `none` of them.
   * Without it: those whose scope names the resource. Of tokens with scopes, `any` or those with all of them.
   */
  namedKeys?: KeyRule
  /** A GET that does more than read: an API key that may only read may not call it. */
  acts?: boolean
  /**
   * The word of the path that token restrictions and prices know the route by, and what stands behind it is its
   * arguments. Without it: the last word that follows a variable, or the first of the path.
   */
  resource?: WordsOf<Path>
  /** Finds the record in the path before the body is judged. Its revision feeds If-Match, its doc a PATCH. */
  subject?(call: Omit<Call<Path>, 'subject' | 'data'>): Promise<Found>
  /**
   * Whether something is kept at the path, where that is only a part of the subject. `If-None-Match: *` refuses a change
   * then. Without it: where the path is the subject's own.
   */
  isKept?(subject: NoInfer<Found>): boolean
  record?: AuditedRecord<Path>
  /** It also answers for accounts that are gone, to those who stood above them. */
  outlivesAccount?: true
  body?: Body
  /** A body for examples and tests; without it they send the smallest one that the schema accepts. */
  sample?: Json
  /** `body` only describes what is sent: `run` judges it piece by piece, so that one bad piece spoils nothing. */
  judgesItself?: boolean
  /** Its body is many records or rows: they may be ten times as many, for a tenth of the price of a body. */
  takesMany?: true
  /** Puts a body in order before the schema sees it: spaces out of a realm, a MAC address into one form. */
  prepare?(data: Json): Json
  /** The query parameters that the route reads beside those every route understands. */
  query?: QueryDescription
  /** The same for wishes about the request, which may stand among the data and are no fields of the record. */
  wishes?: QueryDescription
  /** Judges what a schema cannot say, so that all problems of a request come in one answer. */
  judge?(
    call: Omit<Call<Path, Partial<Static<Body>>, Found>, 'actor'> & { actor: Actor } & Findings,
  ): Promise<Problems>
  /** What of valid data has no effect, beyond keys that no schema knows: reported in `metadata.warnings`. */
  warns?(
    call: Omit<Call<Path, Static<Body>, Found>, 'actor'> & { actor: Actor },
  ): readonly Warning[] | Promise<readonly Warning[]>
  /** The shape of `data` in the answer; of a row when the answer is a list. */
  answers: TSchema
  /**
   * Set when the answer is a list of rows. `keyed`: the rows stand under keys somewhere in `data`, which `answers`
   * describes as a whole; the route may answer another question of its path with something else than a list.
   */
  list?: boolean | 'keyed'
  /** What it reads grows with what the account has: it is done in the account's turn. Lists and files are anyway. */
  isLong?: true
  /** The name by which administrators allow `full_docs` for this list alone. */
  module?: string
  status?: number
  /** Content types of non-JSON bodies that the route takes. */
  uploads?: readonly string[]
  /** Content types of bodies that are not read but handed to `run` as they arrive. */
  streams?: readonly string[]
  /** Content types beside JSON that the route makes. */
  produces?: readonly string[]
  /** An Accept header that names nothing the route makes is passed over: the answer is JSON. */
  acceptsAnything?: boolean
  /** Failures beyond those that any route may answer with. */
  fails?: readonly FailureKind[]
  /**
   * The answer holds a token or another secret that is told once, to whoever asks here and now. It is never kept: a
   * request is carried out each time it is sent, whatever its Idempotency-Key.
   */
  tellsOnce?: boolean
  /** The answer shows secrets beside what others have written: it is never compressed, or its length would tell of them. */
  tellsSecrets?: boolean
  /** What tokens that are for one thing may call it for; other routes are closed to them. */
  servesPurpose?: TokenPurpose
  /** The price in throttling tokens, when it is not the ordinary one. */
  price?: Price
  run(call: Call<Path, Static<Body>, Found>): Promise<unknown> | unknown
  /**
   * The answer of a request whose first answer was lost after it had committed these changes: for routes that move
   * money. Of other routes it is what GET says of the record, or else a 409 that tells the changes: answer-again.ts.
   */
  again?(call: Omit<Call<Path>, 'subject' | 'data'>, changes: readonly CommittedChange[]): Promise<unknown>
}

/**
 * A route as the pipeline sees it. Its functions take what their own path, schema and subject make of a call: the
 * pipeline gives each route the call that was made by these.
 */
export interface Route {
  method: Method
  path: string
  /** Which segment names its resource. */
  resourceAt: number
  spec: Omit<RouteSpec<string, TSchema, unknown>, 'run' | 'subject' | 'judge' | 'warns' | 'again' | 'record'>
  record?: AuditedRecord
  subject?(call: Call): Promise<unknown>
  judge?(call: Call & Findings): Promise<Problems>
  warns?(call: Call): readonly Warning[] | Promise<readonly Warning[]>
  run(call: Call): unknown
  again?(call: Call, changes: readonly CommittedChange[]): Promise<unknown>
}

const placeOfResource = (path: string, declared: string | undefined) => {
  const segments = path.split('/').slice(1)
  if (declared !== undefined) return segments.lastIndexOf(declared)
  const isVariable = (segment: string | undefined) => segment?.startsWith('{') === true
  const behindVariable = segments.findLastIndex(
    (segment, index) => !isVariable(segment) && isVariable(segments[index - 1]),
  )
  return behindVariable < 0 ? 1 : behindVariable
}

const define =
  (method: Method) =>
  <const Path extends string, Body extends TSchema, Found>(
    path: Path,
    spec: RouteSpec<Path, Body, Found>,
  ): Route => {
    const { run, subject, judge, warns, again, record, ...rest } = spec
    const resourceAt = placeOfResource(path, spec.resource)
    return {
      method,
      path,
      resourceAt,
      spec: rest,
      run,
      ...(record ? { record } : {}),
      ...(subject ? { subject } : {}),
      ...(judge ? { judge } : {}),
      ...(warns ? { warns } : {}),
      ...(again ? { again } : {}),
    }
  }

export const get = define('GET')
export const put = define('PUT')
export const post = define('POST')
export const patch = define('PATCH')
export const del = define('DELETE')
