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

// COPY takes no parameters. Nothing in the store can hold NUL: a noncharacter that finds nothing stands for it.
const literalOf = (value: Value | undefined) => {
  if (typeof value === 'number') return `(${value})`
  if (typeof value === 'string') return pg.escapeLiteral(value.replaceAll('\0', '\uffff'))
  throw new Error('a value that no export has')
}

const withLiterals = (sql: string, params: readonly Value[]) =>
  sql.replace(/\$(\d+)/g, (_mark, number: string) => literalOf(params[Number(number) - 1]))

// With names of their own: an ORDER BY prefers the name of a selected expression to that of a column.
const selected = (cells: CsvQuery['cells']) =>
  cells.map((cell, index) => `${guarded(cell)} AS cell_${index}`).join(', ')

/**
 * The server quotes as RFC 4180 does; only the ends of lines are its own. Along an index it would ask for one block at a
 * time and wait; a bitmap of rows lets it ask for the next ones meanwhile, for several at once where they are neighbours.
 */
const copyOf = ({ cells, tail, params, byBlock }: CsvQuery) => {
  const copy = `COPY (${withLiterals(`SELECT ${selected(cells)} ${tail}`, params)}) TO STDOUT (FORMAT csv)`
  const [index, bitmap] = byBlock ? ['off', 'on'] : ['on', 'off']
  return `SET enable_indexscan = ${index}; SET enable_bitmapscan = ${bitmap}; ${copy}`
}

const leastRoom = 1 << 16

/** Lines with CR LF at their ends. */
class Lines extends pg.Query {
  #bytes: Buffer<ArrayBuffer>
  #length = 0

  /** `room`: bytes to begin with. */
  constructor(text: string, room: number) {
    super(text)
    this.#bytes = Buffer.allocUnsafeSlow(room)
  }

  /** Called by the client for every row. The chunk is a view of what the client will overwrite. */
  handleCopyData({ chunk }: { chunk: Buffer }) {
    // One byte longer than with the line feed that it comes with.
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

/** One connection for exports, which comes back by itself: one after the other. */
export const createCopyLink = (options: Parameters<typeof createLink>[0]) => {
  const link = createLink(options)
  // The parts of one export are of about the same length.
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
    /** The lines of a query, when those asked for before are there; in a buffer of their own. */
    lines(query: CsvQuery): Promise<Uint8Array<ArrayBuffer>> {
      const lines = last.then(() => copyAgain(query))
      last = lines.catch(() => undefined)
      return lines
    },
  }
}

export interface ExporterData {
  url: string
  /** How many connections. */
  links: number
  patienceMilliseconds: number
}

/** Lines of CSV; or why the server refused the statement; or that it is away or full, and what it said of that. */
export type CopyChunk =
  | { bytes: Uint8Array<ArrayBuffer> }
  | { refusal: string; code: string | undefined }
  | { isFull: boolean; reason: string }

// Runs in a worker thread: the lines of exports, from the connections to PostgreSQL into buffers that are handed over.
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
  // Handed over without being copied.
  parentPort?.postMessage({ number, content: found }, 'bytes' in found ? [found.bytes.buffer] : [])
})
