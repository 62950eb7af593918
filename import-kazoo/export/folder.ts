import { chmod, mkdir, open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../../src/storage/saved-store.ts'

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

export interface LeavingFolder {
  add(database: string, texts: readonly string[]): Promise<void>
  finish(): Promise<number>
}

const makeEmpty = async (path: string) => {
  await mkdir(path, { recursive: true, mode: ownFolder })
  const found = await readdir(path)
  if (found.length > 0) throw new Refusal(`${path} is not empty: an export goes into a folder of its own`)
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

export const openLeavingFolder = async (path: string): Promise<LeavingFolder> => {
  await makeEmpty(path)
  return {
    async add(database, texts) {
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

const meanings = {
  password_missing:
    'users have to choose a new password: of the old one nothing is stored that a Kazoo takes',
  second_factor_missing: 'users have to set up their second factor anew',
  webhook_on: 'webhooks are on: while both systems run, both of them call',
  payment_pending: 'payments are open: of these the bookkeeper has to be asked',
} as const

type Told = keyof typeof meanings

export interface LeavingReport {
  databases: number
  documents: Readonly<Record<string, number>>
  leftOut: Readonly<Record<string, number>>
  needsHand: readonly { code: Told; count: number }[]
}

const sorted = (counts: ReadonlyMap<string, number>) =>
  Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)))

const count = (counts: Map<string, number>, what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

export const createLeavingReport = () => {
  const documents = new Map<string, number>()
  const leftOut = new Map<string, number>()
  const told = new Map<Told, number>()
  return {
    wrote: (type: string) => void count(documents, type || '(no type)'),
    left: (kind: string) => void count(leftOut, kind),
    tell: (code: Told) => void told.set(code, (told.get(code) ?? 0) + 1),
    whole: (databases: number): LeavingReport => ({
      databases,
      documents: sorted(documents),
      leftOut: sorted(leftOut),
      needsHand: Array.from(told, ([code, times]) => ({ code, count: times })),
    }),
  }
}

export const leavingJson = (directory: string, report: LeavingReport) => ({
  directory,
  databases: report.databases,
  documents: report.documents,
  left_out: report.leftOut,
  needs_hand: report.needsHand,
})

const counted = (number: number) => number.toLocaleString('en-US')

const section = (title: string, counts: Readonly<Record<string, number>>) => {
  const lines = Object.entries(counts).map(([name, number]) => `  ${counted(number).padStart(12)}  ${name}`)
  return lines.length > 0 ? [title, ...lines] : []
}

export const leavingText = (directory: string, report: LeavingReport) =>
  [
    `${directory}: ${counted(report.databases)} databases`,
    ...section('documents', report.documents),
    ...section('left out: a Kazoo has nothing like it', report.leftOut),
    ...(report.needsHand.length > 0 ? ['left for a person'] : []),
    ...report.needsHand.map(
      ({ code, count: times }) => `  ${counted(times).padStart(12)}  ${code}: ${meanings[code]}`,
    ),
    '',
  ].join('\n')
