import type { UserRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember, proxyProblems } from '../../../auth/policies.ts'
import { cachedListing } from '../../../http/response/listing.ts'
import { ListResponse, made, one, removed } from '../../../http/response/responses.ts'
import { type Call, del, type Findings, get, patch, post, put, type Route } from '../../../http/route.ts'
import { hasProblems, joinProblems, validationError } from '../../../lib/failure.ts'
import { isTrue, type Json } from '../../../lib/json.ts'
import { creationNotice, creationWishes } from '../../../mail/notices.ts'
import type { Devices } from '../../voice/devices/operations.ts'
import type { Users } from './operations.ts'
import { assertServesPurpose, objectTypesIn } from './rules.ts'
import { DeletedUser, User, UserRecord as UserAnswer, UserRow } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/users'
const oneUser = `${onAccount}/{user_id}` as const

type Judged = Pick<Call<typeof onAccount, Json>, 'path' | 'data' | 'actor' | 'request'>

export const userRoutes = (users: Users, devices: Devices): Route[] => {
  const { inPath: subject } = users
  const shown = async (user: UserRecord) => {
    const expiry = await users.passwordExpiry(user)
    return {
      readOnly: { has_avatar: user.hidden.hasAvatar ?? false },
      metadata: {
        is_password_expired: await users.isPasswordExpired(user),
        ...(expiry === undefined ? {} : { password_expiration_timestamp: expiry }),
      },
    }
  }

  const view = async (user: UserRecord) => one(user, await shown(user))

  const change = async (call: Call<typeof oneUser, Json, UserRecord>) => {
    const { author, account, data, request } = call
    const user = await users.replace(author, account, call.subject, data)
    if (isTrue(data.sync)) {
      const phones = await devices.ownedBy(account, user.id)
      await devices.trySync(account, phones, isTrue(request.value('reboot')) ? 'reboot' : 'reload')
    }
    return view(user)
  }

  const judge = async ({ path, data, actor, request }: Judged, before: UserRecord | undefined) =>
    joinProblems(
      await users.judge(path.account_id, data, before, actor),
      proxyProblems(data, { actor, before, peer: request.peerAddress }),
    )

  const judgeNew = async (call: Judged & Findings) => {
    const { path, data, actor, request } = call
    const found = joinProblems(
      call.isSound ? await users.judgeNew(path.account_id, data, actor) : {},
      proxyProblems(data, { actor, before: undefined, peer: request.peerAddress }),
    )
    // All problems are reported at once.
    return !call.isSound || hasProblems(found) ? judge(call, undefined) : found
  }

  const writing = {
    price: { is: 'secret', keys: ['password', 'credentials'] },
    body: User,
    answers: UserAnswer,
  } as const

  const changing = { allow: accountMember, subject, ...writing, run: change }

  return [
    get(onAccount, {
      summary: 'List the users of an account',
      allow: accountMember,
      answers: UserRow,
      list: true,
      run: ({ path }) => new ListResponse(cachedListing(users, path.account_id)),
    }),
    put(onAccount, {
      summary: 'Create a user',
      allow: accountAdmin,
      ...writing,
      fails: [validationError],
      judge: judgeNew,
      wishes: creationWishes,
      run: async ({ author, account, data, request }) => {
        const user = await users.create(author, account, data, creationNotice(request))
        return made(user, await shown(user))
      },
    }),
    get(oneUser, {
      summary: 'Read a user',
      record: { kind: 'user' },
      allow: accountMember,
      subject,
      answers: UserAnswer,
      run: ({ subject: user }) => view(user),
    }),
    post(oneUser, {
      summary: 'Replace a user',
      ...changing,
      judge: (call) => judge(call, call.subject),
    }),
    patch(oneUser, {
      summary: 'Change fields of a user',
      servesPurpose: 'own_password',
      ...changing,
      judge: (call) => {
        assertServesPurpose(call.actor, call.subject, call.sent)
        return judge(call, call.subject)
      },
    }),
    del(oneUser, {
      summary: 'Delete a user, and the records of the types in `object_types` that the user owns',
      allow: accountMember,
      subject,
      query: { object_types: '`all`, or a JSON list of the types that go with the user' },
      answers: DeletedUser,
      run: async ({ author, actor, account, subject: user, request }) => {
        const asked = objectTypesIn(request.value('object_types'))
        const objects = await users.remove(author, actor, { account, user, objectTypes: asked ?? [] })
        const { readOnly, metadata } = await shown(user)
        return removed(user, {
          readOnly: { ...readOnly, ...(asked ? { object_types: objects } : {}) },
          metadata,
        })
      },
    }),
  ]
}
