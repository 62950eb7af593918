// HTTP as bytes: what Node's own client would mend, forbid or hide is what an attack is about.
import { connect, type Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'

export interface WireRequest {
  method: string
  /** With its query. */
  path: string
  headers: Readonly<Record<string, string>>
  body: Buffer | undefined
  /** Values of the Host headers. Default: one header with one name. */
  hosts?: readonly string[]
}

export interface WireAnswer {
  status: number
  /** Lower-case names; of several headers of a name the last. */
  headers: ReadonlyMap<string, string>
  body: Buffer
  ms: number
  /** What is wrong with the answer as HTTP; undefined when nothing is. */
  mistake: string | undefined
}

/** The server ended or cut the connection instead of answering. */
export class Cut extends Error {}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')
const firstIsLast = Buffer.from('0\r\n\r\n')
const slowestMs = 60_000

export interface Head {
  status: number
  headers: Map<string, string>
}

/** A stream of events ends only with its connection: its beginning is the answer. */
const isEndless = ({ headers }: { headers: ReadonlyMap<string, string> }) =>
  headers.get('content-type')?.startsWith('text/event-stream') === true

export const parseHead = (text: string): Head => {
  const [first = '', ...lines] = text.split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { status: Number(first.slice(9, 12)), headers }
}

/** Takes a chunked body apart; undefined while it is incomplete. */
export const dechunk = (bytes: Buffer): { body: Buffer; end: number } | undefined => {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Cut('a chunk without a size')
    const begin = lineEnd + 2
    if (bytes.length < begin + size + 2) return undefined
    if (size === 0) return { body: Buffer.concat(parts), end: begin + 2 }
    parts.push(bytes.subarray(begin, begin + size))
    at = begin + size + 2
  }
}

