// A record on its way back: the document that a Kazoo takes.
import { hash } from 'node:crypto'
import type { Json } from '../../src/lib/json.ts'
import { accountDatabase, encodedDatabaseName } from '../documents/database-names.ts'
import { publicPart } from '../documents/fields.ts'

/** What is known of a record that stands here. */
export interface OwnRecord {
  accountId: string
  id: string
  /** Gregorian seconds. */
  created: number
  modified: number
  doc: Json
  hidden: Json
}

export interface LeavingFile {
  name: string
  contentType: string
  bytes: Buffer
}

export interface LeavingDocument {
  /** Decoded. */
  database: string
  id: string
  /** What it is counted as. */
  type: string
  fields: Json
  files: readonly LeavingFile[]
}

type Times = Pick<OwnRecord, 'created' | 'modified'>

// The first form, which every generation reads.
const firstForm = '1'

/** What every document says of itself. */
export const stamped = (
  type: string,
  accountId: string,
  { created, modified }: Times,
  database = accountDatabase(accountId),
): Json => ({
  pvt_type: type,
  pvt_account_id: accountId,
  pvt_account_db: encodedDatabaseName(database),
  pvt_created: created,
  pvt_modified: modified,
  pvt_vsn: firstForm,
})

/** The document of a record whose public part is the same there. */
export const plainDocument = (
  type: string,
  record: OwnRecord,
  {
    id = record.id,
    more = {},
    files = [],
  }: { id?: string; more?: Json; files?: readonly LeavingFile[] } = {},
): LeavingDocument => ({
  database: accountDatabase(record.accountId),
  id,
  type,
  fields: { ...publicPart(record.doc, ['id']), ...stamped(type, record.accountId, record), ...more },
  files,
})

/** The database of one month of an account. */
export const monthDatabase = (accountId: string, month: number) => `${accountDatabase(accountId)}-${month}`

/** Object entries that say something. */
export const present = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

const inlineOf = ({ contentType, bytes }: LeavingFile, revpos: number) => ({
  content_type: contentType,
  revpos,
  digest: `md5-${hash('md5', bytes, 'base64')}`,
  data: bytes.toString('base64'),
})

export const inlineFiles = (files: readonly LeavingFile[], revpos = 1): Json =>
  Object.fromEntries(files.map((file) => [file.name, inlineOf(file, revpos)]))

/** The first revision of a content: the same whenever it leaves. */
export const firstRevision = (content: string) => `1-${hash('md5', content)}`

/** The text of the document with the bytes of its files. */
export const textOf = ({ id, fields, files }: LeavingDocument): string => {
  const content = JSON.stringify({
    ...fields,
    ...(files.length > 0 ? { _attachments: inlineFiles(files) } : {}),
  })
  const head = JSON.stringify({ _id: id, _rev: firstRevision(`${id} ${content}`) })
  return content === '{}' ? head : `${head.slice(0, -1)},${content.slice(1)}`
}
