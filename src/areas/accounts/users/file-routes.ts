import { accountMember } from '../../../auth/policies.ts'
import { FileResponse, harmless } from '../../../http/answer/answers.ts'
import { del, get, post, type Route } from '../../../http/route.ts'
import { invalid } from '../../../lib/failure.ts'
import { imageTypes } from '../../../lib/image-type.ts'
import { anyText, integer, must, open } from '../../../lib/schema.ts'
import type { Users } from './operations.ts'
import type { Image, Photos } from './photo.ts'
import { vcardOf } from './vcard.ts'

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
  const subject = ({ path }: { path: { account_id: string; user_id: string } }) =>
    users.get(path.account_id, path.user_id)

  return [
    get(photo, {
      summary: 'The photo of a user: as it is, or as base64 text',
      resource: 'users',
      allow: accountMember,
      subject,
      answers: Photo,
      produces: [...imageTypes, 'application/octet-stream', 'application/base64'],
      run: async ({ subject: user, request }) => photoFile(await photos.get(user), request.accepts),
    }),
    post(photo, {
      summary: 'Set the photo of a user: a PNG, JPEG, GIF or WebP image, raw or as base64',
      resource: 'users',
      allow: accountMember,
      subject,
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
      resource: 'users',
      allow: accountMember,
      subject,
      answers: Photo,
      run: ({ author, subject: user }) => photos.remove(author, user),
    }),
    get(vcard, {
      summary: 'A user as a vCard 3.0',
      resource: 'users',
      allow: accountMember,
      subject,
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
