import { userItself, userOrAdmin } from '../../../../auth/policies.ts'
import { collectionListing } from '../../../../http/response/listing.ts'
import { answer, ListResponse, made, one, removed } from '../../../../http/response/responses.ts'
import { del, get, patch, put, type Route } from '../../../../http/route.ts'
import { notConfigured } from '../../../../lib/failure.ts'
import type { Users } from '../../users/operations.ts'
import type { Passkeys } from './operations.ts'
import { NewPasskey, PasskeyName, PasskeyOptions, PasskeyRecord, PasskeyRow } from './schema.ts'

const onUser = '/v2/accounts/{account_id}/users/{user_id}/passkeys'
const onePasskey = `${onUser}/{passkey_id}` as const

interface UserPath {
  account_id: string
  user_id: string
}

const noStore = { 'cache-control': 'no-store' }

export const passkeyRoutes = (passkeys: Passkeys, users: Users): Route[] => {
  const subject = async ({ path }: { path: UserPath & { passkey_id: string } }) =>
    passkeys.getOf(await users.inPath({ path }), path.passkey_id)

  const ofOne = { allow: userOrAdmin, subject, answers: PasskeyRecord }

  return [
    get(onUser, {
      summary: "List a user's passkeys",
      allow: userOrAdmin,
      subject: users.inPath,
      answers: PasskeyRow,
      list: true,
      run: ({ path }) => new ListResponse(collectionListing(passkeys, path.account_id, path.user_id)),
    }),
    put(`${onUser}/options`, {
      summary: 'Read the options for a new passkey of a browser',
      allow: userItself,
      subject: users.inPath,
      answers: PasskeyOptions,
      fails: [notConfigured],
      run: async ({ account, subject: user, request }) => {
        const data = await passkeys.registrationOptions(request.header('host'), { account, user })
        return answer({ data, status: 200, headers: noStore })
      },
    }),
    put(onUser, {
      summary: 'Register a passkey that a browser created',
      allow: userItself,
      subject: users.inPath,
      body: NewPasskey,
      answers: PasskeyRecord,
      fails: [notConfigured],
      run: async ({ author, account, subject: user, data, request }) => {
        const { name, credential } = data
        const holder = { account, user }
        return made(await passkeys.register(author, request.header('host'), { holder, name, credential }))
      },
    }),
    get(onePasskey, {
      summary: 'Read a passkey',
      record: { kind: 'passkey' },
      ...ofOne,
      run: ({ subject: passkey }) => one(passkey),
    }),
    patch(onePasskey, {
      summary: 'Rename a passkey',
      ...ofOne,
      body: PasskeyName,
      run: async ({ author, subject: passkey, data }) =>
        one(await passkeys.rename(author, passkey, data.name)),
    }),
    del(onePasskey, {
      summary: 'Delete a passkey',
      ...ofOne,
      run: async ({ author, subject: passkey }) => {
        await passkeys.remove(author, passkey)
        return removed(passkey)
      },
    }),
  ]
}
