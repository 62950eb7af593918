import { hash } from 'node:crypto'
import { type Json, present } from '../../src/lib/json.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { accountDatabase, encodedDatabaseName } from '../documents/database-names.ts'
import { publicPart } from '../documents/fields.ts'

export type OwnRecord = Pick<StoredRecord, 'accountId' | 'id' | 'created' | 'modified' | 'doc' | 'hidden'>

export interface ExportedFile {
  name: string
  contentType: string
  bytes: Buffer
}

export interface ExportedDocument {
  database: string
  id: string
  type: string
  fields: Json
  files: readonly ExportedFile[]
}

// The first document version, which every Kazoo reads.
const firstForm = '1'

/** The public part, unless `fields` are given, with the private fields. */
export const exported = (
  type: string,
  record: Omit<OwnRecord, 'doc' | 'hidden'> & { doc?: Json },
  {
    accountId = record.accountId,
    database = accountDatabase(accountId),
    id = record.id,
    fields = publicPart(record.doc ?? {}, ['id']),
    more = {},
    files = [],
  }: Partial<Omit<ExportedDocument, 'type'>> & { accountId?: string; more?: Json } = {},
): ExportedDocument => ({
  database,
  id,
  type,
  fields: present({
    ...fields,
    pvt_type: type,
    pvt_account_id: accountId,
    pvt_account_db: encodedDatabaseName(database),
    pvt_created: record.created,
    pvt_modified: record.modified,
    pvt_vsn: firstForm,
    ...more,
  }),
  files,
})

/** Numbers belong to no account's database and have other private fields. */
export const exportedNumber = (
  type: string,
  { database, id, fields = {} }: Partial<ExportedDocument> & Pick<ExportedDocument, 'database' | 'id'>,
  more: Json,
): ExportedDocument => ({
  ...{ database, id, type, files: [] },
  fields: present({
    ...fields,
    pvt_type: 'number',
    pvt_db_name: encodedDatabaseName(database),
    ...more,
  }),
})

const inlineOf = ({ contentType, bytes }: ExportedFile, revpos: number) => ({
  content_type: contentType,
  revpos,
  digest: `md5-${hash('md5', bytes, 'base64')}`,
  data: bytes.toString('base64'),
})

export const inlineFiles = (files: readonly ExportedFile[], revpos = 1): Json =>
  Object.fromEntries(files.map((file) => [file.name, inlineOf(file, revpos)]))

/** Equal for equal content. */
export const firstRevision = (content: string) => `1-${hash('md5', content)}`

export const textOf = ({ id, fields, files }: ExportedDocument): string => {
  const content = JSON.stringify({
    ...fields,
    ...(files.length > 0 ? { _attachments: inlineFiles(files) } : {}),
  })
  const head = JSON.stringify({ _id: id, _rev: firstRevision(`${id} ${content}`) })
  return content === '{}' ? head : `${head.slice(0, -1)},${content.slice(1)}`
}
