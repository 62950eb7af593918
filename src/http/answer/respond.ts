import { createHash, hash } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { columnsOf, csvLine, flattenRow } from '../../lib/csv.ts'
import { Failure, failure, isOutage } from '../../lib/failure.ts'
import { describeError } from '../../lib/log.ts'
import type { Exchange } from '../exchange.ts'
import type { KeptAnswer } from '../judge/held-keys.ts'
import { corsHeaders } from '../wire/cors.ts'
import { handOver } from '../wire/hand-over.ts'
import { outlastsAnswer } from '../wire/refused-body.ts'
import { Answer, FileAnswer, ListAnswer, RawJson, StreamAnswer } from './answers.ts'
import {
  type EnvelopeParts,
  envelopeOf,
  envelopeTail,
  prettyPrinted,
  withoutToken,
  withToken,
} from './envelope.ts'
import { failureAnswer, unexpected } from './failures.ts'
import {
  bracketsOf,
  collectPage,
  flatRow,
  jsonMember,
  type Listing,
  type ListPlan,
  narrow,
  type Page,
  type Render,
  type Sheet,
  walk,
} from './listing.ts'

type Headers = Record<string, string>

const writeHead = (exchange: Exchange, status: number, headers: Headers) => {
  const flat = [...corsHeaders, 'x-request-id', exchange.id, 'x-content-type-options', 'nosniff']
  for (const name in headers) flat.push(name, headers[name] as string)
  exchange.response.writeHead(status, flat)
}

/** Sends a body in pieces, which need not be put together first. */
const sendPieces = (exchange: Exchange, status: number, pieces: readonly Uint8Array[], headers: Headers) => {
  exchange.done = true
  headers['content-length'] = String(pieces.reduce((sum, { length }) => sum + length, 0))
  writeHead(exchange, status, headers)
  const { response } = exchange
  if (exchange.method === 'HEAD') return void response.end()
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
}

const send = (exchange: Exchange, status: number, body: string | Uint8Array, headers: Headers) => {
  exchange.done = true
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  headers['content-length'] = String(bytes)
  writeHead(exchange, status, headers)
  if (exchange.method === 'HEAD') exchange.response.end()
  // One byte a character is ASCII, where the encoding that costs less gives the same bytes.
  else exchange.response.end(body, bytes === body.length ? 'latin1' : 'utf8')
}

/** An answer without a body: preflights, 304. */
export const sendEmpty = (exchange: Exchange, status: number, headers: Headers = {}) => {
  exchange.done = true
  if (status !== 304) headers['content-length'] = '0'
  writeHead(exchange, status, headers)
  exchange.response.end()
}

const wantsPretty = (exchange: Exchange) =>
  exchange.header('x-pretty-print') === 'true' || exchange.isTrue('pretty_print')

/** What is still under way: a route that can answer again knows more the next time. */
const isProvisional = ({ route }: Exchange, { status }: KeptAnswer) =>
  status === 202 && route?.again !== undefined

const shaped = (exchange: Exchange, text: string) => (wantsPretty(exchange) ? prettyPrinted(text) : text)

/** The caller's own token, where answers tell it. */
const toldToken = ({ crossbar, actor }: Exchange) => (crossbar?.include_auth_token ? actor?.token : undefined)

/** Ends what was done under the request's key. Without an answer to keep, whoever asks again gets one that is made anew. */
export const settleKey = async (exchange: Exchange, answer?: KeptAnswer) => {
  const { claim, frame } = exchange
  exchange.claim = undefined
  if (claim)
    await frame.idempotency.settle(claim, answer && isProvisional(exchange, answer) ? undefined : answer)
}

const sendJson = async (exchange: Exchange, status: number, text: string, headers: Headers = {}) => {
  headers['content-type'] = 'application/json'
  if (exchange.claim)
    await settleKey(exchange, { status, headers, ...withoutToken(text, exchange.actor?.token) })
  send(exchange, status, shaped(exchange, text), headers)
}

/** The answer that a request got the first time. The only token in it is the one that was sent along just now. */
export const sendKept = (exchange: Exchange, { status, headers, body, tokenAt }: KeptAnswer) => {
  const token = toldToken(exchange)
  const text = tokenAt === undefined || token === undefined ? body : withToken(body, tokenAt, token)
  send(exchange, status, shaped(exchange, text), { ...headers, 'idempotent-replayed': 'true' })
}

