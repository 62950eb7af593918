import { type AccountRecord, userKind } from '../../auth/identity.ts'
import { accountMember } from '../../auth/policies.ts'
import { accepted, ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { collectionListing, type Listing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type RequestFacts, type Route } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'
import { isTrue, type Json } from '../../lib/json.ts'
import { list, open } from '../../lib/schema.ts'
import type { Author } from '../../storage/change-set.ts'
import type { ListRow, Records } from '../../storage/records.ts'
import type { DeviceRecord, Devices, Restart } from './operations.ts'
import { tidy } from './rules.ts'
import { Device, DeviceRecord as DeviceAnswer, DeviceRow, DeviceStatus, Notify } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/devices'
const onUser = '/v2/accounts/{account_id}/users/{user_id}/devices'
const oneDevice = `${onAccount}/{device_id}` as const

type Scope = Pick<Call, 'account' | 'request'>

const restartIn = (request: RequestFacts): Restart => (isTrue(request.value('reboot')) ? 'reboot' : 'reload')

/** The action that a PUT on a device names. Only one is known. */
const requireNotify = (action: unknown) => {
  if (action === undefined || action === '') throw failure('action_required', {})
  if (action !== 'notify') throw failure('invalid_action', {})
}

const statusQuery = { with_status: 'true adds `registrable` and `registered` to each row' }
const syncFails = ['no_media_switch'] as const

export const deviceRoutes = (devices: Devices, records: Records): Route[] => {
  const subject = ({ path }: { path: { account_id: string; device_id: string } }) =>
    devices.get(path.account_id, path.device_id)

  const owner = async ({ path }: { path: { account_id: string; user_id: string } }) => {
    const user = await records.find(path.account_id, userKind, path.user_id)
    if (!user) throw failure('bad_identifier', { cause: path.user_id })
    return { id: user.id }
  }

  const withStatus = async (listing: Listing<ListRow>, account: AccountRecord) => {
    const registered = await devices.registered(account.id)
    const row = ({ id, rowText }: ListRow) => {
      const shown: DeviceRow = JSON.parse(rowText)
      return JSON.stringify({ ...shown, ...devices.registrationOf(id, shown.device_type, registered) })
    }
    return new ListAnswer({ ...listing, row })
  }

  const listed = ({ account, request }: Scope, ownerId?: string) => {
    const listing = collectionListing(devices, account.id, ownerId)
    return isTrue(request.value('with_status')) ? withStatus(listing, account) : new ListAnswer(listing)
  }

  const create = async (author: Author, account: AccountRecord, data: Json) =>
    made(await devices.create(author, account, data))

  const change = async (call: Call<typeof oneDevice, Json, DeviceRecord>) => {
    const { author, account, data, request } = call
    const device = await devices.replace(author, account, call.subject, data)
    if (isTrue(data.sync)) await devices.trySync(account, [device], restartIn(request))
    return one(device)
  }

  const judge = ({ account, actor, data, subject: own }: Call<typeof oneDevice, Json, DeviceRecord>) =>
    devices.judge({ account, actor, data, own })

  const writing = { allow: accountMember, body: Device, answers: DeviceAnswer, prepare: tidy }

  return [
    get(onAccount, {
      summary: 'List the devices of an account',
      allow: accountMember,
      query: statusQuery,
      answers: DeviceRow,
      list: true,
      run: (call) => listed(call),
    }),
    put(onAccount, {
      summary: 'Create a device',
      ...writing,
      judge: ({ account, actor, data }) => devices.judge({ account, actor, data }),
      run: ({ author, account, data }) => create(author, account, data),
    }),
    get(onUser, {
      summary: 'List the devices of a user',
      allow: accountMember,
      query: statusQuery,
      subject: owner,
      answers: DeviceRow,
      list: true,
      run: (call) => listed(call, call.path.user_id),
    }),
    put(onUser, {
      summary: 'Create a device that a user owns',
      ...writing,
      subject: owner,
      judge: ({ account, actor, data, path }) =>
        devices.judge({ account, actor, data: { ...data, owner_id: path.user_id } }),
      run: ({ author, account, data, path }) => create(author, account, { ...data, owner_id: path.user_id }),
    }),
    get(`${onAccount}/status`, {
      summary: 'Tell which devices of an account are registered',
      isLong: true,
      allow: accountMember,
      answers: list(DeviceStatus),
      run: ({ account }) => devices.statuses(account.id),
    }),
    get(oneDevice, {
      summary: 'Read a device',
      record: { kind: 'device' },
      allow: accountMember,
      subject,
      answers: DeviceAnswer,
      run: ({ subject: device }) => one(device),
    }),
    post(oneDevice, { summary: 'Replace a device', ...writing, subject, judge, run: change }),
    patch(oneDevice, { summary: 'Change fields of a device', ...writing, subject, judge, run: change }),
    del(oneDevice, {
      summary: 'Delete a device',
      allow: accountMember,
      subject,
      answers: DeviceAnswer,
      run: async ({ author, account, subject: device }) => {
        await devices.remove(author, account, device)
        return removed(device)
      },
    }),
    put(oneDevice, {
      summary: 'Send a SIP NOTIFY to a device: action `notify`',
      allow: accountMember,
      subject: async (call) => {
        const device = await subject(call)
        requireNotify(call.request.value('action'))
        return { device }
      },
      body: Notify,
      answers: open({}),
      fails: ['action_required', 'invalid_action', ...syncFails],
      run: async ({ account, subject: { device }, data: { data: notice } }) => {
        const { event, body } = notice
        const content = body && { contentType: body.content_type, content: body.data }
        await devices.notify(account, device, { event, ...(content ? { body: content } : {}) })
        return accepted('NOTIFY sent')
      },
    }),
    post(`${oneDevice}/sync`, {
      summary: 'Tell a device to fetch its settings again',
      resource: 'devices',
      allow: accountMember,
      query: { reboot: 'true restarts the device' },
      subject,
      answers: open({}),
      fails: syncFails,
      run: async ({ account, subject: device, request }) => {
        await devices.sync(account, [device], restartIn(request))
        return accepted('sync request sent')
      },
    }),
  ]
}
