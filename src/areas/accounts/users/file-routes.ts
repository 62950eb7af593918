import { type UserDoc, type UserRecord, userPhotoKind } from '../../../auth/identity.ts'
import { accountMember } from '../../../auth/policies.ts'
import { FileResponse, harmless } from '../../../http/response/responses.ts'
import { del, get, post, type Route } from '../../../http/route.ts'
import { badIdentifier, failure, invalid, tooLarge } from '../../../lib/failure.ts'
import { imageTypeOf, imageTypes } from '../../../lib/image-type.ts'
import { memberOf } from '../../../lib/member.ts'
import { anyText, integer, must, open } from '../../../lib/schema.ts'
import { maskUrls } from '../../../lib/secrets.ts'
import { removalWithOwner } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { createFiles, type FileContent } from '../../../storage/files.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import type { Users } from './operations.ts'
import { maxPhotoBytes } from './rules.ts'
import { createUserStore } from './store.ts'

type Image = FileContent

const assertImage = ({ contentType, bytes }: Image): string => {
  if (bytes.length > maxPhotoBytes) throw failure(tooLarge, { limit: maxPhotoBytes })
  const found = imageTypeOf(bytes)
  const claimsImage = contentType.startsWith('image/')
  if (found && (!claimsImage || contentType === found)) return found
  throw invalid({
    file: { invalid: { message: 'The file is not the image it is said to be', cause: contentType } },
  })
}

type Photos = ReturnType<typeof createPhotos>

export const createPhotos = (store: Store) => {
  const users = createUserStore(store)
  const photos = createFiles(store, userPhotoKind)
  const find = (user: UserRecord) => photos.find(user.accountId, user.id)

  const mark = (set: ChangeSet, user: UserRecord, hasAvatar: boolean) =>
    users.replace(set, user, users.revise(user, { hidden: { ...user.hidden, hasAvatar } }))

  return {
    find,

    async get(user: UserRecord): Promise<Image> {
      const photo = await find(user)
      if (!photo) throw failure(badIdentifier, { cause: user.id })
      return photos.contentOf(photo)
    },

    async put(author: Author, user: UserRecord, { contentType, bytes }: Image) {
      const image = { contentType: assertImage({ contentType, bytes }), bytes }
      const set = new ChangeSet(author)
      requireRecord(set, holderOf(user))
      const { doc } = await photos.put(set, user, image)
      mark(set, user, true)
      await store.commit(set)
      return doc
    },

    async remove(author: Author, user: UserRecord) {
      const photo = await find(user)
      if (!photo) throw failure(badIdentifier, { cause: user.id })
      const set = new ChangeSet(author)
      photos.remove(set, photo)
      mark(set, user, false)
      await store.commit(set)
      return photo.doc
    },

    removeWith: removalWithOwner(photos),
  }
}

// vCard 3.0: RFC 2426.

interface Address {
  address?: unknown
  types?: unknown
}

interface VcardProfile {
  addresses?: readonly Address[]
  birthday?: string
  nicknames?: readonly string[]
  note?: string
  role?: string
  'sort-string'?: string
  title?: string
}

const maxOctets = 75

/** Commas, semicolons and backslashes carry meaning; a line break is written as `\n`, other controls are left out. */
const escapedVcardText = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n|\r|\n/g, '\\n')
    .replace(/\p{Cc}/gu, '')