/** The envelope fields that do not depend on the answer. */
const common = (exchange: Exchange, status: 'success' | 'error'): Omit<EnvelopeParts, 'data'> => ({
  status,
  requestId: exchange.id,
  node: exchange.frame.node,
  now: exchange.frame.clock.now(),
  version: exchange.actor ? exchange.frame.version : undefined,
  authToken: toldToken(exchange),
  tokens: exchange.tokens,
})

const matchesTag = (header = '', etag: string) =>
  header
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''))

const isUnchanged = (exchange: Exchange, etag: string | undefined) =>
  etag !== undefined &&
  (exchange.method === 'GET' || exchange.method === 'HEAD') &&
  matchesTag(exchange.header('if-none-match'), etag)

const withoutLastSlashes = (path: string) => {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

const location = (exchange: Exchange, id: string): Headers => ({
  location: `${withoutLastSlashes(exchange.path)}/${id}`,
})

const sendAnswer = (exchange: Exchange, { fields }: Answer) => {
  const { data, metadata, revision, status, message, created, headers, authToken } = fields
  const tag = fields.etag ?? revision
  const etag = tag === undefined ? undefined : `"${tag}"`
  const wire: Headers = { ...headers, ...(created ? location(exchange, created) : {}) }
  if (etag) wire.etag = etag
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, wire)
  const parts: EnvelopeParts = { ...common(exchange, 'success'), data, metadata, revision }
  if (authToken !== undefined && !exchange.route?.spec.tellsOnce)
    throw new Error(`${exchange.path} answers with a token and does not say so`)
  if (authToken !== undefined) parts.authToken = authToken
  if (message !== undefined) parts.extra = { message }
  return sendJson(exchange, status ?? (exchange.method === 'PUT' ? 201 : 200), envelopeOf(parts), wire)
}

const byteRange = /^bytes=(\d+)-(\d*)$/

/** A usable range gives 206; one that cannot be used gives the whole file. */
const sendFile = (exchange: Exchange, { bytes, contentType, headers }: FileAnswer) => {
  const etag = headers.etag ?? `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`
  const wire: Headers = { ...headers, etag, 'content-type': contentType, 'accept-ranges': 'bytes' }
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, wire)
  const [, from, to] = byteRange.exec(exchange.header('range') ?? '') ?? []
  const start = Number(from)
  const end = to ? Math.min(Number(to), bytes.length - 1) : bytes.length - 1
  if (from === undefined || start > end) return send(exchange, 200, bytes, wire)
  wire['content-range'] = `bytes ${start}-${end}/${bytes.length}`
  send(exchange, 206, bytes.subarray(start, end + 1), wire)
}

/** The head waits for the first piece: what fails before anything is sent is answered as a failure. */
const sendStream = async (exchange: Exchange, { contentType, headers, chunks }: StreamAnswer) => {
  for await (const chunk of chunks) {
    if (!exchange.done) {
      exchange.done = true
      writeHead(exchange, 200, { ...headers, 'content-type': contentType })
      if (exchange.method === 'HEAD') break
    }
    if (!(await flow(exchange, chunk))) return
  }
  if (!exchange.done) return send(exchange, 200, '', { ...headers, 'content-type': contentType })
  exchange.response.end()
}

const bareFileName = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? '').replace(/[^\w.\- ]/g, '_').slice(0, 200)

const csvFileName = (exchange: Exchange) => {
  const asked = exchange.header('x-file-name') ?? exchange.value('file_name')
  return (typeof asked === 'string' && bareFileName(asked)) || 'result.csv'
}

/** Waits until the client has taken what was written. False when the client has gone. */
const flow = async (exchange: Exchange, text: string | Uint8Array): Promise<boolean> => {
  const { response } = exchange
  if (response.destroyed) return false
  if (response.write(text)) return true
  const gone = new AbortController()
  try {
    await Promise.race([
      once(response, 'drain', { signal: gone.signal }),
      once(response, 'close', { signal: gone.signal }),
    ])
  } finally {
    gone.abort()
  }
  return !response.destroyed
}

/** A row that is no object, such as a name, stands in the column of ids. */
const csvRow = (row: string) => {
  const value: unknown = JSON.parse(row)
  return flattenRow(typeof value === 'object' && value !== null ? { ...value } : { id: value })
}

