import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer } from '../../../http/response/responses.ts'
import { type Call, del, get, post, type Route } from '../../../http/route.ts'
import { AccessList, AccessListOrNone, accessListProblems } from '../../../lib/access-list.ts'
import { badIdentifier, failure, faultyRequest } from '../../../lib/failure.ts'
import { open } from '../../../lib/schema.ts'
import type { Author } from '../../../storage/change-set.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'

type Owner = AccountRecord | DeviceRecord

/** How the owner of a list is found and changed. */
interface OwnerKind<Found extends Owner> {
  path: string
  name: string
  find(call: Pick<Call, 'account'> & { path: Readonly<Record<string, string>> }): Promise<Found>
  /** An undefined list: removes it. */
  replace(author: Author, account: AccountRecord, owner: Found, list?: AccessList): Promise<Found>
}

const view = ({ id, created, modified, revision, doc: { access_lists: list } }: Owner) =>
  list === undefined
    ? answer({ data: {} })
    : answer({ data: list, metadata: { id, created, modified }, revision })

const isKept = ({ doc }: Owner) => doc.access_lists !== undefined

const routesFor = <Found extends Owner>({
  path,
  name,
  find: subject,
  replace,
}: OwnerKind<Found>): Route[] => [
  get(path, {
    summary: `Read the access list of ${name}`,
    allow: accountMember,
    subject,
    answers: AccessListOrNone,
    run: async ({ subject: owner }) => view(owner),
  }),
  post(path, {
    summary: `Replace the access list of ${name}`,
    allow: accountAdmin,
    isKept,
    subject,
    body: AccessList,
    answers: AccessList,
    judge: async ({ data }) => accessListProblems(data),
    run: async ({ author, account, subject: owner, data }) =>
      view(await replace(author, account, owner, data)),
  }),
  del(path, {
    summary: `Remove the access list of ${name}`,
    allow: accountAdmin,
    isKept,
    subject,
    answers: open({}),
    async run({ author, account, subject: owner }) {
      if (isKept(owner)) await replace(author, account, owner)
      return {}
    },
  }),
]

const refuse = async () => {
  throw failure(faultyRequest, { message: 'access lists not supported on this URI path' })
}

const accessListRoutes = (accounts: Accounts, devices: Devices): Route[] => [
  ...routesFor({
    path: '/v2/accounts/{account_id}/access_lists',
    name: 'an account',
    find: async ({ account }) => account,
    replace: (author, _, account, list) =>
      accounts.replace(author, account, { ...account.doc, access_lists: list }),
  }),
  ...routesFor({
    path: '/v2/accounts/{account_id}/devices/{device_id}/access_lists',
    name: 'a device',
    async find({ account, path }) {
      const device = await devices.find(account.id, path.device_id ?? '')
      if (device) return device
      throw failure(badIdentifier, { cause: 'Identifier was not found', details: path.device_id })
    },
    replace: (author, account, device, list) =>
      devices.replace({ author, account }, device, { ...device.doc, access_lists: list }),
  }),
  ...[get, post, del].map((method) =>
    method('/v2/accounts/{account_id}/users/{user_id}/access_lists', {
      summary: 'Refused: users have no access list',
      allow: accountMember,
      subject: refuse,
      answers: open({}),
      run: refuse,
    }),
  ),
]

/** Addresses and user agents that accounts and devices allow. */
export const accessListsArea = area({
  name: 'accessLists',
  describes: { access_lists: 'Addresses and user agents that accounts and devices allow.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  create: (_tools, { accounts, devices }) => ({
    routes: accessListRoutes(accounts, devices),
    schemas: { access_lists: AccessList },
  }),
})
