import { createReadStream } from 'node:fs'
import { createLocalities } from '../areas/numbers/phone-numbers/localities/operations.ts'
import {
  type Locality,
  localityIn,
  localityPlacesIn,
} from '../areas/numbers/phone-numbers/localities/rules.ts'
import { createPools } from '../areas/numbers/phone-numbers/pools/operations.ts'
import { type PoolNumber, poolNumberIn, poolPlacesIn } from '../areas/numbers/phone-numbers/pools/rules.ts'
import { createLeases } from '../jobs/leases.ts'
import { systemClock } from '../lib/clock.ts'
import { CsvMistake, createCsvParser } from '../lib/csv-parse.ts'
import { newId } from '../lib/ids.ts'
import { elementAt } from '../lib/list.ts'
import { createUtf8Lines, NotUtf8 } from '../lib/utf8-lines.ts'
import type { Author } from '../storage/change-set.ts'
import { Refusal } from '../storage/saved-store.ts'
import type { Store } from '../storage/store.ts'
import { createCommandLog } from './command-log.ts'
import { onStore } from './open-store.ts'
import { print, printError } from './output.ts'
import { refusingFailures } from './refusals.ts'
import { status } from './statuses.ts'

interface CsvRow {
  /** The first line is 1. */
  line: number
  cells: readonly (string | undefined)[]
}

const lf = 0x0a
const cr = 0x0d

/** Converts growing byte positions to line numbers; bytes must be passed first. */
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

/** Throws CsvMistake or NotUtf8. */
async function* readCsvFile(path: string): AsyncGenerator<CsvRow[]> {
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

// A file of another kind has a mistake in every line.
const maxPrinted = 100

/** The valid rows of a file, whose first row is the header; invalid ones are printed and counted. */
const createReading = <Columns, T>(
  file: string,
  columnsOf: (header: CsvRow['cells']) => Columns | string,
  read: (cells: CsvRow['cells'], columns: Columns) => T | string,
) => {
  const reading = {
    refused: 0,
    async *rows(): AsyncGenerator<T[]> {
      let columns: Columns | undefined
      for await (const rows of readCsvFile(file)) {
        const valid: T[] = []
        for (const { cells, line } of rows)
          if (columns === undefined) columns = accepted(columnsOf(cells))
          else {
            const row = read(cells, columns)
            if (typeof row === 'string') refuse(line, row)
            else valid.push(row)
          }
        yield valid
      }
      if (columns === undefined) throw new Refusal('nothing was changed: the file is empty')
    },
  }

  const accepted = (columns: Columns | string): Columns => {
    if (typeof columns === 'string') throw new Refusal(`nothing was changed: ${columns}`)
    return columns
  }

  const refuse = (line: number, reason: string) => {
    reading.refused += 1
    if (reading.refused <= maxPrinted) printError(`line ${line}: ${reason}`)
    if (reading.refused === maxPrinted) printError('... further lines are not listed')
  }

  return reading
}

interface Work {
  store: Store
  file: string
  author: Author
}

const importLocalities = async ({ store, file, author }: Work) => {
  const reading = createReading<ReturnType<typeof localityPlacesIn> & object, Locality>(
    file,
    localityPlacesIn,
    localityIn,
  )
  const count = await createLocalities(store).replaceAll(author, reading.rows())
  print(`${count} localities imported; ${reading.refused} lines skipped`)
  return reading.refused
}

const changePool =
  (change: 'add' | 'remove') =>
  async ({ store, file, author }: Work) => {
    const reading = createReading<ReturnType<typeof poolPlacesIn> & object, PoolNumber>(
      file,
      poolPlacesIn,
      poolNumberIn,
    )
    const { done, unknown } = await createPools(store)[change](author, reading.rows())
    for (const accountId of unknown) printError(`there is no account ${accountId}`)
    print(
      `${done} numbers ${change === 'add' ? 'added to' : 'removed from'} pools; ${reading.refused} lines skipped`,
    )
    return reading.refused + unknown.length
  }

const actions = {
  'localities import': importLocalities,
  'pool import': changePool('add'),
  'pool remove': changePool('remove'),
}

export const changeNumbers = (name: keyof typeof actions, file: string): Promise<number> =>
  refusingFailures(
    onStore(async ({ store, config }) => {
      const leases = createLeases(store, systemClock, createCommandLog(config, config.logLevel))
      try {
        const lease = await leases.take(`numbers/${name}`)
        if (!lease)
          throw new Refusal(
            'nothing was changed: another process runs the same command. Try again when it has finished',
          )
        const author = { requestId: newId(systemClock.now()) }
        const refused = await actions[name]({ store, file, author })
        return refused > 0 ? status.failed : status.done
      } catch (error) {
        if (!(error instanceof CsvMistake || error instanceof NotUtf8)) throw error
        throw new Refusal(`nothing was changed: ${error.message}`)
      } finally {
        await leases.stop()
      }
    }),
    (error) => `${error.kind.name}: ${JSON.stringify(error.details)}`,
  )