const csvText = (columns: readonly string[], row: string) => {
  const cells = csvRow(row)
  return csvLine(columns.map((column) => cells.get(column)))
}

const csvHead = (exchange: Exchange, headers: Headers = {}) => {
  exchange.done = true
  writeHead(exchange, 200, {
    ...headers,
    'content-type': 'text/csv',
    'content-disposition': `attachment; filename="${csvFileName(exchange)}"`,
  })
}

/** The whole list as CSV: one walk to learn the columns, one to write, so that memory stays constant. */
const streamCsv = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  const columns = new Set<string>(['id'])
  const render = flatRow(listing, plan)
  for await (const rows of walk(listing, plan, render))
    for (const name of columnsOf(rows.map(csvRow))) columns.add(name)
  const names = [...columns]
  csvHead(exchange)
  if (!(await flow(exchange, csvLine(names)))) return
  for await (const rows of walk(listing, plan, render)) {
    if (!(await flow(exchange, rows.map((row) => csvText(names, row)).join('')))) return
  }
  exchange.response.end()
}

async function* joinedWalk<T>(listing: Listing<T>, plan: ListPlan, render: Render<T>) {
  for await (const rows of walk(listing, plan, render)) yield rows.join('')
}

/** The lines of a list with fixed columns: from the store itself, unless a filter has to look at every record. */
const sheetLines = <T>(listing: Listing<T>, plan: ListPlan, sheet: Sheet<T>) => {
  if (plan.filter) return joinedWalk(listing, plan, sheet.line)
  const { after, descending } = plan
  return sheet.lines({ ...(after ? { after } : {}), descending })
}

/** The head waits for the first lines: what fails before is answered as a failure. */
const streamSheet = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan, sheet: Sheet<T>) => {
  for await (const lines of sheetLines(listing, plan, sheet)) {
    if (!exchange.done) {
      csvHead(exchange)
      if (exchange.method === 'HEAD') break
      if (!(await flow(exchange, sheet.header))) return
    }
    const isTaken = typeof lines === 'string' ? flow(exchange, lines) : handOver(exchange.response, lines)
    if (!(await isTaken)) return
  }
  if (exchange.done) return void exchange.response.end()
  csvHead(exchange)
  exchange.response.end(sheet.header)
}

/** CSV has no envelope: the key of the next page stands in a header. */
const csvPageHead = (exchange: Exchange, { nextStartKey }: Page) =>
  csvHead(exchange, nextStartKey === undefined ? {} : { 'x-next-start-key': nextStartKey })

const sendCsvPage = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  const { now } = exchange.frame.clock
  const sheet = plan.fields ? undefined : listing.sheet
  if (sheet) {
    const page = await collectPage(listing, plan, sheet.line, now)
    csvPageHead(exchange, page)
    return void exchange.response.end(sheet.header + page.rows.join(''))
  }
  const page = await collectPage(listing, plan, flatRow(listing, plan), now)
  const names = [...new Set(['id', ...columnsOf(page.rows.map(csvRow))])]
  csvPageHead(exchange, page)
  exchange.response.end(csvLine(names) + page.rows.map((row) => csvText(names, row)).join(''))
}

/** The whole list as JSON: `data` first, the other envelope keys after it. */
const streamJson = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  exchange.done = true
  writeHead(exchange, 200, { 'content-type': 'application/json' })
  const [open, close] = bracketsOf(listing)
  if (!(await flow(exchange, `{"data":${open}`))) return
  let separator = ''
  for await (const rows of walk(listing, plan, jsonMember(listing, plan))) {
    if (!(await flow(exchange, separator + rows.join(',')))) return
    separator = ','
  }
  exchange.response.end(`${close}${envelopeTail(common(exchange, 'success'))}`)
}

const sendWhole = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  const limit = exchange.crossbar.request_memory_limit ?? Number.POSITIVE_INFINITY
  const all: string[] = []
  let bytes = 0
  for await (const rows of walk(listing, plan, jsonMember(listing, plan))) {
    all.push(...rows)
    for (const row of rows) bytes += row.length
    if (bytes > limit) throw failure('range_not_satisfiable', {})
  }
  const [open, close] = bracketsOf(listing)
  const data = new RawJson(open + all.join(',') + close)
  return sendJson(exchange, 200, envelopeOf({ ...common(exchange, 'success'), data }))
}

