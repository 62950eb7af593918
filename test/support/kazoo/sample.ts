// Helpers for the documents of the sample system: ids, databases, times, and texts as CouchDB returns them.
import { hash } from 'node:crypto'
import type { Json } from '../../../src/lib/json.ts'

export interface SampleFile {
  name: string
  contentType: string
  bytes: Buffer
  /** The revision that it came with; the higher number is the newer file. */
  revpos: number
}

/** A document as it is stored. */
export interface Sample {
  /** Which of the numbered cases it belongs to; 0: it is only there for the others. */
  row: number
  name: string
  /** Decoded. */
  database: string
  id: string
  rev: string
  /** With `_id` and `_rev`, and stubs of its files. */
  text: string
  files: readonly SampleFile[]
  /** Revisions that lost against this one, whole. */
  losers: readonly { rev: string; text: string }[]
}

const md5 = (data: string | Buffer) => hash('md5', data)

/** 32 hex digits that look like any id of Kazoo's and are always the same. */
export const idOf = (what: string) => md5(`kazoo ${what}`)

/** The database of an account, decoded; of one of its months (`202502`) or years with a suffix. */
export const databaseOf = (accountId: string, suffix?: string) =>
  `account/${accountId.slice(0, 2)}/${accountId.slice(2, 4)}/${accountId.slice(4)}${suffix ? `-${suffix}` : ''}`

/** How documents and URLs name a database. */
export const encodedName = (database: string) => encodeURIComponent(database)

/** Seconds since the year 0, of UTC. */
export const gregorian = (year: number, month: number, day = 1, hour = 0, minute = 0, second = 0) =>
  Date.UTC(year, month - 1, day, hour, minute, second) / 1000 + 62_167_219_200

/** The digests that Kazoo keeps of a password. */
export const digestsOf = (username: string, password: string) => ({
  pvt_md5_auth: md5(`${username}:${password}`),
  pvt_sha1_auth: hash('sha1', `${username}:${password}`),
})

const exactMark = '<exact>'

/** A number with its exact text: `5.0`, which JavaScript would write as 5. */
export const exact = (number: string) => exactMark + number

const withExactNumbers = (text: string) => text.replaceAll(new RegExp(`"${exactMark}([^"]*)"`, 'g'), '$1')

/** A revision that the content decides, as CouchDB's do. */
const revisionOf = (generation: number, content: string) => `${generation}-${md5(content)}`

/** What CouchDB answers for a file of a document. */
export const stubOf = ({ contentType, bytes, revpos }: SampleFile) => ({
  content_type: contentType,
  revpos,
  digest: `md5-${hash('md5', bytes, 'base64')}`,
  length: bytes.length,
  stub: true,
})

/** Text to append to the members of a document. */
export const withMember = (text: string, key: string, value: unknown) =>
  `${text.slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`

/** The form of a file when a request asks CouchDB for its bytes. */
export const inlineOf = (file: SampleFile) => {
  const { stub: _stub, length: _length, ...facts } = stubOf(file)
  return { ...facts, data: file.bytes.toString('base64') }
}

/** The text with the bytes of its files at its end. */
export const withFiles = ({ text, files }: Pick<Sample, 'text' | 'files'>) => {
  if (files.length === 0) return text
  const bare = text.slice(0, text.lastIndexOf(',"_attachments":'))
  return withMember(
    `${bare}}`,
    '_attachments',
    Object.fromEntries(files.map((file) => [file.name, inlineOf(file)])),
  )
}

const textOf = (rev: string, { _id, ...fields }: Json, files: readonly SampleFile[]) =>
  withExactNumbers(
    JSON.stringify({
      _id,
      _rev: rev,
      ...fields,
      ...(files.length > 0
        ? { _attachments: Object.fromEntries(files.map((file) => [file.name, stubOf(file)])) }
        : {}),
    }),
  )

interface More {
  files?: readonly SampleFile[]
  /** Other contents that lost against it. */
  losers?: readonly Json[]
}

/** A document of the sample system. */
export const sample = (
  row: number,
  name: string,
  database: string,
  fields: Json & { _id: string },
  { files = [], losers = [] }: More = {},
): Sample => {
  const rev = revisionOf(losers.length > 0 ? 3 : 1, JSON.stringify(fields))
  return {
    row,
    name,
    database,
    id: fields._id,
    rev,
    text: textOf(rev, fields, files),
    files,
    losers: losers.map((loser) => {
      const lost = revisionOf(2, JSON.stringify(loser))
      return { rev: lost, text: textOf(lost, { _id: fields._id, ...loser }, []) }
    }),
  }
}

/** What every document of an account carries. */
export const stamped = (
  type: string,
  accountId: string,
  created: number,
  database = databaseOf(accountId),
) => ({
  pvt_type: type,
  pvt_account_id: accountId,
  pvt_account_db: encodedName(database),
  pvt_created: created,
  pvt_modified: created + 3600,
  pvt_vsn: '1',
  pvt_request_id: idOf(`request ${created}`),
  pvt_node: 'kazoo_apps@node1.kazoo.example',
  pvt_auth_account_id: accounts.M,
  pvt_is_authenticated: true,
})

/** M is the master, R a reseller, C a customer of R, D one of M, X is deleted; the others are for one trap each. */
export const accounts = {
  M: idOf('account M'),
  R: idOf('account R'),
  C: idOf('account C'),
  D: idOf('account D'),
  /** Only its copy is left. */
  E: idOf('account E'),
  /** Its copy is missing. */
  F: idOf('account F'),
  G: idOf('account G'),
  H: idOf('account H'),
  I: idOf('account I'),
  J: idOf('account J'),
  X: idOf('account X'),
  /** Gone for good: only named by others. */
  gone: idOf('account that is gone'),
}

/** Passwords of the users of the sample system, by document name. */
export const passwords = {
  user_both_digests: { username: 'pä:ss', password: 'ein: schönes Geheimnis' },
  user_md5_only: { username: 'olga', password: 'from-the-old-days' },
  user_capital: { username: 'Bob', password: 'bob-came-first' },
  user_same_name: { username: 'bob', password: 'bob-came-second' },
  user_enabled_absent: { username: 'nina', password: 'nobody-switched-me-on' },
  user_photo_outside: { username: 'pia', password: 'picture-in-a-bucket' },
  user_broken_fields: { username: 'rolf', password: 'not-quite-to-schema' },
  user_of_eff: { username: 'effie', password: 'effie-counts-as-one' },
} as const
