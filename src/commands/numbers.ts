import { createLocalities } from '../areas/numbers/phone-numbers/localities/operations.ts'
import { type Locality, localityIn, placesIn } from '../areas/numbers/phone-numbers/localities/rules.ts'
import { createPools } from '../areas/numbers/phone-numbers/pools/operations.ts'
import { type PoolNumber, poolNumberIn, poolPlacesIn } from '../areas/numbers/phone-numbers/pools/rules.ts'
import { ConfigError } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { createLeases } from '../jobs/leases.ts'
import { systemClock } from '../lib/clock.ts'
import { CsvMistake } from '../lib/csv-parse.ts'
import { Failure } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { NotUtf8 } from '../lib/utf8-lines.ts'
import type { Author } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'
import { createCommandLog } from './command-log.ts'
import { type CsvRow, readCsvFile } from './csv-file.ts'
import { openStore } from './open-store.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)
const tell = (text: string) => process.stderr.write(`${text}\n`)

/** Something is wrong with the file as a whole: nothing has been changed. */
class FileMistake extends Error {}

// A file of another kind has a mistake in every line.
const maxTold = 100

/** The good rows of a file; the others are told and counted. */
const createReading = <Places, T>(
  file: string,
  placesOf: (header: CsvRow['cells']) => Places | string,
  read: (cells: CsvRow['cells'], places: Places) => T | string,
) => {
  const reading = {
    refused: 0,
    async *rows(): AsyncGenerator<T[]> {
      let places: Places | undefined
      for await (const rows of readCsvFile(file)) {
        const [first] = rows
        if (places === undefined && first) places = headerOf(first)
        const header = places as Places
        yield rows.filter((row) => row.line !== headerLine).flatMap((row) => take(row, header))
      }
      if (places === undefined) throw new FileMistake('the file is empty')
    },
  }
  let headerLine = 0

  const headerOf = ({ cells, line }: CsvRow): Places => {
    const places = placesOf(cells)
    if (typeof places === 'string') throw new FileMistake(places)
    headerLine = line
    return places
  }

  const take = ({ cells, line }: CsvRow, places: Places): T[] => {
    const row = read(cells, places)
    if (typeof row !== 'string') return [row]
    reading.refused += 1
    if (reading.refused <= maxTold) tell(`line ${line}: ${row}`)
    if (reading.refused === maxTold) tell('... further lines are only counted')
    return []
  }

  return reading
}

interface Work {
  store: Store
  file: string
  author: Author
}

const importLocalities = async ({ store, file, author }: Work) => {
  const reading = createReading<ReturnType<typeof placesIn> & object, Locality>(file, placesIn, localityIn)
  const count = await createLocalities(store).replaceAll(author, reading.rows())
  say(`${count} localities are there now; ${reading.refused} lines were left out`)
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
    for (const accountId of unknown) tell(`there is no account ${accountId}`)
    say(
      `${done} numbers ${change === 'add' ? 'added to' : 'removed from'} pools; ${reading.refused} lines were left out`,
    )
    return reading.refused + unknown.length
  }

const actions = {
  'localities import': importLocalities,
  'pool import': changePool('add'),
  'pool remove': changePool('remove'),
}

const perform = async (name: keyof typeof actions, file: string) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const { store, close } = await openStore(config, systemClock)
  const log = createCommandLog(config, config.logLevel)
  const leases = createLeases(store, systemClock, log)
  try {
    const lease = await leases.take(`numbers/${name}`)
    if (!lease) throw new FileMistake('another process is just doing the same')
    const refused = await actions[name]({ store, file, author: { requestId: newId(systemClock.now()) } })
    return refused > 0 ? 1 : 0
  } finally {
    await leases.stop()
    await close()
  }
}

const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `the settings are wrong:\n  ${error.mistakes.join('\n  ')}`
  if (error instanceof FileMistake || error instanceof CsvMistake || error instanceof NotUtf8)
    return `nothing was changed: ${error.message}`
  if (error instanceof Failure) return `${error.kind.name}: ${JSON.stringify(error.details)}`
  return error instanceof Error && 'code' in error && 'path' in error ? error.message : undefined
}

export const changeNumbers = async (name: keyof typeof actions, file: string): Promise<number> => {
  try {
    return await perform(name, file)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    tell(`crosspoint: ${reason}`)
    return 1
  }
}
