// The forms in which Kazoo's databases are dumped, as the tools write them.
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { StoredDocument } from './kept-database.ts'
import { withFiles } from './sample.ts'

export const dumpForms = [
  'couchdb-dump',
  'php',
  'php without revisions',
  'couchbackup',
  'month archive',
  'test folder',
  'saved answer',
  'ndjson',
  'ndjson.gz',
] as const
export type DumpForm = (typeof dumpForms)[number]

export interface Dumped {
  names: readonly string[]
  documents(name: string): Iterable<StoredDocument>
}

const rowOf = ({ id, rev }: StoredDocument, doc: string) =>
  `{"id":${JSON.stringify(id)},"key":${JSON.stringify(id)},"value":{"rev":"${rev}"},"doc":${doc}}`

const withoutRevision = (text: string) => text.replace(/"_rev":"[^"]*",/, '')

/** Items with a text before, between and behind them. */
function* joined([before, between, behind]: [string, string, string], items: Iterable<string>) {
  yield before
  let separator = ''
  for (const item of items) {
    yield separator + item
    separator = between
  }
  yield behind
}

const mapped = function* (documents: Iterable<StoredDocument>, textOf: (one: StoredDocument) => string) {
  for (const document of documents) yield textOf(document)
}

/** An older revision before some: the last one counts. */
const withOlder = function* (documents: Iterable<StoredDocument>, textOf: (one: StoredDocument) => string) {
  let count = 0
  for (const document of documents) {
    const text = textOf(document)
    if (count % 3 === 0) yield text.replace(/^\{"_id":("(?:[^"\\]|\\.)*")/, '{"_id":$1,"older":true')
    yield text
    count += 1
  }
}

const couchbackup = function* (documents: Iterable<StoredDocument>) {
  yield '{"name":"@cloudant/couchbackup","version":"2.11.0","mode":"full","attachments":false}\n'
  let batch: string[] = []
  let earlier: string | undefined
  for (const { text } of documents) {
    batch.push(text)
    if (batch.length === 3) {
      // After a resume a batch may be there twice.
      const line = `[${batch.join(',')}]\n`
      yield line
      if (earlier === undefined) yield `{"marker":"@cloudant/couchbackup:resume"}\n${line}`
      earlier = line
      batch = []
    }
  }
  if (batch.length > 0) yield `[${batch.join(',')}]\n`
}

/** Rows in pages; between pages the comma may be missing or be there twice. */
const monthArchive = function* (documents: Iterable<StoredDocument>) {
  yield '['
  let count = 0
  for (const document of documents) {
    if (count > 0) yield count % 4 === 2 ? '\n' : count % 4 === 0 ? ',,\n' : ',\n'
    yield rowOf(document, document.text)
    count += 1
  }
  yield ']\n'
}

const filePerDatabase: Partial<
  Record<DumpForm, { end: string; textOf(documents: Iterable<StoredDocument>): Iterable<string> }>
> = {
  'couchdb-dump': {
    end: '.json',
    textOf: (documents) =>
      joined(['{"new_edits":false,"docs":[\n', ',\n', '\n]}\n'], mapped(documents, withFiles)),
  },
  php: {
    end: '.json',
    textOf: (documents) =>
      joined(['{"new_edits":false,"docs":[\n', ',\n', '\n]}\n'], withOlder(documents, withFiles)),
  },
  'php without revisions': {
    end: '.json',
    textOf: (documents) =>
      joined(
        ['{"docs":[', ',\n', ']}\n'],
        withOlder(documents, (document) => withoutRevision(withFiles(document))),
      ),
  },
  couchbackup: { end: '.txt', textOf: couchbackup },
  'month archive': { end: '.json', textOf: monthArchive },
  'saved answer': {
    end: '.json',
    textOf: (documents) =>
      joined(
        ['{"total_rows":7,"offset":0,"rows":[\r\n', ',\r\n', '\r\n]}\n'],
        mapped(documents, (document) => rowOf(document, document.text)),
      ),
  },
}

const testFolder = (folder: string, { names, documents }: Dumped) => {
  for (const name of names) {
    const place = join(folder, encodeURIComponent(name), 'docs')
    mkdirSync(place, { recursive: true })
    const index = ['doc_id,attachment_name,attachment_file_name']
    for (const document of documents(name)) {
      writeFileSync(join(place, `${encodeURIComponent(document.id)}.json`), document.text)
      document.files.forEach((file, at) => {
        const fileName = `${encodeURIComponent(document.id)}-${at}.att`
        writeFileSync(join(place, fileName), file.bytes)
        index.push(`${JSON.stringify(document.id)},"${file.name}",${fileName}`)
      })
    }
    if (index.length > 1) writeFileSync(join(place, 'attachment-index.csv'), `${index.join('\n')}\n`)
  }
}

function* lines({ names, documents }: Dumped) {
  for (const name of names)
    for (const document of documents(name))
      yield `{"db":${JSON.stringify(name)},"doc":${withFiles(document)}}\n`
}

/** Small texts in larger pieces: a file is written some thousand times faster. */
function* gathered(texts: Iterable<string>) {
  let text = ''
  for (const one of texts) {
    text += one
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

const write = (path: string, texts: Iterable<string>) =>
  pipeline(Readable.from(gathered(texts)), createWriteStream(path))

/** Writes the same documents in one of the forms. Every second name of a file is encoded twice. */
export const writeDump = async (folder: string, form: DumpForm, dumped: Dumped) => {
  mkdirSync(folder, { recursive: true })
  if (form === 'test folder') return testFolder(folder, dumped)
  if (form === 'ndjson') return write(join(folder, 'kazoo.ndjson'), lines(dumped))
  if (form === 'ndjson.gz')
    return pipeline(
      Readable.from(gathered(lines(dumped))),
      createGzip(),
      createWriteStream(join(folder, 'kazoo.ndjson.gz')),
    )
  const way = filePerDatabase[form]
  if (!way) throw new Error(`unknown form ${form}`)
  for (const [at, name] of dumped.names.entries()) {
    const encoded = encodeURIComponent(name)
    const fileName = at % 2 === 0 ? encoded : encodeURIComponent(encoded)
    await write(join(folder, `${fileName}${way.end}`), way.textOf(dumped.documents(name)))
  }
}
