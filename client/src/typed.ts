import { type CrosspointCore, type CrosspointOptions, createCore } from './crosspoint.ts'
import { type CsvOptions, csvQuery, type Sheet, sheetOf } from './csv.ts'
import { type Client, createClient, createConfig } from './generated/client/index.ts'
import { type Page, pagesBy, rowsOf } from './pages.ts'
import type { Call, Query } from './request.ts'
import type { Body } from './sending.ts'

/** A generated function. */
export type Operation = (options: never) => Promise<unknown>

/** What it takes besides the client. */
export type OptionsOf<F extends Operation> = Omit<Parameters<F>[0], 'client'>

/** The envelope that it answers with. */
export type AnswerOf<F extends Operation> = NonNullable<Awaited<ReturnType<F>>>

type DataOf<Answer> = Answer extends { data: infer Data } ? Data : never
type RowIn<Data> = Data extends readonly (infer Row)[]
  ? Row
  : Data extends { numbers: Readonly<Record<string, infer Row>> }
    ? Row & { id: string }
    : never

/** A row of the list that it answers with. */
export type RowOf<F extends Operation> = RowIn<DataOf<AnswerOf<F>>>

type PageOf<F extends Operation> = AnswerOf<F> & Page

export interface Crosspoint extends Omit<CrosspointCore, 'csv'> {
  /** For generated functions: `getAccount({ client: crosspoint.http, path: { account_id } })`. */
  http: Client
  /** The pages of a generated function that lists: `crosspoint.pages(listDevices, { path: { account_id } })`. */
  pages<F extends Operation>(list: F, options: OptionsOf<F>): AsyncGenerator<PageOf<F>, void, undefined>
  /** Its rows, over all pages. */
  each<F extends Operation>(list: F, options: OptionsOf<F>): AsyncGenerator<RowOf<F>, void, undefined>
  /** A list as CSV, by its path or by its generated function: rows, or bytes, as they come. */
  csv: {
    (path: string, options?: CsvOptions): Sheet
    <F extends Operation>(list: F, options: OptionsOf<F>): Sheet
  }
}

const isBody = (value: unknown): value is Body =>
  typeof value === 'string' ||
  value instanceof Blob ||
  value instanceof Uint8Array ||
  value instanceof ReadableStream

/** The client of the generated functions. It keeps each request, so that it can be repeated. */
const createHttp = (server: string, call: Call): Client => {
  const bodies = new WeakMap<Request, Body>()
  const inSession: typeof fetch = async (input, init) => {
    const request = input instanceof Request ? input : new Request(input, init)
    const { method, url, headers, signal } = request
    const body = bodies.get(request) ?? (request.body ? await request.blob() : undefined)
    return call({ method, url, headers, signal, body })
  }
  const http = createClient(
    createConfig({
      baseUrl: server.replace(/\/$/, ''),
      fetch: inSession,
      throwOnError: true,
      responseStyle: 'data',
      // A file is sent as it is, with a `content-type` among the headers.
      bodySerializer: (body: unknown) => (isBody(body) ? body : JSON.stringify(body)),
    }),
  )
  http.interceptors.request.use((request, { serializedBody, body }) => {
    const sent = serializedBody ?? body
    if (isBody(sent)) bodies.set(request, sent)
    return request
  })
  return http
}

/** A client of one server. */
export const createCrosspoint = (options: CrosspointOptions): Crosspoint => {
  const { crosspoint, call } = createCore(options)
  const http = createHttp(options.server, call)

  // Parameters and results of a generated function are in its own type; here all are alike.
  const run = (operation: Operation, given: object, changed: object): Promise<unknown> =>
    operation({ ...given, client: http, ...changed } as never)

  const queryIn = (given: { query?: unknown }): Query => (given.query ?? {}) as Query

  const pages = <F extends Operation>(list: F, given: OptionsOf<F>) =>
    pagesBy(async (start_key) => {
      const query = start_key === undefined ? queryIn(given) : { ...queryIn(given), start_key }
      return (await run(list, given, { query })) as PageOf<F>
    })

  async function* each<F extends Operation>(list: F, given: OptionsOf<F>) {
    for await (const { data } of pages(list, given)) yield* rowsOf(data) as RowOf<F>[]
  }

  const csvOf = <F extends Operation>(list: F, given: OptionsOf<F> & { query?: unknown; headers?: object }) =>
    sheetOf(async () => {
      const headers = { ...given.headers, accept: 'text/csv' }
      const asked = { query: csvQuery(queryIn(given)), headers, parseAs: 'stream' }
      return new Response((await run(list, given, asked)) as ReadableStream<Uint8Array>)
    })

  const csv: Crosspoint['csv'] = <F extends Operation>(
    list: F | string,
    given?: OptionsOf<F> | CsvOptions,
  ) => (typeof list === 'string' ? crosspoint.csv(list, given) : csvOf(list, (given ?? {}) as OptionsOf<F>))

  return { ...crosspoint, http, pages, each, csv }
}
