import { accountMember } from '../../auth/policies.ts'
import { answer, RawJson } from '../../http/answer/answers.ts'
import { type Call, del, get, post, type Route } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'
import { open } from '../../lib/schema.ts'
import type { ClaimHolder } from '../../storage/change-set.ts'
import { holderOf } from '../../storage/records.ts'
import type { Devices } from '../devices/operations.ts'
import type { AccessListRecord, AccessLists } from './operations.ts'
import { accessListProblems } from './rules.ts'
import { AccessList, AccessListOrNone } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/access_lists'
const onDevice = '/v2/accounts/{account_id}/devices/{device_id}/access_lists'
const onUser = '/v2/accounts/{account_id}/users/{user_id}/access_lists'

/** Whose list is asked for, and the list as it is. */
interface ListSubject {
  owner: ClaimHolder
  list: AccessListRecord | undefined
  /** What If-Match is held against. */
  revision?: string
}

type Change<Data> = Pick<Call<string, Data, ListSubject>, 'author' | 'subject' | 'data'>

const view = (list: AccessListRecord | undefined) =>
  list === undefined
    ? answer({ data: {} })
    : answer({
        data: new RawJson(list.docText),
        metadata: { id: list.id, created: list.created, modified: list.modified },
        revision: list.revision,
      })

export const accessListRoutes = (lists: AccessLists, devices: Devices): Route[] => {
  const place = async (owner: ClaimHolder): Promise<ListSubject> => {
    const list = await lists.of(owner)
    return list ? { owner, list, revision: list.revision } : { owner, list }
  }

  const ofAccount = ({ account }: Pick<Call, 'account'>) => place(holderOf(account))

  const ofDevice = async ({ path }: { path: { account_id: string; device_id: string } }) => {
    const device = await devices.find(path.account_id, path.device_id)
    if (device) return place(holderOf(device))
    throw failure('bad_identifier', { cause: 'Identifier was not found', details: path.device_id })
  }

  const replace = async ({ author, subject, data }: Change<AccessList>) =>
    view(await lists.replace(author, subject.owner, subject.list, data))

  const remove = async ({ author, subject }: Omit<Change<unknown>, 'data'>) => {
    if (subject.list) await lists.remove(author, subject.list)
    return {}
  }

  const refuse = async () => {
    throw failure('faulty_request', { message: 'access lists not supported on this URI path' })
  }

  const reading = { allow: accountMember, answers: AccessListOrNone }
  const writing = { allow: accountMember, body: AccessList, answers: AccessList }
  const removing = { allow: accountMember, answers: open({}) }
  const refusing = { allow: accountMember, subject: refuse, answers: open({}), run: refuse }

  return [
    get(onAccount, {
      summary: 'Read the access list of an account',
      ...reading,
      subject: ofAccount,
      run: ({ subject }) => view(subject.list),
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
      run: ({ subject }) => view(subject.list),
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
