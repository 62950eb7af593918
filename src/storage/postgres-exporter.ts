import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { messageOf } from '../lib/error-facts.ts'
import { datastoreFull, isFailure } from '../lib/failure.ts'
import { inTurn } from '../lib/list.ts'
import { giveBack, guarded } from './csv-lines.ts'
import type { CsvQuery, Value } from './db.ts'
import { createLink, isServerError, isWorkerLost, outageOf } from './postgres-link.ts'
import { createServers } from './postgres-servers.ts'
import { makeExporting } from './postgres-sessions.ts'
import type { Numbered } from './worker-link.ts'

// COPY has no parameters. The store contains no NUL, so a noncharacter replaces it.
const literalOf = (value: Value | undefined) => {
  if (typeof value === 'number') return `(${value})`
  if (typeof value === 'string') return pg.escapeLiteral(value.replaceAll('\0', '\uffff'))
  throw new Error('a value that cannot be exported')
}

const withLiterals = (sql: string, params: readonly Value[]) =>
  sql.replace(/\$(\d+)/g, (_mark, number: string) => literalOf(params[Number(number) - 1]))

// With own names: ORDER BY prefers the name of a selected expression to a column.
const selected = (cells: CsvQuery['cells']) =>
  cells.map((cell, index) => `${guarded(cell)} AS cell_${index}`).join(', ')

/**
 * Only line ends differ from RFC 4180. An index scan would wait for each block; a bitmap scan requests several blocks ahead.
 */
const copyOf = ({ cells, tail, params, byBlock }: CsvQuery) => {
  const copy = `COPY (${withLiterals(`SELECT ${selected(cells)} ${tail}`, params)}) TO STDOUT (FORMAT csv)`
  const [index, bitmap] = byBlock ? ['off', 'on'] : ['on', 'off']
  return `SET enable_indexscan = ${index}; SET enable_bitmapscan = ${bitmap}; ${copy}`
}

const leastRoom = 1 << 16

class Lines extends pg.Query {
  #bytes: Buffer<ArrayBuffer>
  #length = 0

  constructor(text: string, room: number) {
    super(text)
    this.#bytes = Buffer.allocUnsafeSlow(room)
  }

  /** Called for every row. The chunk is overwritten afterwards. */
  handleCopyData({ chunk }: { chunk: Buffer }) {
    // One byte more, for the carriage return.
    const end = this.#length + chunk.length + 1
    if (end > this.#bytes.length) this.#grow(end)
    chunk.copy(this.#bytes, this.#length)
    this.#bytes[end - 2] = 0x0d
    this.#bytes[end - 1] = 0x0a
    this.#length = end
  }

  #grow(least: number) {
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, least))
    this.#bytes.copy(larger, 0, 0, this.#length)
    giveBack(this.#bytes)
    this.#bytes = larger
  }

  get bytes() {
    return this.#bytes.subarray(0, this.#length)
  }
}

/** One reconnecting connection: one export after the other. */
const createCopyLink = (options: Parameters<typeof createLink>[0]) => {
  const link = createLink(options)
  let room = leastRoom

  const copy = async (query: CsvQuery): Promise<Uint8Array<ArrayBuffer>> => {
    const { bytes } = await link.submit(await link.open(), new Lines(copyOf(query), room))
    room = Math.max(leastRoom, Math.ceil(1.1 * bytes.length))
    return bytes
  }

  const copyAgain = (query: CsvQuery) =>
    copy(query).catch((error) => {
      if (isWorkerLost(error)) return copy(query)
      throw error
    })

  let last: Promise<unknown> = Promise.resolve()

  return {
    /** Waits for earlier queries. The buffer is the caller's. */
    lines(query: CsvQuery): Promise<Uint8Array<ArrayBuffer>> {
      const lines = last.then(() => copyAgain(query))
      last = lines.catch(() => undefined)
      return lines
    },
  }
}

export interface ExporterData {
  url: string
  links: number
  patienceMilliseconds: number
}

/** Lines; a rejected statement; or an unavailable or full server. */
export type CopyChunk =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { refusal: string; code: string | undefined }
  | { isFull: boolean; reason: string }

// Runs in a thread, which transfers the buffers with lines of exports.
const { url, links, patienceMilliseconds }: ExporterData = workerData
const servers = createServers(url)
const nextLink = inTurn(
  Array.from({ length: links }, () =>
    createCopyLink({ servers, patienceMilliseconds, prepare: makeExporting }),
  ),
)

const verdictOn = (error: unknown): CopyChunk => {
  const verdict = outageOf(error)
  if (isServerError(verdict)) return { refusal: verdict.message, code: verdict.code }
  return { isFull: isFailure(verdict, datastoreFull), reason: messageOf(error) }
}

const answer = (query: CsvQuery): Promise<CopyChunk> =>
  nextLink()
    .lines(query)
    .then((bytes) => ({ bytes }), verdictOn)

parentPort?.on('message', async ({ number, content }: Numbered<CsvQuery>) => {
  const found = await answer(content)
  parentPort?.postMessage({ number, content: found }, 'bytes' in found ? [found.bytes.buffer] : [])
})
