import { createReadStream } from 'node:fs'
import { createCsvParser } from '../lib/csv-parse.ts'
import { elementAt } from '../lib/list.ts'
import { createUtf8Lines } from '../lib/utf8-lines.ts'

/** A row of a CSV file. */
export interface CsvRow {
  /** Of its beginning; the first line is 1. */
  line: number
  cells: readonly (string | undefined)[]
}

const lf = 0x0a
const cr = 0x0d

/** Turns growing positions in a text into line numbers. The bytes up to a position have to be passed first. */
const createLineCounter = () => {
  const ends: number[] = []
  let passed = 0
  let line = 1
  let endsWithCr = false
  return {
    pass(piece: Uint8Array) {
      for (const [index, byte] of piece.entries()) {
        const isBehindCr = index === 0 ? endsWithCr : piece[index - 1] === cr
        if (byte === cr || (byte === lf && !isBehindCr)) ends.push(passed + index)
      }
      endsWithCr = piece.at(-1) === cr
      passed += piece.length
    },
    lineOf(position: number) {
      let done = 0
      while (done < ends.length && elementAt(ends, done) < position) done += 1
      ends.splice(0, done)
      line += done
      return line
    },
  }
}

/** The rows of a file, a piece of it at a time. Fails with a CsvMistake when it is no CSV, with NotUtf8 where it is of another encoding. */
export async function* readCsvFile(path: string): AsyncGenerator<CsvRow[]> {
  const parser = createCsvParser()
  const utf8 = createUtf8Lines()
  const lines = createLineCounter()
  const rowsOf = (records: ReturnType<typeof parser.push>) =>
    records.map(({ cells, start }): CsvRow => ({ cells, line: lines.lineOf(start) }))
  const chunks: AsyncIterable<Buffer> = createReadStream(path)
  for await (const chunk of chunks) {
    utf8.push(chunk)
    lines.pass(chunk)
    const rows = rowsOf(parser.push(chunk))
    if (rows.length > 0) yield rows
  }
  utf8.end()
  const rest = rowsOf(parser.end())
  if (rest.length > 0) yield rest
}
