import { type AccountRecord, userKind } from '../../auth/identity.ts'
import { accountAdmin, accountMember, ownerOrAdmin } from '../../auth/policies.ts'
import { accepted, answer, ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { collectionListing, keptListing, type Listing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type RequestFacts, type Route } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'
import { isTrue, type Json } from '../../lib/json.ts'
import { anyText, list } from '../../lib/schema.ts'
import type { Author } from '../../storage/change-set.ts'
import type { ListRow, Records } from '../../storage/records.ts'
import { switchFails, unreachableIn } from '../../switch/answers.ts'
import type { DeviceRecord, Devices, Restart } from './operations.ts'
import { assertMayChange, tidy } from './rules.ts'
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

// Whole devices, of which each may be as large as a record can be.
const mostBytesAtOnce = 4_000_000

// No flag: web clients send it everywhere, and must not get an error for it.
const statusQuery = { with_status: 'true adds `registrable` and `registered` to each row' }
const syncFails = ['phone_unregistered', ...switchFails] as const

export const deviceRoutes = (devices: Devices, records: Records): Route[] => {
  const subject = ({ path }: { path: { account_id: string; device_id: string } }) =>
    devices.get(path.account_id, path.device_id)

  type OfDevice = Pick<Call<typeof oneDevice>, 'path' | 'actor'>

  const ownSubject = async ({ path, actor }: OfDevice) => {
    const device = await devices.get(path.account_id, path.device_id)
    assertMayChange(actor, device)
    return device
  }

  const owner = async ({ path }: { path: { account_id: string; user_id: string } }) => {
    const user = await records.find(path.account_id, userKind, path.user_id)
    if (!user) throw failure('bad_identifier', { cause: path.user_id })
    return { id: user.id }
  }

  /** Whole records are read: a row does not tell the realm. Of the others it is known at most which edge was silent. */
  const withStatus = (account: AccountRecord, ownerId: string | undefined) => {
    const registrations = new Map<string, object>()
    const silent = new Set<string>()
    const owner = ownerId === undefined ? {} : { ownerId }
    const listing: Listing<ListRow> = {
      ...collectionListing(devices, account.id, ownerId),
      async page({ whole: _, ...request }) {
        const query = { ...request, accountId: account.id, ...owner }
        const limit = await devices.fitting(query, mostBytesAtOnce)
        const items = await devices.page({ ...query, limit })
        const presence = await devices.presenceOf(account, items)
        for (const host of presence.unreachable) silent.add(host)
        for (const { id, doc } of items)
          registrations.set(id, devices.registrationOf(id, doc.device_type, presence))
        const last = items.at(-1)
        return { items, next: last && items.length === limit ? [last.sortKey, last.id] : undefined }
      },
      row({ id, rowText }) {
        const shown: DeviceRow = JSON.parse(rowText)
        const row = JSON.stringify({ ...shown, ...registrations.get(id) })
        registrations.delete(id)
        return row
      },
      metadata: () => unreachableIn([...silent]),
    }
    return new ListAnswer(listing)
  }

  const listed = ({ account, request }: Scope, ownerId?: string) =>
    isTrue(request.value('with_status'))
      ? withStatus(account, ownerId)
      : new ListAnswer(keptListing(devices, account.id, ownerId))

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

  const writing = { body: Device, answers: DeviceAnswer, prepare: tidy }
  const creating = { ...writing, allow: accountAdmin }
  const changing = { ...writing, allow: ownerOrAdmin, subject: ownSubject, judge, run: change }

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
      ...creating,
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
      ...creating,
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
      run: async ({ account }) => {
        const { statuses, unreachable } = await devices.statuses(account)
        return answer({ data: statuses, metadata: unreachableIn(unreachable) })
      },
    }),
    get(oneDevice, {
      summary: 'Read a device',
      record: { kind: 'device' },
      allow: accountMember,
      subject,
      answers: DeviceAnswer,
      run: ({ subject: device }) => one(device),
    }),
    post(oneDevice, { summary: 'Replace a device', ...changing }),
    patch(oneDevice, { summary: 'Change fields of a device', ...changing }),
    del(oneDevice, {
      summary: 'Delete a device',
      allow: accountAdmin,
      subject,
      answers: DeviceAnswer,
      run: async ({ author, subject: device }) => {
        await devices.remove(author, device)
        return removed(device)
      },
    }),
    put(oneDevice, {
      summary: 'Send a SIP NOTIFY to a device: action `notify`',
      allow: ownerOrAdmin,
      subject: async (call) => {
        const device = await ownSubject(call)
        requireNotify(call.request.value('action'))
        return { device }
      },
      body: Notify,
      answers: anyText(),
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
      allow: ownerOrAdmin,
      query: { reboot: { flag: 'true restarts the device' } },
      subject: ownSubject,
      answers: anyText(),
      fails: syncFails,
      run: async ({ account, subject: device, request }) => {
        await devices.sync(account, [device], restartIn(request))
        return accepted('sync request sent')
      },
    }),
  ]
}
