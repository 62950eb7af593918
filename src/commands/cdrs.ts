import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { entriesOf } from '../areas/calls/cdrs/intake/ndjson.ts'
import type { IntakeReport } from '../areas/calls/cdrs/schema.ts'
import type { Config } from '../config/config.ts'
import { createValidate } from '../http/request/validate-data.ts'
import { systemClock } from '../lib/clock.ts'
import { badIdentifier, isFailure } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { openObjectStore } from '../object-store/open.ts'
import { createSettings } from '../settings/settings.ts'
import type { Author } from '../storage/change-set.ts'
import { Refusal } from '../storage/saved-store.ts'
import type { Store } from '../storage/store.ts'
import { bareAreas } from './bare-areas.ts'
import { createCommandLog } from './command-log.ts'
import { onStore } from './open-store.ts'
import { createProgress, formatCount, print, printError } from './output.ts'
import { refusingFailures } from './refusals.ts'
import { status } from './statuses.ts'

const onCdrs = (work: (cdrs: ReturnType<typeof cdrsOf>) => Promise<unknown>) =>
  refusingFailures(
    onStore(async ({ store, config }) => work(cdrsOf(store, config))),
    (error) =>
      isFailure(error, badIdentifier)
        ? 'no records of this month'
        : `${error.kind.name}: ${JSON.stringify(error.details)}`,
  )

const cdrsOf = (store: Store, config: Config) => {
  const settings = createSettings(store.records, 'command')
  const { offers } = bareAreas({
    store,
    settings,
    log: createCommandLog(config, 'warn'),
    callArchive: openObjectStore(config.callArchive),
    validate: createValidate(settings),
  })
  const author: Author = { requestId: newId(systemClock.now()), authMethod: 'command' }
  return { ...offers.cdrs, author }
}

const isGzipped = async (file: string) => {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await handle.close()
  }
}

const summaryOf = (report: Readonly<IntakeReport>) =>
  [
    `${formatCount(report.accepted)} records stored`,
    `${formatCount(report.duplicates)} already stored`,
    `${formatCount(report.ignored)} ignored`,
    `${formatCount(report.rejected_total)} rejected`,
  ].join(', ')

/** The unpacked bytes of a file; `onRead` gets the position in the file. */
const contentOf = async (file: string, onRead: (bytes: number) => void): Promise<AsyncIterable<Buffer>> => {
  const zipped = await isGzipped(file)
  const source = createReadStream(file, { highWaterMark: 262_144 })
  source.on('data', () => onRead(source.bytesRead))
  if (!zipped) return source
  const unpacked = createGunzip()
  // Readers of `unpacked` get the failure.
  pipeline(source, unpacked).catch(() => undefined)
  return unpacked
}

/** Refuses an existing file; the file gets its name when it is complete and on disk. */
const writeNew = async (file: string, lines: AsyncIterable<string>) => {
  if (await stat(file).catch(() => undefined)) throw new Refusal(`${file} exists`)
  const unfinished = `${file}.part`
  const target = createWriteStream(unfinished, { mode: 0o600, flush: true })
  try {
    if (file.endsWith('.gz')) await pipeline(lines, createGzip(), target)
    else await pipeline(lines, target)
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

export const importFile = (file: string, { paidElsewhere = false }: { paidElsewhere?: boolean }) =>
  onCdrs(async ({ intake, author }) => {
    const { size } = await stat(file)
    const progress = createProgress(size)
    let read = 0
    const content = await contentOf(file, (bytes) => {
      read = bytes
    })
    const report = await intake.take(author, entriesOf(content), {
      onProgress: (sofar) => progress.show(read, summaryOf(sofar)),
      paid: paidElsewhere ? 'elsewhere' : 'here',
    })
    progress.end()
    const { rejected, rejected_total: total } = report
    for (const { line, reason } of rejected) printError(`line ${line}: ${reason}`)
    if (total > rejected.length)
      printError(`... and ${formatCount(total - rejected.length)} more rejected lines`)
    print(summaryOf(report))
    return total > 0 ? status.failed : status.done
  })

export const archiveMonth = (month: number, file: string) =>
  onCdrs(async ({ months }) => {
    const progress = createProgress(await months.count(month))
    let records = 0
    const lines = async function* () {
      for await (const batch of months.lines(month)) {
        yield batch.text
        records += batch.records
        progress.show(records, `${formatCount(records)} records written`)
      }
    }
    await writeNew(file, lines())
    progress.end()
    print(`${formatCount(records)} records of ${month} written to ${file}`)
  })

export const dropMonth = (month: number, { yes = false }: { yes?: boolean }) =>
  onCdrs(async ({ months, author }) => {
    if (!yes)
      throw new Refusal(
        `${formatCount(await months.count(month))} records of ${month} would be deleted permanently: confirm with --yes`,
      )
    print(`${formatCount(await months.drop(author, month))} records of ${month} were deleted`)
  })
