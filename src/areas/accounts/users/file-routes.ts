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
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { createFiles, type FileContent as Image } from '../../../storage/files.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import { committed, type Store } from '../../../storage/store.ts'
import type { Users } from './operations.ts'
import { maxPhotoBytes } from './rules.ts'
import { createUserStore } from './store.ts'

const assertImage = ({ contentType, bytes }: Image): string => {
  if (bytes.length > maxPhotoBytes) throw failure(tooLarge, { limit: maxPhotoBytes })
  const found = imageTypeOf(bytes)
  const claimsImage = contentType.startsWith('image/')
  if (found && (!claimsImage || contentType === found)) return found
  throw invalid({
    file: { invalid: { message: 'The file content does not match its type', cause: contentType } },
  })
}

type Photos = ReturnType<typeof createPhotos>

export const createPhotos = (store: Store) => {
  const users = createUserStore(store)
  const photos = createFiles(store, userPhotoKind)

  const get = async ({ accountId, id }: UserRecord) => {
    const photo = await photos.find(accountId, id)
    if (!photo) throw failure(badIdentifier, { cause: id })
    return photo
  }

  const mark = (set: ChangeSet, user: UserRecord, hasAvatar: boolean) =>
    users.replace(set, user, users.revise(user, { hidden: { ...user.hidden, hasAvatar } }))

  return {
    contentOf: async (user: UserRecord) => photos.contentOf(await get(user)),

    async put(author: Author, user: UserRecord, { contentType, bytes }: Image) {
      const image = { contentType: assertImage({ contentType, bytes }), bytes }
      return committed(store, author, async (set) => {
        requireRecord(set, holderOf(user))
        const { doc } = await photos.put(set, user, image)
        mark(set, user, true)
        return doc
      })
    },

    async remove(author: Author, user: UserRecord) {
      const photo = await get(user)
      return committed(store, author, (set) => {
        photos.remove(set, photo)
        mark(set, user, false)
        return photo.doc
      })
    },

    removeWith: removalWithOwner(photos),
  }
}

// vCard 3.0: RFC 2426.

const maxOctets = 75

/** Commas, semicolons and backslashes carry meaning; a line break is written as `\n`, other controls are left out. */
const escapedVcardText = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n|\r|\n/g, '\\n')
    .replace(/\p{Cc}/gu, '')

/** Lines longer than 75 octets continue after a line break and a space; characters are not split. */
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

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const property = (name: string, value: unknown) =>
  isText(value) ? [`${name}:${escapedVcardText(value)}`] : []

/** Types are parameters, which allow few characters. */
const typeParameter = (types: unknown) => {
  const words = itemsOf(types).filter((type) => /^[\w-]{1,20}$/.test(String(type)))
  return words.length > 0 ? `;TYPE=${words.join(',')}` : ''
}

const addressLines = (addresses: unknown) =>
  itemsOf(addresses).flatMap((item) => {
    const address = memberOf(item, 'address')
    const types = typeParameter(memberOf(item, 'types'))
    return isText(address) ? [`ADR${types}:;;${escapedVcardText(address)};;;;`] : []
  })

const photoLine = ({ contentType, bytes }: Image) => {
  const kind = (contentType.split('/')[1] ?? '').toUpperCase()
  return `PHOTO;ENCODING=b;TYPE=${kind}:${bytes.toString('base64')}`
}

const listLine = (name: string, values: unknown) => {
  const texts = itemsOf(values).filter(isText)
  return texts.length > 0 ? [`${name}:${texts.map(escapedVcardText).join(',')}`] : []
}

/** A user as an address book reads it. */
const vcardOf = (doc: UserDoc, organisation: string, photo: Image | undefined) => {
  const profile = (key: string) => memberOf(doc.profile, key)
  const lines = [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:${escapedVcardText(doc.last_name)};${escapedVcardText(doc.first_name)};;;`,
    `FN:${escapedVcardText(`${doc.first_name} ${doc.last_name}`)}`,
    ...property('ORG', organisation),
    ...property('EMAIL', doc.email),
    ...property('TEL', memberOf(doc.caller_id, 'external', 'number')),
    ...addressLines(profile('addresses')),
    ...addressLines(memberOf(doc.addresses, 'vcard')),
    ...listLine('NICKNAME', profile('nicknames')),
    ...property('BDAY', profile('birthday')),
    ...property('TITLE', profile('title')),
    ...property('ROLE', profile('role')),
    ...property('NOTE', profile('note')),
    ...property('SORT-STRING', profile('sort-string')),
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
  if (wanted === 'application/base64')
    return new FileResponse(Buffer.from(bytes.toString('base64')), wanted, harmless)
  const type = wanted === 'application/octet-stream' ? wanted : contentType
  return new FileResponse(bytes, type, harmless)
}

export const userFileRoutes = (users: Users, photos: Photos): Route[] => {
  const ofUser = { resource: 'users', allow: accountMember, subject: users.inPath } as const

  return [
    get(photo, {
      summary: 'Read the photo of a user: raw, or as base64 text',
      ...ofUser,
      answers: Photo,
      produces: [...imageTypes, 'application/octet-stream', 'application/base64'],
      run: async ({ subject: user, request }) => photoFile(await photos.contentOf(user), request.accepts),
    }),
    post(photo, {
      summary: 'Set the photo of a user: a PNG, JPEG, GIF or WebP image, raw or as base64',
      ...ofUser,
      uploads: [...imageTypes, 'application/octet-stream', 'application/base64', 'application/x-base64'],
      answers: Photo,
      run: ({ author, subject: user, upload }) => {
        if (!upload)
          throw invalid({ file: { required: { message: 'Field is required but missing', value: 'file' } } })
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
      summary: 'Read a user as vCard 3.0',
      ...ofUser,
      answers: anyText(),
      produces: ['text/x-vcard', 'text/directory'],
      run: async ({ account, subject: user, request }) => {
        const image = user.hidden.hasAvatar ? await photos.contentOf(user) : undefined
        const { org, name } = account.doc
        const text = vcardOf(user.doc, typeof org === 'string' ? org : name, image)
        const type = request.accepts === 'text/directory' ? request.accepts : 'text/x-vcard'
        return new FileResponse(Buffer.from(text), type)
      },
    }),
  ]
}
