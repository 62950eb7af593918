import type { UserRecord } from '../../auth/identity.ts'
import { accountMember } from '../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../http/answers.ts'
import { collectionListing } from '../../http/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import type { Json } from '../../storage/records.ts'
import type { Users } from './operations.ts'
import { User, UserRecord as UserAnswer, UserRow } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/users'
const oneUser = `${onAccount}/{user_id}` as const

const shown = (user: UserRecord) => ({
  readOnly: { has_avatar: user.hidden.hasAvatar ?? false },
  metadata: { is_password_expired: false },
})

const view = (user: UserRecord) => one(user, shown(user))

export const userRoutes = (users: Users): Route[] => {
  const subject = ({ path }: { path: { account_id: string; user_id: string } }) =>
    users.collection.get(path.account_id, path.user_id)

  const change = async ({ author, account, subject: user, data }: Call<typeof oneUser, Json, UserRecord>) =>
    view(await users.replace(author, account, user, data))

  return [
    get(onAccount, {
      summary: 'List the users of an account',
      allow: accountMember,
      answers: UserRow,
      list: true,
      run: ({ path }) => new ListAnswer(collectionListing(users.collection, path.account_id)),
    }),
    put(onAccount, {
      summary: 'Create a user',
      allow: accountMember,
      body: User,
      answers: UserAnswer,
      fails: ['validation_error'],
      judge: ({ path, data, actor }) => users.judge(path.account_id, data, undefined, actor),
      run: async ({ author, account, data }) => {
        const user = await users.create(author, account, data)
        return made(user, shown(user))
      },
    }),
    get(oneUser, {
      summary: 'Read a user',
      allow: accountMember,
      subject,
      answers: UserAnswer,
      run: ({ subject: user }) => view(user),
    }),
    post(oneUser, {
      summary: 'Replace a user',
      allow: accountMember,
      subject,
      body: User,
      answers: UserAnswer,
      judge: ({ path, data, subject: user, actor }) => users.judge(path.account_id, data, user, actor),
      run: (call) => change(call),
    }),
    patch(oneUser, {
      summary: 'Change fields of a user',
      allow: accountMember,
      subject,
      body: User,
      answers: UserAnswer,
      judge: ({ path, data, subject: user, actor }) => users.judge(path.account_id, data, user, actor),
      run: (call) => change(call),
    }),
    del(oneUser, {
      summary: 'Delete a user',
      allow: accountMember,
      subject,
      answers: UserAnswer,
      run: async ({ author, actor, subject: user }) =>
        removed(await users.remove(author, actor, user), shown(user)),
    }),
  ]
}
