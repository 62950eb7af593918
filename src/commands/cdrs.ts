import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { entriesOf } from '../areas/calls/cdrs/intake/ndjson.ts'
import type { IntakeReport } from '../areas/calls/cdrs/intake/schema.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { createValidate } from '../http/judge/judge-data.ts'
import { systemClock } from '../lib/clock.ts'
import { badIdentifier, Failure, isFailure } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { openObjectStore } from '../object-store/open.ts'
import { createSettings } from '../settings/settings.ts'
import type { Author } from '../storage/change-set.ts'
import { bareAreas } from './bare-areas.ts'
import { createCommandLog } from './command-log.ts'
import { openStore } from './open-store.ts'
import { createProgress } from './progress.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)
const tell = (text: string) => process.stderr.write(`${text}\n`)

const thousands = (count: number) => count.toLocaleString('en-US')

/** Something that the person at the terminal has to put right. */
class Mistake extends Error {}

type Deps = ReturnType<typeof toolsOf>

const toolsOf = (store: Awaited<ReturnType<typeof openStore>>['store'], config: Config) => {
  const settings = createSettings(store.records, 'command')
  const log = createCommandLog(config, 'warn')
  const { offers } = bareAreas({
    store,
    settings,
    log,
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
    `${thousands(report.accepted)} records stored`,
    `${thousands(report.duplicates)} were there`,
    `${thousands(report.ignored)} ignored`,
    `${thousands(report.rejected_total)} rejected`,
  ].join(', ')

/** The bytes of a file, unpacked; `onRead` hears how far one is in the file itself. */
const contentOf = async (file: string, onRead: (bytes: number) => void): Promise<AsyncIterable<Buffer>> => {
  const zipped = await isGzipped(file)
  const source = createReadStream(file, { highWaterMark: 262_144 })
  source.on('data', () => onRead(source.bytesRead))
  if (!zipped) return source
  const unpacked = createGunzip()
  // Its failure reaches whoever reads `unpacked`.
  pipeline(source, unpacked).catch(() => undefined)
  return unpacked
}

const tellRejected = ({ rejected, rejected_total: total }: IntakeReport) => {
  for (const { line, reason } of rejected) tell(`line ${line}: ${reason}`)
  if (total > rejected.length) tell(`... and ${thousands(total - rejected.length)} more lines were rejected`)
}

const importWith = async ({ intake, author }: Deps, file: string, paid: 'here' | 'elsewhere') => {
  const { size } = await stat(file)
  const progress = createProgress(process.stderr, size)
  let read = 0
  const content = await contentOf(file, (bytes) => {
    read = bytes
  })
  const report = await intake.take(author, entriesOf(content), {
    onProgress: (sofar) => progress.show(read, summaryOf(sofar)),
    paid,
  })
  progress.end()
  tellRejected(report)
  say(summaryOf(report))
  return report.rejected_total > 0 ? 1 : 0
}

const archiveWith = async ({ months }: Deps, month: number, file: string) => {
  const total = await months.count(month)
  const progress = createProgress(process.stderr, total)
  let records = 0
  const lines = async function* () {
    for await (const batch of months.lines(month)) {
      yield batch.text
      records += batch.records
      progress.show(records, `${thousands(records)} records written`)
    }
  }
  await writeNew(file, lines())
  progress.end()
  say(`${thousands(records)} records of ${month} are in ${file}`)
  return 0
}

/** Writes a file that did not exist; it has its name only when it is whole and on disk. */
const writeNew = async (file: string, lines: AsyncIterable<string>) => {
  if (await stat(file).catch(() => undefined)) throw new Mistake(`${file} exists`)
  const unfinished = `${file}.part`
  // `flush`: synced to disk before it is closed.
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

const dropWith = async ({ months, author }: Deps, month: number, isAgreed: boolean) => {
  if (!isAgreed) {
    throw new Mistake(
      `${thousands(await months.count(month))} records of ${month} would be gone for good: say --yes`,
    )
  }
  say(`${thousands(await months.drop(author, month))} records of ${month} are gone`)
  return 0
}

const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `the settings are wrong:\n  ${error.mistakes.join('\n  ')}`
  if (error instanceof Mistake) return error.message
  if (isFailure(error, badIdentifier)) return 'there are no records of that month'
  if (error instanceof Failure) return `${error.kind.name}: ${JSON.stringify(error.details)}`
  const isSystemError = error instanceof Error && 'code' in error
  return isSystemError ? error.message : undefined
}

const withDeps = async (work: (tools: Deps) => Promise<number>) => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const { store, close } = await openStore(config, systemClock)
  try {
    return await work(toolsOf(store, config))
  } finally {
    await close()
  }
}

const perform = async (work: (tools: Deps) => Promise<number>): Promise<number> => {
  try {
    return await withDeps(work)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    tell(`crosspoint: ${reason}`)
    return 1
  }
}

export const importFile = (file: string, { paidElsewhere = false }: { paidElsewhere?: boolean }) =>
  perform((tools) => importWith(tools, file, paidElsewhere ? 'elsewhere' : 'here'))

export const archiveMonth = (month: number, file: string) =>
  perform((tools) => archiveWith(tools, month, file))

export const dropMonth = (month: number, { yes = false }: { yes?: boolean }) =>
  perform((tools) => dropWith(tools, month, yes))
