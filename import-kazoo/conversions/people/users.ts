import type { UserFacts } from '../../../src/areas/users/adoption.ts'
import { userReadOnly } from '../../../src/areas/users/schema.ts'
import { isDigest } from '../../../src/auth/credentials.ts'
import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { attachmentsOf, fileAs } from '../../documents/attachments.ts'
import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { integerIn, publicPart, textIn } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'
import type { HoldName, PeopleContext } from './context.ts'
import { filesOutside } from './files.ts'

const notTaken = [...userReadOnly, 'password', 'credentials', 'sync', 'username', 'enabled']
const longestName = 128

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
const personalNames = (document: KazooDocument) => {
  const findings: Finding[] = []
  const nameAt = (field: string) => {
    const stored = textIn(document.fields, field)
    const name = (stored ?? textIn(document.fields, 'username') ?? 'unnamed').slice(0, longestName)
    if (name !== stored)
      findings.push(
        finding(document, 'repaired', stored === undefined ? 'name_missing' : 'name_shortened', { field }),
      )
    return name
  }
  return { doc: { first_name: nameAt('first_name'), last_name: nameAt('last_name') }, findings }
}

/** A name that is written as a number is one, too. */
export const writtenName = (value: unknown) =>
  typeof value === 'number' ? String(value) : typeof value === 'string' && value !== '' ? value : undefined

const hotdeskOf = (document: KazooDocument, doc: Json, hold: HoldName) => {
  const { hotdesk } = doc
  const id = isObject(hotdesk) ? writtenName(hotdesk.id) : undefined
  if (!isObject(hotdesk) || id === undefined || hold('hotdesk', id)) return { doc, findings: [] }
  const { id: _, ...others } = hotdesk
  return {
    doc: { ...doc, hotdesk: others },
    findings: [finding(document, 'needs_hand', 'hotdesk_id_taken', { field: 'hotdesk.id', old: id })],
  }
}

const usernameOf = (document: KazooDocument, hold: HoldName) => {
  const stored = textIn(document.fields, 'username')
  const username = stored?.toLowerCase()
  if (username === undefined) return { doc: {}, isTaken: false, findings: [] }
  if (!hold('username', username)) {
    const told = { field: 'username', old: stored ?? username }
    return { doc: {}, isTaken: true, findings: [finding(document, 'needs_hand', 'username_taken', told)] }
  }
  return { doc: { username }, isTaken: false, findings: [] }
}

const signInFindings = (
  document: KazooDocument,
  username: string | undefined,
  digests: UserFacts['digests'] = {},
): Finding[] => {
  if (username === undefined) return []
  if (digests.md5 === undefined && digests.sha === undefined)
    return [finding(document, 'needs_hand', 'password_missing')]
  if (digests.sha === undefined) return [finding(document, 'left_out', 'sha_digest_missing')]
  return []
}

/**
 * A user. What their clients send to sign in holds the name as it was when the password was set: it is taken as it is,
 * and never shown.
 */
export const convertUser = (document: KazooDocument, context: PeopleContext, hold: HoldName): Converted => {
  const { fields } = document
  const names = personalNames(document)
  const username = usernameOf(document, hold)
  const { doc, findings: ofHotdesk } = hotdeskOf(document, publicPart(fields, notTaken), hold)
  const digests = username.isTaken ? {} : digestsIn(fields)
  const passwordChanged = integerIn(fields, 'pvt_password_timestamp')
  const facts: UserFacts = {
    ...(Object.keys(digests).length === 0 ? {} : { digests }),
    ...(passwordChanged === undefined ? {} : { passwordChanged }),
  }
  const enabled = isTrue(fields.enabled)
  const photo = attachmentsOf(document).find(({ name }) => name === 'photo')
  const draft = draftOf(document, 'user', context.accountId, {
    doc: { ...doc, ...names.doc, ...username.doc, enabled },
    facts,
    files: photo ? [fileAs('photo', photo)] : [],
  })
  return converted(document, 'imported', {
    drafts: [draft],
    findings: [
      ...names.findings,
      ...username.findings,
      ...ofHotdesk,
      ...signInFindings(document, username.doc.username, digests),
      // There nobody signs in whose record does not say that they may.
      ...(fields.enabled === undefined
        ? [finding(document, 'needs_hand', 'user_not_enabled', { field: 'enabled', new: 'false' })]
        : []),
      ...filesOutside(document),
    ],
  })
}
