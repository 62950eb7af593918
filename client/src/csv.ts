import type { Query, RequestOptions } from './request.ts'

export type CsvRow = Record<string, string>

const cell = /(?:"((?:[^"]|"")*)"|([^,]*)),/g

const cellsOf = (line: string) => {
  if (!line.includes('"')) return line.split(',')
  const cells = `${line},`.matchAll(cell)
  return Array.from(cells, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain)
}

const quotesIn = (text: string, from: number, to: number) => {
  let count = 0
  for (let at = text.indexOf('"', from); at >= 0 && at < to; at = text.indexOf('"', at + 1)) count += 1
  return count
}

const withoutReturn = (line: string) => (line.endsWith('\r') ? line.slice(0, -1) : line)

/** Reads RFC 4180 piece by piece, wherever pieces end. */
export const createCsvReader = () => {
  let rest = ''
  /** Up to where the rest has been looked through for ends of lines. */
  let seen = 0
  let isInQuotes = false

  const takeLines = () => {
    const lines: string[][] = []
    let begin = 0
    for (let end = rest.indexOf('\n', seen); end >= 0; end = rest.indexOf('\n', seen)) {
      if (quotesIn(rest, seen, end) % 2 === 1) isInQuotes = !isInQuotes
      seen = end + 1
      if (isInQuotes) continue
      const line = withoutReturn(rest.slice(begin, end))
      if (line !== '') lines.push(cellsOf(line))
      begin = seen
    }
    rest = rest.slice(begin)
    seen -= begin
    return lines
  }

  return {
    /** The lines that a piece has completed. */
    take(piece: string) {
      rest += piece
      return takeLines()
    },
    /** A last line without an end. */
    end() {
      rest += '\n'
      return takeLines()
    },
  }
}

/** The chunks of a body; ending the loop early ends the transfer. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder()
  const reader = createCsvReader()
  for await (const chunk of chunksOf(body)) yield* reader.take(decoder.decode(chunk, { stream: true }))
  yield* reader.take(decoder.decode())
  yield* reader.end()
}

async function* csvRows(body: ReadableStream<Uint8Array>): AsyncGenerator<CsvRow, void, undefined> {
  let names: string[] | undefined
  for await (const cells of linesOf(body)) {
    if (names === undefined) names = cells
    else yield Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))
  }
}

/** A list as CSV, which is asked for when it is read. */
export interface Sheet extends AsyncIterable<CsvRow> {
  /** As it comes from the server. */
  bytes(): Promise<ReadableStream<Uint8Array>>
}

const emptyStream = () => new Blob([]).stream()

export const sheetOf = (open: () => Promise<Response>): Sheet => {
  const bytes = async () => (await open()).body ?? emptyStream()
  return {
    bytes,
    async *[Symbol.asyncIterator]() {
      yield* csvRows(await bytes())
    },
  }
}

/** The whole list, unless a page of it is asked for. */
export const csvQuery = (query: Query = {}): Query =>
  'page_size' in query || 'paginate' in query ? query : { ...query, paginate: false }

export type CsvOptions = Pick<RequestOptions, 'query' | 'headers' | 'signal'>
