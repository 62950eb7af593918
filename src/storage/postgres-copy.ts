import pg from 'pg'
import { guarded } from './csv-lines.ts'
import type { CsvQuery, Value } from './db.ts'
import { giveBack } from './give-back.ts'
import { createLink, isWorkerLost } from './postgres-link.ts'

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
