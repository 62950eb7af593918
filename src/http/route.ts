import type { Static, TSchema } from 'typebox'
import type { KeyRule } from '../auth/api-keys.ts'
import type { AccountRecord, Actor, TokenPurpose } from '../auth/identity.ts'
import type { Policy } from '../auth/policies.ts'
import type { FailureKind, Problems } from '../lib/failure.ts'
import { type Json, present } from '../lib/json.ts'
import type { Warning } from '../settings/unknown-keys.ts'
import type { Author } from '../storage/change-set.ts'
import type { CommittedChange } from '../storage/idempotency.ts'
import type { Price } from './throttle/token-buckets.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

type Variables<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Variables<Rest>
  : never

type PathOf<Path extends string> = { readonly [Name in Variables<Path>]: string }

type WordsOf<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? WordsOf<Head> | WordsOf<Tail>
  : Path extends '' | `{${string}}`
    ? never
    : Path

export interface Upload {
  contentType: string
  charset?: string
  bytes: Buffer
  fileName: string
  /** Only the first file of a form is used. */
  files: number
}

/** A request body of any size, in chunks. */
export interface BodyStream {
  contentType: string
  fileName: string
  /** Fails after `crossbar.max_streamed_size` bytes, or a minute without data. */
  chunks: AsyncIterable<Buffer>
}

export interface Call<Path extends string = string, Data = unknown, Subject = unknown> {
  path: PathOf<Path>
  /** Validated; for PATCH the record with the change. */
  data: Data
  /** `data` as sent, without private keys. */
  sent: unknown
  subject: Subject
  account: AccountRecord
  actor: Actor
  /** Undefined on public routes without a token. */
  visitor: Actor | undefined
  author: Author
  query: URLSearchParams
  /** Envelope keys except `data`, in lower case. */
  envelope: Readonly<Record<string, unknown>>
  upload: Upload | undefined
  /** Can be read once: such a request is never repeated. */
  stream: BodyStream | undefined
  request: RequestFacts
}

export interface RequestFacts {
  id: string
  method: Method | 'HEAD' | 'OPTIONS'
  /** As sent, without the query. */
  path: string
  clientAddress: string
  /** The other end of the connection: the nearest proxy, or the client. */
  peerAddress: string
  header(name: string): string | undefined
  /** A value by name: in `data`, then in the envelope, then in the query. */
  value(name: string): unknown
  accepts: string
}

/** `true` or `false`; empty counts as absent. */
interface QueryFlag {
  flag: string
}

type QueryDescription = Readonly<Record<string, string | QueryFlag>>

/** The record of a GET: its audit entries are below its path. */
export interface AuditedRecord<Path extends string = string> {
  kind: string
  /** Its id, if that is not the last variable of the path. */
  id?(call: Pick<Call<Path>, 'path'>): Promise<string>
  /** Its owner, if that is not the account in the path. */
  owner?: 'actor' | 'nobody'
}

export interface Findings {
  isSound: boolean
}

export interface RouteSpec<Path extends string, Body extends TSchema, Found> {
  summary: string
  allow: Policy
  /**
   * Named API keys that may call it: `any`, only `unlimited` ones, or `none`. Without it: those whose scope contains the resource.
   * Of tokens with scopes, `any` or those with all of them.
   */
  namedKeys?: KeyRule
  /** A GET with effects: read-only API keys may not call it. */
  acts?: boolean
  /**
   * The word that restrictions and prices use; what follows it is its arguments. Without it: the last word after a variable,
   * or the first of the path.
   */
  resource?: WordsOf<Path>
  /** Finds the record in the path before validation, for If-Match and PATCH. */
  subject?(call: Omit<Call<Path>, 'subject' | 'data'>): Promise<Found>
  /** Whether something is stored at the path, for `If-None-Match: *`. Without it: whether the path is the subject's own. */
  isKept?(subject: NoInfer<Found>): boolean
  record?: AuditedRecord<Path>
  /** Also for deleted accounts, for their former parents. */
  outlivesAccount?: true
  body?: Body
  /** A body for examples and tests. Without it they send the smallest one that the schema accepts. */
  sample?: Json
  /** `body` is only documentation: `run` validates each item, so that one bad item does not reject the others. */
  judgesItself?: boolean
  /** The body is a list of records: ten times as many values are allowed, for a tenth of the price. */
  takesMany?: true
  /** Normalizes a body before validation, for example MAC addresses. */
  prepare?(data: Json): Json
  /** Further query parameters. */
  query?: QueryDescription
  /** Request options, which may be in the data but are not stored. */
  wishes?: QueryDescription
  /** Rules beyond the schema. All problems are in one response. */
  judge?(
    call: Omit<Call<Path, Partial<Static<Body>>, Found>, 'actor'> & { actor: Actor } & Findings,
  ): Promise<Problems>
  /** Values without effect, for `metadata.warnings`. */
  warns?(
    call: Omit<Call<Path, Static<Body>, Found>, 'actor'> & { actor: Actor },
  ): readonly Warning[] | Promise<readonly Warning[]>
  /** The shape of `data`; of a row for lists. */
  answers: TSchema
  /**
   * The response is a list. `keyed`: its rows are members of an object in `data`, which `answers` describes as a whole;
   * the route may also return something else.
   */
  list?: boolean | 'keyed'
  /** Its cost grows with the account's data: it runs in the fair queue. Lists and files always do. */
  isLong?: true
  /** The name in the setting that allows `full_docs` for this list. */
  module?: string
  status?: number
  /** Content types of other bodies than JSON. */
  uploads?: readonly string[]
  /** Content types of bodies that `run` reads itself. */
  streams?: readonly string[]
  /** Content types of responses in addition to JSON. */
  produces?: readonly string[]
  /** An unknown Accept header is ignored: the response is JSON. */
  acceptsAnything?: boolean
  /** Failures that not every route has. */
  fails?: readonly FailureKind[]
  /**
   * The response contains a secret that is shown once. It is never stored: a request runs each time, whatever its Idempotency-Key.
   */
  tellsOnce?: boolean
  /** The response contains secrets next to foreign data: it is never compressed, because its length would reveal them. */
  tellsSecrets?: boolean
  /** Tokens of this purpose may call it, too. They can call no other route that needs a token. */
  servesPurpose?: TokenPurpose
  price?: Price
  run(call: Call<Path, Static<Body>, Found>): Promise<unknown> | unknown
  /** The response of a request that was committed before a crash. Without it: the record by GET, or a 409 with the changes. */
  again?(call: Omit<Call<Path>, 'subject' | 'data'>, changes: readonly CommittedChange[]): Promise<unknown>
}

/** A route as the pipeline sees it, without the types of its path, schema and subject. */
export interface Route {
  method: Method
  path: string
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
    return { method, path, resourceAt, spec: rest, run, ...present({ record, subject, judge, warns, again }) }
  }

export const get = define('GET')
export const put = define('PUT')
export const post = define('POST')
export const patch = define('PATCH')
export const del = define('DELETE')