/** Lines longer than 75 octets go on after a line break and a space; no letter is cut in two. */
const folded = (line: string) => {
  const parts: string[] = []
  let part = ''
  let octets = 0
  for (const letter of line) {
    const size = Buffer.byteLength(letter)
    if (octets + size > maxOctets) {
      parts.push(part)
      part = ''
      octets = 1
    }
    part += letter
    octets += size
  }
  return [...parts, part].join('\r\n ')
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const property = (name: string, value: unknown) =>
  isText(value) ? [`${name}:${escapedVcardText(value)}`] : []

/** Types are parameters, where hardly anything may stand. */
const typeParameter = (types: unknown) => {
  const words = (Array.isArray(types) ? types : []).filter((type) => /^[\w-]{1,20}$/.test(String(type)))
  return words.length > 0 ? `;TYPE=${words.join(',')}` : ''
}

const addressLines = (addresses: unknown) =>
  (Array.isArray(addresses) ? addresses : []).flatMap(({ address, types }: Address) =>
    isText(address) ? [`ADR${typeParameter(types)}:;;${escapedVcardText(address)};;;;`] : [],
  )

const photoLine = ({ contentType, bytes }: Image) => {
  const kind = (contentType.split('/')[1] ?? '').toUpperCase()
  return `PHOTO;ENCODING=b;TYPE=${kind}:${bytes.toString('base64')}`
}

const listLine = (name: string, values: unknown) => {
  const texts = (Array.isArray(values) ? values : []).filter(isText)
  return texts.length > 0 ? [`${name}:${texts.map(escapedVcardText).join(',')}`] : []
}

const externalNumber = (doc: UserDoc) => memberOf(doc.caller_id, 'external', 'number')

/** A user as an address book reads it. */
const vcardOf = (doc: UserDoc, organisation: string, photo: Image | undefined) => {
  const profile: VcardProfile = doc.profile ?? {}
  const cards = memberOf(doc.addresses, 'vcard')
  const lines = [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:${escapedVcardText(doc.last_name)};${escapedVcardText(doc.first_name)};;;`,
    `FN:${escapedVcardText(`${doc.first_name} ${doc.last_name}`)}`,
    ...property('ORG', organisation),
    ...property('EMAIL', doc.email),
    ...property('TEL', externalNumber(doc)),
    ...addressLines(profile.addresses),
    ...addressLines(cards),
    ...listLine('NICKNAME', profile.nicknames),
    ...property('BDAY', profile.birthday),
    ...property('TITLE', profile.title),
    ...property('ROLE', profile.role),
    ...property('NOTE', profile.note),
    ...property('SORT-STRING', profile['sort-string']),
    ...(photo ? [photoLine(photo)] : []),
    'END:VCARD',
  ]
  return `${lines.map((line) => folded(maskUrls(line))).join('\r\n')}\r\n`
}

const aUser = '/v2/accounts/{account_id}/users/{user_id}'
const photo = `${aUser}/photo` as const
const vcard = `${aUser}/vcard` as const

const Photo = open(
  { content_type: must(anyText()), size: must(integer({ description: 'Bytes' })) },
  { title: 'Photo' },
)

const photoFile = ({ contentType, bytes }: Image, wanted: string) => {
  if (wanted === 'application/base64') {
    return new FileResponse(Buffer.from(bytes.toString('base64')), wanted, harmless)
  }
  const type = wanted === 'application/octet-stream' ? wanted : contentType
  return new FileResponse(bytes, type, harmless)
}

export const userFileRoutes = (users: Users, photos: Photos): Route[] => {
  const ofUser = { resource: 'users', allow: accountMember, subject: users.inPath } as const

  return [
    get(photo, {
      summary: 'The photo of a user: as it is, or as base64 text',
      ...ofUser,
      answers: Photo,
      produces: [...imageTypes, 'application/octet-stream', 'application/base64'],
      run: async ({ subject: user, request }) => photoFile(await photos.get(user), request.accepts),
    }),
    post(photo, {
      summary: 'Set the photo of a user: a PNG, JPEG, GIF or WebP image, raw or as base64',
      ...ofUser,
      uploads: [...imageTypes, 'application/octet-stream', 'application/base64', 'application/x-base64'],
      answers: Photo,
      run: ({ author, subject: user, upload }) => {
        if (!upload) {
          throw invalid({ file: { required: { message: 'Field is required but missing', value: 'file' } } })
        }
        return photos.put(author, user, upload)
      },
    }),
    del(photo, {
      summary: 'Remove the photo of a user',
      ...ofUser,
      answers: Photo,
      run: ({ author, subject: user }) => photos.remove(author, user),
    }),
    get(vcard, {
      summary: 'A user as a vCard 3.0',
      ...ofUser,
      answers: anyText(),
      produces: ['text/x-vcard', 'text/directory'],
      run: async ({ account, subject: user, request }) => {
        const image = user.hidden.hasAvatar ? await photos.get(user) : undefined
        const { org, name } = account.doc
        const text = vcardOf(user.doc, typeof org === 'string' ? org : name, image)
        const type = request.accepts === 'text/directory' ? request.accepts : 'text/x-vcard'
        return new FileResponse(Buffer.from(text), type)
      },
    }),
  ]
}
