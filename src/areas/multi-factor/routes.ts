import {
  accountAdmin,
  accountAdminPerson,
  accountMember,
  anyToken,
  type Policy,
  superduper,
  userOrAdmin,
} from '../../auth/policies.ts'
import { FileAnswer, ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { collectionListing } from '../../http/answer/listing.ts'
import { qrPng } from '../../http/answer/qr-png.ts'
import { del, get, patch, post, put, type Route } from '../../http/route.ts'
import { anyObject } from '../../lib/schema.ts'
import { systemScope } from '../../storage/change-set.ts'
import type { Users } from '../users/operations.ts'
import type { Factors } from './factors.ts'
import type { Providers as ProviderOperations } from './operations.ts'
import { Provider, ProviderRecord as ProviderAnswer, ProviderRow, Providers } from './schema.ts'

interface Tools {
  providers: ProviderOperations
  factors: Factors
  users: Users
}

const onSystem = '/v2/multi_factor'
const onAccount = '/v2/accounts/{account_id}/multi_factor'
const userQrCode = '/v2/accounts/{account_id}/users/{user_id}/qrcode'

type ProviderPath = typeof onSystem | typeof onAccount

export const multiFactorRoutes = ({ providers, factors, users }: Tools): Route[] => {
  const writing = { body: Provider, answers: ProviderAnswer, fails: ['not_configured'] as const }

  /** The same for the system's providers and for an account's. */
  const providerRoutes = (place: ProviderPath, allow: Policy): Route[] => {
    const oneProvider = `${place}/{provider_id}` as `${typeof onSystem}/{provider_id}`
    const scopeOf = (path: object) => ('account_id' in path ? String(path.account_id) : systemScope)
    const subject = ({ path }: { path: { provider_id: string } }) =>
      providers.get(scopeOf(path), path.provider_id)
    return [
      put(place, {
        summary: 'Add a second-factor provider',
        allow,
        ...writing,
        run: async ({ author, path, data }) => made(await providers.create(author, scopeOf(path), data)),
      }),
      get(oneProvider, {
        summary: 'Read a second-factor provider',
        record: { kind: 'multi_factor' },
        allow,
        subject,
        answers: ProviderAnswer,
        run: ({ subject: provider }) => one(provider),
      }),
      post(oneProvider, {
        summary: 'Replace a second-factor provider',
        allow,
        subject,
        ...writing,
        run: async ({ author, subject: provider, data }) =>
          one(await providers.replace(author, provider, data)),
      }),
      patch(oneProvider, {
        summary: 'Change fields of a second-factor provider',
        allow,
        subject,
        ...writing,
        run: async ({ author, subject: provider, data }) =>
          one(await providers.replace(author, provider, data)),
      }),
      del(oneProvider, {
        summary: 'Remove a second-factor provider',
        allow,
        subject,
        answers: ProviderAnswer,
        run: async ({ author, subject: provider }) => removed(await providers.remove(author, provider)),
      }),
    ]
  }

  return [
    get(onSystem, {
      summary: "List the system's second-factor providers",
      allow: anyToken,
      answers: ProviderRow,
      list: true,
      run: () => new ListAnswer(collectionListing(providers, systemScope)),
    }),
    ...providerRoutes(onSystem, superduper),
    get(onAccount, {
      summary: 'List the second-factor providers of an account and of the system',
      allow: accountMember,
      answers: Providers,
      run: ({ account }) => providers.choiceOf(account),
    }),
    ...providerRoutes(onAccount, accountAdmin),
    get(userQrCode, {
      summary: "The QR code of a user's second factor, until its first code was shown",
      resource: 'users',
      allow: userOrAdmin,
      subject: ({ path }) => users.get(path.account_id, path.user_id),
      answers: anyObject(),
      produces: ['image/png'],
      run: async ({ author, account, subject: user }) =>
        new FileAnswer(qrPng(await factors.enrolmentUrl(author, { account, user })), 'image/png', {
          'cache-control': 'no-store',
        }),
    }),
    del(userQrCode, {
      summary: 'Forget the second factor of a user who lost it',
      resource: 'users',
      allow: accountAdminPerson,
      subject: ({ path }) => users.get(path.account_id, path.user_id),
      answers: anyObject(),
      run: async ({ author, account, subject: user }) => {
        await factors.remove(author, { account, user })
        return {}
      },
    }),
  ]
}
