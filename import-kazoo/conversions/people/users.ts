import type { UserFacts } from '../../../src/areas/accounts/users/adoption.ts'
import { userReadOnly } from '../../../src/areas/accounts/users/schema.ts'
import { isDigest } from '../../../src/auth/credentials.ts'
import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { attachmentsOf, fileAs, publicPart, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type LeavingFile, type OwnRecord } from '../../leaving/document.ts'
import { imported, type Notes, notesOf } from '../findings.ts'
import { integer, readFields, writeFields } from '../tables.ts'
import { type HoldName, noteFilesOutside, type PeopleContext } from './context.ts'

const notTaken = [...userReadOnly, 'password', 'credentials', 'sync', 'username', 'enabled']
const longestName = 128
const photoName = 'photo'

const userFields = [integer('passwordChanged', 'pvt_password_timestamp')]

const digestForms = [
  ['md5', 'pvt_md5_auth'],
  ['sha', 'pvt_sha1_auth'],
] as const

const digestsIn = (fields: Json): NonNullable<UserFacts['digests']> =>
  Object.fromEntries(
    digestForms.flatMap(([method, key]) => {
      const digest = textIn(fields, key)?.toLowerCase()
      return digest !== undefined && isDigest(method, digest) ? [[method, digest]] : []
    }),
  )

/** Both names have to be there, however people were made. */
const personalName = ({ fields }: KazooDocument, field: string, { repaired }: Notes) => {
  const stored = textIn(fields, field)
  const name = (stored ?? textIn(fields, 'username') ?? 'unnamed').slice(0, longestName)
  if (name !== stored) repaired(stored === undefined ? 'name_missing' : 'name_shortened', { field })
  return name
}

/** The name to sign in with, unless another user of the account has it. */
const usernameOf = ({ fields }: KazooDocument, hold: HoldName, { needsHand }: Notes) => {
  const stored = textIn(fields, 'username')
  const username = stored?.toLowerCase()
  if (username === undefined || hold('username', username)) return username
  needsHand('username_taken', { field: 'username', old: stored })
}

/** A name that is written as a number is one, too. */
const writtenName = (value: unknown) =>
  typeof value === 'number' ? String(value) : typeof value === 'string' && value !== '' ? value : undefined

const withFreeHotdesk = (doc: Json, hold: HoldName, { needsHand }: Notes): Json => {
  const { hotdesk } = doc
  const id = isObject(hotdesk) ? writtenName(hotdesk.id) : undefined
  if (!isObject(hotdesk) || id === undefined || hold('hotdesk', id)) return doc
  needsHand('hotdesk_id_taken', { field: 'hotdesk.id', old: id })
  const { id: _, ...others } = hotdesk
  return { ...doc, hotdesk: others }
}

/**
 * A user. What their clients send to sign in holds the name as it was when the password was set: it is taken as it is,
 * and never shown.
 */
export const convertUser = (
  document: KazooDocument,
  { accountId }: PeopleContext,
  hold: HoldName,
): Converted => {
  const { fields } = document
  const notes = notesOf(document)
  const names = {
    first_name: personalName(document, 'first_name', notes),
    last_name: personalName(document, 'last_name', notes),
  }
  const username = usernameOf(document, hold, notes)
  const doc = withFreeHotdesk(publicPart(fields, notTaken), hold, notes)
  const isTaken = username === undefined && textIn(fields, 'username') !== undefined
  const digests = isTaken ? {} : digestsIn(fields)
  if (username !== undefined && digests.sha === undefined) {
    if (digests.md5 === undefined) notes.needsHand('password_missing')
    else notes.leftOut('sha_digest_missing')
  }
  // There nobody signs in whose record does not say that they may.
  if (fields.enabled === undefined) notes.needsHand('user_not_enabled', { field: 'enabled', new: 'false' })
  noteFilesOutside(document, notes)
  const photo = attachmentsOf(document).find(({ name }) => name === photoName)
  return imported(document, 'user', accountId, {
    doc: {
      ...doc,
      ...names,
      ...(username === undefined ? {} : { username }),
      enabled: isTrue(fields.enabled),
    },
    facts: {
      ...(Object.keys(digests).length === 0 ? {} : { digests }),
      ...readFields(userFields, fields, notes),
    },
    files: photo ? [fileAs(photoName, photo)] : [],
    findings: notes.findings,
  })
}

/**
 * The document of a user. What their clients send to sign in is not stored, only what is derived of it: they have to
 * choose a password.
 */
export const exportUser = (record: OwnRecord, photo: LeavingFile | undefined): LeavingDocument[] => [
  exported('user', record, {
    more: {
      enabled: record.doc.enabled !== false,
      require_password_update: true,
      ...writeFields(userFields, record.hidden),
    },
    files: photo ? [{ ...photo, name: photoName }] : [],
  }),
]

/** Whether a user could sign in here, and needs a new password to sign in there. */
export const isWithoutPassword = ({ hidden }: OwnRecord) =>
  Array.isArray(hidden.signInKeys) && hidden.signInKeys.length > 0
