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

/** The owner of a list: an account, or a device of it. */
interface ListOwner {
  account: AccountRecord
  device?: DeviceRecord
  record: AccountRecord | DeviceRecord
  /** Compared with If-Match. */
  revision: string
}

type OwnerPlace = Pick<Call, 'account'> & { path: Readonly<Record<string, string>> }

type FindOwner = (call: OwnerPlace) => Promise<ListOwner>

const view = ({ id, created, modified, revision, doc: { access_lists: list } }: ListOwner['record']) =>
  list === undefined
    ? answer({ data: {} })
    : answer({ data: list, metadata: { id, created, modified }, revision })

const accessListRoutes = (accounts: Accounts, devices: Devices): Route[] => {
  const ofAccount: FindOwner = async ({ account }) => ({
    account,
    record: account,
    revision: account.revision,
  })

  const ofDevice: FindOwner = async ({ account, path }) => {
    const device = await devices.find(account.id, path.device_id ?? '')
    if (device) return { account, device, record: device, revision: device.revision }
    throw failure(badIdentifier, { cause: 'Identifier was not found', details: path.device_id })
  }

  const replace = (author: Author, { account, device }: ListOwner, list: AccessList | undefined) =>
    device
      ? devices.replace({ author, account }, device, { ...device.doc, access_lists: list })
      : accounts.replace(author, account, { ...account.doc, access_lists: list })

  const refuse = async () => {
    throw failure(faultyRequest, { message: 'access lists not supported on this URI path' })
  }

  const writing = {
    allow: accountAdmin,
    isKept: ({ record }: ListOwner) => record.doc.access_lists !== undefined,
  }
  const refusing = {
    summary: 'Users have no access list: always refused',
    allow: accountMember,
    subject: refuse,
    answers: open({}),
    run: refuse,
  }

  const routesFor = (path: string, owner: string, subject: FindOwner) => [
    get(path, {
      summary: `Read the access list of ${owner}`,
      allow: accountMember,
      subject,
      answers: AccessListOrNone,
      run: ({ subject: { record } }) => view(record),
    }),
    post(path, {
      summary: `Replace the access list of ${owner}`,
      ...writing,
      subject,
      body: AccessList,
      answers: AccessList,
      judge: async ({ data }) => accessListProblems(data),
      run: async ({ author, subject: found, data }) => view(await replace(author, found, data)),
    }),
    del(path, {
      summary: `Remove the access list of ${owner}`,
      ...writing,
      subject,
      answers: open({}),
      async run({ author, subject: found }) {
        if (writing.isKept(found)) await replace(author, found, undefined)
        return {}
      },
    }),
  ]

  return [
    ...routesFor('/v2/accounts/{account_id}/access_lists', 'an account', ofAccount),
    ...routesFor('/v2/accounts/{account_id}/devices/{device_id}/access_lists', 'a device', ofDevice),
    ...[get, post, del].map((method) =>
      method('/v2/accounts/{account_id}/users/{user_id}/access_lists', refusing),
    ),
  ]
}

/** Which addresses and user agents accounts and their devices let in. */
export const accessListsArea = area({
  name: 'accessLists',
  describes: { access_lists: 'Which addresses and user agents accounts and their devices let in.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  create: (_tools, { accounts, devices }) => ({
    routes: accessListRoutes(accounts, devices),
    schemas: { access_lists: AccessList },
  }),
})
