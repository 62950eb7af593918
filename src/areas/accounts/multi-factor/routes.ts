import {
  accountAdmin,
  accountAdminPerson,
  accountMember,
  anyToken,
  type Policy,
  superduper,
  userOrAdmin,
} from '../../../auth/policies.ts'
import { qrPng } from '../../../http/response/qr-png.ts'
import { FileResponse } from '../../../http/response/responses.ts'
import { del, get, type Route } from '../../../http/route.ts'
import { notConfigured } from '../../../lib/failure.ts'
import { anyObject } from '../../../lib/schema.ts'
import { recordRoutes } from '../../record-routes.ts'
import type { Users } from '../users/operations.ts'
import type { Factors, Providers as ProviderOperations } from './operations.ts'
import { ProviderRow, Providers } from './schema.ts'

interface Deps {
  providers: ProviderOperations
  factors: Factors
  users: Users
}

const onSystem = '/v2/multi_factor'
const onAccount = '/v2/accounts/{account_id}/multi_factor'
const userQrCode = '/v2/accounts/{account_id}/users/{user_id}/qrcode'

export const multiFactorRoutes = ({ providers, factors, users }: Deps): Route[] => {
  const fails = [notConfigured] as const
  const providing = {
    variable: 'provider_id',
    called: ['a second-factor provider', 'second-factor providers'],
    row: ProviderRow,
    sample: { name: 'Codes', provider_name: 'otp', enabled: true },
  } as const
  const changes = (allow: Policy) => ({
    create: { allow, fails, summary: 'Add a second-factor provider' },
    read: { allow },
    replace: { allow, fails },
    patch: { allow, fails },
    delete: { allow, summary: 'Remove a second-factor provider' },
  })

  const ofSystem = recordRoutes(providers.ofSystem, {
    ...providing,
    path: onSystem,
    routes: {
      list: { allow: anyToken, summary: "List the system's second-factor providers" },
      ...changes(superduper),
    },
  })
  const ofAccounts = recordRoutes(providers.ofAccounts, {
    ...providing,
    path: onAccount,
    routes: changes(accountAdmin),
  })

  return [
    ...ofSystem.routes,
    get(onAccount, {
      summary: 'List the second-factor providers of an account and of the system',
      allow: accountMember,
      answers: Providers,
      run: ({ account }) => providers.choiceOf(account),
    }),
    ...ofAccounts.routes,
    get(userQrCode, {
      summary: "Read the QR code of a user's second factor, until its first code is entered",
      resource: 'users',
      allow: userOrAdmin,
      subject: users.inPath,
      answers: anyObject(),
      produces: ['image/png'],
      run: async ({ author, account, subject: user }) =>
        new FileResponse(qrPng(await factors.enrolmentUrl(author, { account, user })), 'image/png', {
          'cache-control': 'no-store',
        }),
    }),
    del(userQrCode, {
      summary: 'Reset the second factor of a user who lost it',
      resource: 'users',
      allow: accountAdminPerson,
      subject: users.inPath,
      answers: anyObject(),
      run: async ({ author, account, subject: user }) => {
        await factors.remove(author, { account, user })
        return {}
      },
    }),
  ]
}
