import pg from 'pg'
import { failure } from '../lib/failure.ts'
import { giveBack } from '../lib/give-back.ts'
import { type CsvQuery, guarded } from './csv-lines.ts'
import type { Value } from './db.ts'
import { createWatch } from './postgres-link.ts'

// COPY takes no parameters.
const literalOf = (value: Value | undefined) => {
  if (typeof value === 'number') return `(${value})`
  if (typeof value === 'string') return pg.escapeLiteral(value)
  throw new Error('a value that no export has')
}

const withLiterals = (sql: string, params: readonly Value[]) =>
  sql.replace(/\$(\d+)/g, (_mark, number: string) => literalOf(params[Number(number) - 1]))

// With names of their own: an ORDER BY prefers the name of a selected expression to that of a column.
const selected = (cells: CsvQuery['cells']) =>
  cells.map((cell, index) => `${guarded(cell)} AS cell_${index}`).join(', ')

/**
 * The server quotes as RFC 4180 does; only the ends of lines are its own. It always reads forwards: pages of the table
 * that are not in memory then come many at a time, because the system reads ahead. Backwards it would wait for each.
 */
const copyOf = ({ cells, tail, params }: CsvQuery) =>
  `COPY (${withLiterals(`SELECT ${selected(cells)} ${tail(false)}`, params)}) TO STDOUT (FORMAT csv)`

const leastRoom = 1 << 16

interface LinesOptions {
  /** Each line goes before the one that came before it. */
  turned: boolean
  /** Bytes to begin with. */
  room: number
}

/** Lines with CR LF at their ends, in the order in which they come or the opposite one. */
class Lines extends pg.Query {
  readonly #turned: boolean
  #bytes: Buffer<ArrayBuffer>
  /** The lines so far, in the bytes. */
  #start: number
  #end: number

  constructor(config: pg.QueryConfig, { turned, room }: LinesOptions) {
    super(config)
    this.#turned = turned
    this.#bytes = Buffer.allocUnsafeSlow(room)
    this.#start = turned ? room : 0
    this.#end = this.#start
  }

  /** Called by the client for every row. The chunk is a view of what the client will overwrite. */
  handleCopyData({ chunk }: { chunk: Buffer }) {
    // One byte longer than with the line feed that it comes with.
    const at = this.#claim(chunk.length + 1)
    chunk.copy(this.#bytes, at)
    this.#bytes[at + chunk.length - 1] = 0x0d
    this.#bytes[at + chunk.length] = 0x0a
  }

  /** Where a line of this length goes. */
  #claim(length: number) {
    const free = this.#turned ? this.#start : this.#bytes.length - this.#end
    if (free < length) this.#grow(length)
    if (this.#turned) {
      this.#start -= length
      return this.#start
    }
    this.#end += length
    return this.#end - length
  }

  #grow(least: number) {
    const more = Math.max(this.#bytes.length, least)
    const larger = Buffer.allocUnsafeSlow(this.#bytes.length + more)
    const shift = this.#turned ? more : 0
    this.#bytes.copy(larger, this.#start + shift, this.#start, this.#end)
    giveBack(this.#bytes)
    this.#bytes = larger
    this.#start += shift
    this.#end += shift
  }

  get bytes() {
    return this.#bytes.subarray(this.#start, this.#end)
  }
}

interface Options {
  url: string
  prepare(client: pg.Client): Promise<void>
  patienceMilliseconds: number
}

/** One connection for exports, which come back by itself: one after the other. */
export const createCopyLink = ({ url, prepare, patienceMilliseconds }: Options) => {
  let current: Promise<pg.Client> | undefined
  let closed = false
  const watch = createWatch(patienceMilliseconds)

  const connect = () => {
    const client = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 5000 })
    const ready = client
      .connect()
      .then(() => prepare(client))
      .then(() => client)
    const lose = () => {
      if (current === ready) current = undefined
    }
    client.on('error', lose)
    client.on('end', lose)
    ready.catch(lose)
    return ready
  }

  const open = async () => {
    if (closed) throw failure('datastore_unreachable', {})
    current ??= connect()
    try {
      return await current
    } catch (error) {
      throw failure('datastore_unreachable', {}, error)
    }
  }

  // The parts of one export are of about the same length.
  let room = leastRoom

  const copy = async (query: CsvQuery): Promise<Uint8Array> => {
    const client = await open()
    const done = new Promise<Uint8Array>((resolve, reject) => {
      const settle = (error: Error | null) => (error ? reject(error) : resolve(lines.bytes))
      const config = { text: copyOf(query), callback: settle } as pg.QueryConfig
      const lines = new Lines(config, { turned: query.descending, room })
      client.query(lines)
    })
    const bytes = await watch(client, done)
    room = Math.max(leastRoom, Math.ceil(1.1 * bytes.length))
    return bytes
  }

  let last: Promise<unknown> = Promise.resolve()

  return {
    /** The lines of a query, when those asked for before are there. */
    lines(query: CsvQuery): Promise<Uint8Array> {
      const lines = last.then(() => copy(query))
      last = lines.catch(() => undefined)
      return lines
    },
    async close() {
      closed = true
      const client = await current?.catch(() => undefined)
      await client?.end()
    },
  }
}
