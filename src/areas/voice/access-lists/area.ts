import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer } from '../../../http/answer/answers.ts'
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
import { decideAccess } from './rules.ts'

interface Deps {
  accounts: Accounts
  devices: Devices
}

interface ListOwner {
  account: AccountRecord
  device?: DeviceRecord
}

export type AccessLists = ReturnType<typeof createAccessLists>

const createAccessLists = ({ accounts, devices }: Deps) => ({
  decide: decideAccess,

  replace(
    author: Author,
    { account, device }: ListOwner,
    list: AccessList | undefined,
  ): Promise<AccountRecord | DeviceRecord> {
    const member = { access_lists: list }
    return device
      ? devices.replace({ author, account }, device, { ...device.doc, ...member })
      : accounts.replace(author, account, { ...account.doc, ...member })
  },
})

const onAccount = '/v2/accounts/{account_id}/access_lists'
const onDevice = '/v2/accounts/{account_id}/devices/{device_id}/access_lists'
const onUser = '/v2/accounts/{account_id}/users/{user_id}/access_lists'

interface ListSubject {
  owner: ListOwner
  record: AccountRecord | DeviceRecord
  /** Compared with If-Match. */
  revision: string
}

type Change<Data> = Pick<Call<string, Data, ListSubject>, 'author' | 'subject' | 'data'>

const view = ({ id, created, modified, revision, doc: { access_lists: list } }: ListSubject['record']) =>
  list === undefined
    ? answer({ data: {} })
    : answer({ data: list, metadata: { id, created, modified }, revision })

const accessListRoutes = (lists: AccessLists, devices: Devices): Route[] => {
  const ofAccount = async ({ account }: Pick<Call, 'account'>): Promise<ListSubject> => ({
    owner: { account },
    record: account,
    revision: account.revision,
  })

  const ofDevice = async ({
    account,
    path,
  }: {
    account: AccountRecord
    path: { account_id: string; device_id: string }
  }): Promise<ListSubject> => {
    const device = await devices.find(path.account_id, path.device_id)
    if (device) return { owner: { account, device }, record: device, revision: device.revision }
    throw failure(badIdentifier, { cause: 'Identifier was not found', details: path.device_id })
  }

  const replace = async ({ author, subject, data }: Change<AccessList>) =>
    view(await lists.replace(author, subject.owner, data))

  const remove = async ({ author, subject: { owner, record } }: Omit<Change<unknown>, 'data'>) => {
    if (record.doc.access_lists) await lists.replace(author, owner, undefined)
    return {}
  }

  const refuse = async () => {
    throw failure(faultyRequest, { message: 'access lists not supported on this URI path' })
  }

  const reading = { allow: accountMember, answers: AccessListOrNone }
  const isKept = ({ record }: ListSubject) => record.doc.access_lists !== undefined
  const writing = { allow: accountAdmin, body: AccessList, answers: AccessList, isKept }
  const removing = { allow: accountAdmin, answers: open({}), isKept }
  const refusing = { allow: accountMember, subject: refuse, answers: open({}), run: refuse }

  return [
    get(onAccount, {
      summary: 'Read the access list of an account',
      ...reading,
      subject: ofAccount,
      run: ({ subject }) => view(subject.record),
    }),
    post(onAccount, {
      summary: 'Replace the access list of an account',
      ...writing,
      subject: ofAccount,
      judge: async ({ data }) => accessListProblems(data),
      run: replace,
    }),
    del(onAccount, {
      summary: 'Remove the access list of an account',
      ...removing,
      subject: ofAccount,
      run: remove,
    }),
    get(onDevice, {
      summary: 'Read the access list of a device',
      ...reading,
      subject: ofDevice,
      run: ({ subject }) => view(subject.record),
    }),
    post(onDevice, {
      summary: 'Replace the access list of a device',
      ...writing,
      subject: ofDevice,
      judge: async ({ data }) => accessListProblems(data),
      run: replace,
    }),
    del(onDevice, {
      summary: 'Remove the access list of a device',
      ...removing,
      subject: ofDevice,
      run: remove,
    }),
    get(onUser, { summary: 'Users have no access list: always refused', ...refusing }),
    post(onUser, { summary: 'Users have no access list: always refused', ...refusing }),
    del(onUser, { summary: 'Users have no access list: always refused', ...refusing }),
  ]
}

/** Which addresses and user agents accounts and their devices let in. */
export const accessListsArea = area({
  name: 'accessLists',
  describes: { access_lists: 'Which addresses and user agents accounts and their devices let in.' },
  needs: { accounts: accountsArea, devices: devicesArea },
  create(_tools, needs) {
    const lists = createAccessLists(needs)
    return {
      offers: lists,
      routes: accessListRoutes(lists, needs.devices),
      schemas: { access_lists: AccessList },
    }
  },
})