const comma = 0x2c

/** The bytes of a list, without a text of that length in between: V8 keeps those apart, and collects them at a price. */
const joinedBytes = (open: string, rows: readonly string[], close: string) => {
  const commas = Math.max(0, rows.length - 1)
  const length = [open, ...rows, close].reduce((sum, text) => sum + Buffer.byteLength(text), commas)
  const bytes = Buffer.allocUnsafe(length)
  let at = bytes.write(open)
  for (const [index, row] of rows.entries()) {
    if (index > 0) bytes[at++] = comma
    at += bytes.write(row, at)
  }
  bytes.write(close, at)
  return bytes
}

const sendPage = async <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  // Requests that have arrived together go on together, step by step. The rows of all their pages would be in memory at
  // once, where garbage collection has to move them: so each page is made in a turn of its own.
  await nextTurn()
  if (exchange.accepts === 'text/csv') return sendCsvPage(exchange, listing, plan)
  const page = await collectPage(listing, plan, jsonMember(listing, plan), exchange.frame.clock.now)
  const [open, close] = bracketsOf(listing)
  // For its name and for the wire.
  const bytes = joinedBytes(open, page.rows, close)
  const extra = { page_size: page.rows.length, start_key: plan.startKey, next_start_key: page.nextStartKey }
  // Not a secret, only a name for this content: the digest that processors have instructions for.
  const revision = createHash('sha1')
    .update(bytes)
    .update(page.nextStartKey ?? '')
    .digest('hex')
  const etag = `W/"${revision}"`
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, { etag })
  const parts = { ...common(exchange, 'success'), extra, revision }
  if (wantsPretty(exchange))
    return sendJson(exchange, 200, envelopeOf({ ...parts, data: new RawJson(bytes.toString()) }), { etag })
  const pieces = [Buffer.from('{"data":'), bytes, Buffer.from(envelopeTail(parts))]
  sendPieces(exchange, 200, pieces, { etag, 'content-type': 'application/json' })
}

const sendList = <T>(exchange: Exchange, answer: ListAnswer<T>) => {
  if (!exchange.listPlan) throw new Error(`nobody has read what the list of ${exchange.path} was asked for`)
  const [listing, plan] = narrow(answer.listing, exchange.listPlan)
  if (plan.paginate) return sendPage(exchange, listing, plan)
  if (exchange.accepts === 'text/csv') {
    const sheet = plan.fields ? undefined : listing.sheet
    return sheet ? streamSheet(exchange, listing, plan, sheet) : streamCsv(exchange, listing, plan)
  }
  if (exchange.value('is_chunked') === 'false' || wantsPretty(exchange))
    return sendWhole(exchange, listing, plan)
  return streamJson(exchange, listing, plan)
}

/** Sends what a route returned. */
export const respond = (exchange: Exchange, result: unknown) => {
  if (result instanceof ListAnswer) return sendList(exchange, result)
  if (result instanceof FileAnswer) return sendFile(exchange, result)
  if (result instanceof StreamAnswer) return sendStream(exchange, result)
  return sendAnswer(exchange, result instanceof Answer ? result : new Answer({ data: result }))
}

/** The client went away before its request was read: nobody is there to be answered. */
const hasLeft = ({ request }: Exchange, error: unknown) => error === request.errored

/** Sends an expected failure in its envelope; anything else as one plain 500 and a log entry. */
export const respondFailure = (exchange: Exchange, error: unknown) => {
  const { response, frame, id } = exchange
  const isExpected = error instanceof Failure
  const answer = isExpected ? failureAnswer(frame.failures, error) : undefined
  if (hasLeft(exchange, error)) return
  if (!answer || isOutage(error)) {
    frame.log.write('error', 'a request failed', {
      request_id: id,
      method: exchange.method,
      path: exchange.path,
      error: describeError(error),
    })
  }
  if (response.headersSent) return void response.destroy()
  const { status, message, data, metadata, headers } = answer ?? unexpected
  const wire: Headers = { ...headers }
  if (outlastsAnswer(exchange.request)) wire.connection = 'close'
  const extra = { error: String(status), message }
  return sendJson(exchange, status, envelopeOf({ ...common(exchange, 'error'), data, metadata, extra }), wire)
}