export const bytesOf = ({ method, path, headers, body, hosts = ['attack.test'] }: WireRequest): Buffer => {
  let head = `${method} ${path} HTTP/1.1\r\n${hosts.map((host) => `host: ${host}\r\n`).join('')}`
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`
  if (body) head += `content-length: ${body.length}\r\n`
  const first = Buffer.from(`${head}\r\n`, 'latin1')
  return body ? Buffer.concat([first, body]) : first
}

const openers: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
}

/** A body as it was before it was compressed; undefined when it is not what it is called. */
const openedBody = (body: Buffer, coding: string | undefined): Buffer | undefined => {
  if (coding === undefined || body.length === 0) return body
  try {
    return openers[coding]?.(body)
  } catch {
    return undefined
  }
}

const withoutBody = (method: string, status: number) => method === 'HEAD' || status === 204 || status === 304

/** The timeout of one request. */
class Waiting {
  readonly method: string
  readonly sentAt = performance.now()
  readonly resolve: (answer: WireAnswer) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
  chunks: Buffer[] = []
  length = 0
  head: Head | undefined
  /** Length of the whole answer; undefined while unknown. */
  total: number | undefined
  bodyAt = 0

  constructor(method: string, { resolve, reject }: Pick<Waiting, 'resolve' | 'reject'>, late: () => void) {
    this.method = method
    this.resolve = resolve
    this.reject = reject
    this.timer = setTimeout(late, slowestMs)
  }

  bytes() {
    if (this.chunks.length !== 1) this.chunks = [Buffer.concat(this.chunks, this.length)]
    return this.chunks[0] as Buffer
  }

  /** The finished answer, and what came behind it. */
  take(chunk: Buffer): { answer: WireAnswer; rest: Buffer } | undefined {
    this.chunks.push(chunk)
    this.length += chunk.length
    if (!this.head && !this.readHead()) return undefined
    if (this.total !== undefined) return this.length < this.total ? undefined : this.finish(this.total)
    if (!chunk.includes(lastChunk) && !this.bytes().includes(firstIsLast, this.bodyAt)) return undefined
    const whole = dechunk(this.bytes().subarray(this.bodyAt))
    return whole && this.finish(this.bodyAt + whole.end, whole.body)
  }

  private readHead(): boolean {
    const bytes = this.bytes()
    const end = bytes.indexOf(headEnd)
    if (end < 0) return false
    const head = parseHead(bytes.toString('latin1', 0, end))
    if (head.status < 200) {
      // An interim answer: the real one comes behind it.
      this.chunks = [bytes.subarray(end + headEnd.length)]
      this.length = this.chunks[0]?.length ?? 0
      return this.readHead()
    }
    this.head = head
    this.bodyAt = end + headEnd.length
    const length = head.headers.get('content-length')
    if (withoutBody(this.method, head.status)) this.total = this.bodyAt
    else if (isEndless(head)) this.total = this.length
    else if (length !== undefined) this.total = this.bodyAt + Number(length)
    else if (head.headers.get('transfer-encoding') !== 'chunked') throw new Cut('an answer without a length')
    return true
  }

  private finish(total: number, body?: Buffer) {
    const { status, headers } = this.head as Head
    const bytes = this.bytes()
    const rest = bytes.subarray(total)
    const sent = body ?? bytes.subarray(this.bodyAt, total)
    const coding = headers.get('content-encoding')
    const opened = openedBody(sent, coding)
    const behind = rest.length > 0 ? `${rest.length} bytes behind the answer` : undefined
    const answer: WireAnswer = {
      status,
      headers,
      body: opened ?? sent,
      ms: performance.now() - this.sentAt,
      mistake: opened ? behind : `a body that is no ${coding}`,
    }
    return { answer, rest }
  }
}

/** One caller: sends a request at a time on a connection that is kept, and opens another one when it has to. */
export class Caller {
  readonly #port: number
  #socket: Socket | undefined
  #waiting: Waiting | undefined
  #idleSince = 0

  constructor(port: number) {
    this.#port = port
  }

  async send(request: WireRequest): Promise<WireAnswer> {
    const bytes = bytesOf(request)
    // A server may end a connection that was idle for a while at the very moment of the next request.
    const mayBeStale = this.#socket !== undefined && performance.now() - this.#idleSince > 1000
    try {
      return await this.#exchange(request.method, bytes)
    } catch (error) {
      if (mayBeStale && error instanceof Cut) return this.#exchange(request.method, bytes)
      throw error
    }
  }

  close() {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #exchange(method: string, bytes: Buffer) {
    return new Promise<WireAnswer>((resolve, reject) => {
      const late = () => this.#fail(new Cut(`no answer after ${slowestMs / 1000} s`))
      this.#waiting = new Waiting(method, { resolve, reject }, late)
      this.#socket ??= this.#open()
      this.#socket.write(bytes)
    })
  }

  #open() {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    const isOurs = () => this.#socket === socket
    socket.on('data', (chunk) => isOurs() && this.#receive(chunk))
    socket.on('error', (error) => isOurs() && this.#fail(new Cut(error.message)))
    socket.on('close', () => isOurs() && this.#fail(new Cut('the connection was closed without an answer')))
    return socket
  }

  #receive(chunk: Buffer) {
    const waiting = this.#waiting
    if (!waiting) return this.close()
    try {
      const finished = waiting.take(chunk)
      if (!finished) return
      this.#waiting = undefined
      clearTimeout(waiting.timer)
      this.#idleSince = performance.now()
      const { answer } = finished
      if (answer.mistake || isEndless(answer) || answer.headers.get('connection') === 'close') this.close()
      waiting.resolve(answer)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Cut(String(error)))
    }
  }

  #fail(error: Error) {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.close()
    if (!waiting) return
    clearTimeout(waiting.timer)
    waiting.reject(error)
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Bytes as a shell reads them. */
export const shellBytes = (bytes: Buffer) =>
  `$'${bytes.toString('latin1').replace(/[^ -&(-[\]-~]/g, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)}'`

/** Bytes that are sent to the server as they are. */
export const asPrintf = (port: number, bytes: Buffer) =>
  `printf %s ${shellBytes(bytes)} | nc 127.0.0.1 ${port}`

/** A line that repeats a request. curl adds one Host header. */
export const asCurl = (port: number, request: WireRequest) => {
  const { method, path, headers, body, hosts } = request
  if (hosts) return asPrintf(port, bytesOf(request))
  const lines = Object.entries(headers).map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`)
  const data = body ? ` --data-binary ${shellBytes(body)}` : ''
  const verb = method === 'HEAD' ? '-I' : `-X ${method}`
  return `curl -sg --path-as-is -i ${verb} ${quoted(`http://127.0.0.1:${port}${path}`)}${lines.join('')}${data}`
}
