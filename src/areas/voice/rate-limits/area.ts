import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer } from '../../../http/response/responses.ts'
import { type Call, del, get, post, type Route } from '../../../http/route.ts'
import type { Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import {
  AccountRateLimits,
  accountLimitProblems,
  DeviceRateLimits,
  deviceLimitProblems,
} from '../../../lib/packet-limits.ts'
import type { Author } from '../../../storage/change-set.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import { createRateLimits, type RateLimits } from './operations.ts'
import { rateLimitSettings } from './settings.ts'

type Owner = AccountRecord | DeviceRecord

type OwnerPlace = Pick<Call, 'account'> & { path: Readonly<Record<string, string>> }

/** The owner of limits: how it is found, changed, and which limits it has in effect. */
interface OwnerKind<Found extends Owner> {
  path: string
  name: string
  shape: typeof AccountRateLimits | typeof DeviceRateLimits
  problems(limits: Readonly<Json>): Problems
  find(call: OwnerPlace): Promise<Found>
  /** Undefined limits: removes them. */
  replace(author: Author, account: AccountRecord, owner: Found, limits?: Json): Promise<Found>
  effective(account: AccountRecord, owner: Found): Promise<object>
}

const limitsResponse = ({ id, created, modified, revision, doc }: Owner, metadata: object) =>
  answer({ data: doc.rate_limits, metadata: { id, created, modified, ...metadata }, revision })

const routesFor = <Found extends Owner>(kind: OwnerKind<Found>): Route[] => {
  const { path, name, shape, find: subject, problems, effective, replace } = kind
  const isKept = ({ doc }: Found) => doc.rate_limits !== undefined
  return [
    get(path, {
      summary: `Read the SIP packet limits of ${name}`,
      allow: accountMember,
      subject,
      answers: shape,
      async run({ account, subject: owner }) {
        const metadata = { effective: await effective(account, owner) }
        // An owner without limits gets those of the next level.
        return isKept(owner) ? limitsResponse(owner, metadata) : answer({ data: {}, metadata })
      },
    }),
    post(path, {
      summary: `Replace the SIP packet limits of ${name}`,
      allow: accountAdmin,
      subject,
      isKept,
      body: shape,
      answers: shape,
      judge: async ({ data }) => problems(data),
      async run({ author, account, subject: before, data }) {
        const owner = await replace(author, account, before, data)
        return limitsResponse(owner, { effective: await effective(account, owner) })
      },
    }),
    del(path, {
      summary: `Remove the SIP packet limits of ${name}`,
      allow: accountAdmin,
      subject,
      isKept,
      answers: shape,
      async run({ author, account, subject: owner }) {
        if (!isKept(owner)) return {}
        await replace(author, account, owner)
        return limitsResponse(owner, { deleted: true })
      },
    }),
  ]
}

const rateLimitRoutes = (rateLimits: RateLimits, accounts: Accounts, devices: Devices): Route[] => [
  ...routesFor({
    path: '/v2/accounts/{account_id}/rate_limits',
    name: 'an account',
    shape: AccountRateLimits,
    problems: accountLimitProblems,
    find: async ({ account }) => account,
    replace: (author, _, account, rate_limits) =>
      accounts.replace(author, account, { ...account.doc, rate_limits }),
    effective: (_, account) => rateLimits.inForce(account, undefined),
  }),
  ...routesFor({
    path: '/v2/accounts/{account_id}/devices/{device_id}/rate_limits',
    name: 'a device',
    shape: DeviceRateLimits,
    problems: deviceLimitProblems,
    find: ({ account, path }) => devices.get(account.id, path.device_id ?? ''),
    replace: (author, account, device, rate_limits) =>
      devices.replace({ author, account }, device, { ...device.doc, rate_limits }),
    effective: async (account, device) => (await rateLimits.inForce(account, device)).device,
  }),
]

/** SIP packet limits of accounts and devices. */
export const rateLimitsArea = area({
  name: 'rateLimits',
  describes: { rate_limits: 'SIP packet limits of accounts and devices.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  settings: [rateLimitSettings],
  create({ settings }, { accounts, devices }) {
    const limits = createRateLimits({ settings, accounts })
    return {
      offers: limits,
      routes: rateLimitRoutes(limits, accounts, devices),
      adoptions: {
        packet_limits: {
          schema: AccountRateLimits,
          put: (set, { accountId, doc }) => accounts.keepLimits(set, accountId, doc),
          remove: (set, { accountId }) => accounts.keepLimits(set, accountId, undefined),
        },
      },
      schemas: { device_rate_limits: DeviceRateLimits, rate_limits: AccountRateLimits },
    }
  },
})
