import type { BatchPart } from '../../../batches/store.ts'
import { csvLine, plainCsvLine, restored } from '../../../lib/csv.ts'
import {
  CsvMistake,
  type CsvRecord,
  commasOnly,
  createCsvParser,
  otherSeparator,
} from '../../../lib/csv-parse.ts'
import { failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { plainDecimal } from '../../../lib/money.ts'
import { createUtf8Lines, NotUtf8 } from '../../../lib/utf8-lines.ts'
import { invalidTaskRequest } from './rules.ts'

export interface TaskIntake {
  header: readonly string[]
  rowCount: number
  /** Rows with an empty mandatory cell, as CSV: the first thousand. */
  incomplete: readonly string[]
}

interface IntakeOptions {
  /** Columns that must not be empty. */
  mandatory: readonly string[]
  /** Stores a part. Undefined: the input is only validated. */
  keep?: ((part: BatchPart) => Promise<void>) | undefined
}

const partBytes = 256 * 1024
const maxIncompleteTold = 1000

const badFormat = (message: string) => failure(invalidTaskRequest, { data: { csv: { format: { message } } } })

const unevenRows = 'Empty CSV or some row(s) longer than others or header missing'

const notRectangular = (hint?: string) =>
  badFormat(hint === undefined ? unevenRows : `${unevenRows}: ${hint}`)

const emptyColumns = 'remove the empty columns at the end of its lines'

/** Advice for a header with an empty cell. */
const headerHint = (header: readonly string[]) =>
  header.findLastIndex((name) => name !== '') < header.indexOf('') ? emptyColumns : undefined

/** Advice for a row of another length than the header. */
const rowHint = (header: readonly string[], cells: readonly (string | undefined)[]) => {
  if (header.some((name) => otherSeparator.test(name))) return commasOnly
  const isEmptyBehind = cells.length > header.length && !cells.slice(header.length).some(Boolean)
  return isEmptyBehind ? emptyColumns : undefined
}

/** Validates the rows of an input. */
const createRowValidator = ({ mandatory }: IntakeOptions) => {
  const incomplete: string[] = []
  let header: string[] | undefined
  let needed: number[] = []
  let rowCount = 0

  const takeHeader = (cells: readonly (string | undefined)[]) => {
    header = cells.map((cell) => cell ?? '')
    if (header.includes('')) throw notRectangular(headerHint(header))
    if (new Set(header).size < header.length) throw badFormat('The header contains a column twice')
    needed = mandatory.map((name) => header?.indexOf(name) ?? -1).filter((index) => index >= 0)
  }

  const takeRow = (cells: readonly (string | undefined)[], columns: readonly string[]) => {
    if (cells.length !== columns.length) throw notRectangular(rowHint(columns, cells))
    rowCount += 1
    if (incomplete.length < maxIncompleteTold && needed.some((index) => !cells[index])) {
      incomplete.push(plainCsvLine(cells.map((cell) => cell && restored(cell))).slice(0, -2))
    }
  }

  return {
    take({ cells }: CsvRecord) {
      if (header) takeRow(cells, header)
      else takeHeader(cells)
    },
    /** Including the header. */
    rows: () => (header ? rowCount + 1 : 0),
    finish(): TaskIntake {
      if (!header || rowCount === 0) throw notRectangular()
      return { header, rowCount, incomplete }
    },
  }
}

/** Cuts the input where rows end, so that reading can begin with any part. */
const createCutter = (keep: (part: BatchPart) => Promise<void>) => {
  let pieces: Uint8Array[] = []
  /** Bytes before `pieces`. */
  let start = 0
  let firstRow = 0
  let number = 0

  const cut = async (end: number, rows: number) => {
    const bytes = Buffer.concat(pieces)
    await keep({ number, firstRow, content: Buffer.from(bytes.subarray(0, end - start)) })
    pieces = [bytes.subarray(end - start)]
    start = end
    firstRow = rows
    number += 1
  }

  return {
    add: (piece: Uint8Array) => void pieces.push(piece),
    /** `end`: position after the last complete row; `rows`: number of rows up to it. */
    async rowsEnd(end: number, rows: number) {
      if (end - start >= partBytes) await cut(end, rows)
    },
    async finish(rows: number) {
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
      if (length > 0) await cut(start + length, rows)
    },
  }
}

const csvParsed = <T>(parse: () => T): T => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof CsvMistake || error instanceof NotUtf8)) throw error
    throw badFormat(`The CSV is malformed and cannot be processed: ${error.message}`)
  }
}

/** Throws at the first error that makes the input unusable. */
export const takeIn = async (
  chunks: AsyncIterable<Uint8Array>,
  wishes: IntakeOptions,
): Promise<TaskIntake> => {
  const parser = createCsvParser()
  const lines = createUtf8Lines()
  const judge = createRowValidator(wishes)
  const cutter = wishes.keep && createCutter(wishes.keep)
  for await (const chunk of chunks) {
    cutter?.add(chunk)
    csvParsed(() => lines.push(chunk))
    const records = csvParsed(() => parser.push(chunk))
    for (const record of records) judge.take(record)
    const last = records.at(-1)
    if (last) await cutter?.rowsEnd(last.end, judge.rows())
  }
  csvParsed(lines.end)
  for (const record of csvParsed(() => parser.end())) judge.take(record)
  const intake = judge.finish()
  await cutter?.finish(judge.rows())
  return intake
}

const csvTextOf = (value: unknown) => {
  if (typeof value === 'number') return plainDecimal(value)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
}

export async function* csvWithHeader(
  header: readonly string[],
  rows: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(plainCsvLine(header))
  yield* rows
}

/** JSON records as CSV: all columns in alphabetical order. Texts are defused, because reading an input restores them. */
export const csvOfRecords = (records: readonly Json[]) => {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))].sort()
  const lineOf = (record: Json) => Buffer.from(csvLine(columns.map((name) => csvTextOf(record[name]))))
  return csvWithHeader(columns, records.values().map(lineOf))
}
