import { chmod, mkdir, open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../../src/storage/saved-store.ts'
import { countLine, countLines, formatCount } from '../report/report.ts'

// One file for each database, as couchdb-dump writes them: the body of one `_bulk_docs`, a document a line.
// Incomplete files end with `.part`.

// A dump contains credentials.
const ownFolder = 0o700
const ownFile = 0o600

const unfinished = '.part'
const ending = '.json'
const beginning = '{"new_edits":false,"docs":[\n'
const between = ',\n'
const end = '\n]}\n'

const makeEmpty = async (path: string) => {
  await mkdir(path, { recursive: true, mode: ownFolder })
  const found = await readdir(path)
  if (found.length > 0) throw new Refusal(`${path} is not empty: name a new or empty folder`)
  await chmod(path, ownFolder)
}

const finishFile = async (path: string) => {
  const file = await open(path, 'a', ownFile)
  try {
    await file.appendFile(end)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(path, path.slice(0, -unfinished.length))
}

export const openExportFolder = async (path: string) => {
  await makeEmpty(path)
  return {
    async add(database: string, texts: readonly string[]) {
      if (texts.length === 0) return
      // There may be 100,000 databases, so no file stays open.
      const file = await open(
        join(path, `${encodeURIComponent(database)}${ending}${unfinished}`),
        'a',
        ownFile,
      )
      try {
        const { size } = await file.stat()
        await file.appendFile((size === 0 ? beginning : between) + texts.join(between))
      } finally {
        await file.close()
      }
    },

    async finish() {
      const names = (await readdir(path)).filter((name) => name.endsWith(unfinished))
      for (const name of names) await finishFile(join(path, name))
      return names.length
    },
  }
}

export type ExportFolder = Awaited<ReturnType<typeof openExportFolder>>

const meanings = {
  password_missing: 'users must choose a new password: the stored one cannot be used by Kazoo',
  second_factor_missing: 'users must set up their second factor again',
  webhook_on: 'webhooks are enabled: while both systems run, both send them',
  payment_pending: 'payments are open: check them at the billing provider',
} as const

type Code = keyof typeof meanings
type Counts = Readonly<Record<string, number>>

export interface ExportReport {
  databases: number
  documents: Counts
  leftOut: Counts
  needsHand: readonly { code: Code; count: number }[]
}

const createCounts = <Key extends string>() => {
  const counts = new Map<Key, number>()
  return { counts, add: (key: Key) => void counts.set(key, (counts.get(key) ?? 0) + 1) }
}

const sorted = (counts: ReadonlyMap<string, number>): Counts =>
  Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)))

export const createExportReport = () => {
  const [documents, leftOut, codes] = [createCounts(), createCounts(), createCounts<Code>()]
  return {
    wrote: (type: string) => documents.add(type || '(no type)'),
    left: leftOut.add,
    addCode: codes.add,
    whole: (databases: number): ExportReport => ({
      databases,
      documents: sorted(documents.counts),
      leftOut: sorted(leftOut.counts),
      needsHand: Array.from(codes.counts, ([code, count]) => ({ code, count })),
    }),
  }
}

export const exportReportJson = (
  directory: string,
  { databases, documents, leftOut, needsHand }: ExportReport,
) => ({ directory, databases, documents, left_out: leftOut, needs_hand: needsHand })

const section = (title: string, lines: readonly string[]) => (lines.length > 0 ? [title, ...lines] : [])

export const exportReportText = (directory: string, report: ExportReport) =>
  [
    `${directory}: ${formatCount(report.databases)} databases`,
    ...section('documents', countLines(report.documents)),
    ...section('left out: Kazoo has no equivalent', countLines(report.leftOut)),
    ...section(
      'needs manual work',
      report.needsHand.map(({ code, count }) => countLine(count, `${code}: ${meanings[code]}`)),
    ),
    '',
  ].join('\n')
