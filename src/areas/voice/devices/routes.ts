import { type AccountRecord, userKind } from '../../../auth/identity.ts'
import { accountAdmin, accountMember, ownerOrAdmin } from '../../../auth/policies.ts'
import { cachedListing, collectionListing, type Listing } from '../../../http/response/listing.ts'
import { accepted, answer, ListResponse, made } from '../../../http/response/responses.ts'
import { type Call, get, post, put, type RequestFacts } from '../../../http/route.ts'
import { actionRequired, badIdentifier, failure, invalidAction } from '../../../lib/failure.ts'
import { isTrue, present } from '../../../lib/json.ts'
import { anyText, list } from '../../../lib/schema.ts'
import type { ListRow, Records } from '../../../storage/records.ts'
import { switchFails, unreachableIn } from '../../../switch/answers.ts'
import { recordRoutes } from '../../record-routes.ts'
import { type Devices, phoneUnregistered, type Restart } from './operations.ts'
import { assertMayChange, tidy } from './rules.ts'
import { Device, DeviceRecord as DeviceAnswer, DeviceRow, DeviceStatus, Notify } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/devices'
const onUser = '/v2/accounts/{account_id}/users/{user_id}/devices'
const oneDevice = `${onAccount}/{device_id}` as const

type Scope = Pick<Call, 'account' | 'request'>

const restartIn = (request: RequestFacts): Restart => (isTrue(request.value('reboot')) ? 'reboot' : 'reload')

const requireNotify = (action: unknown) => {
  if (action === undefined || action === '') throw failure(actionRequired, {})
  if (action !== 'notify') throw failure(invalidAction, {})
}

// A record can be as large as a request, so the page is bounded in bytes.
const maxBytesAtOnce = 4_000_000

// Not a flag: web clients send it everywhere and must not get an error.
const statusQuery = { with_status: 'true adds `registrable` and `registered` to each row' }
const syncFails = [phoneUnregistered, ...switchFails]

export const deviceRoutes = (devices: Devices, records: Records) => {
  type OfDevice = Pick<Call<typeof oneDevice>, 'path' | 'actor'>

  const ownSubject = async ({ path, actor }: OfDevice) => {
    const device = await devices.get(path.account_id, path.device_id)
    assertMayChange(actor, device)
    return device
  }

  const owner = async ({ path }: { path: { account_id: string; user_id: string } }) => {
    const user = await records.find(path.account_id, userKind, path.user_id)
    if (!user) throw failure(badIdentifier, { cause: path.user_id })
    return { id: user.id }
  }

  /** Reads whole records, because rows do not have the realm. */
  const withStatus = (account: AccountRecord, ownerId: string | undefined): Listing<ListRow> => {
    const registrations = new Map<string, object>()
    const silent = new Set<string>()
    return {
      ...collectionListing(devices, account.id, ownerId),
      async page({ whole: _, ...request }) {
        const query = { ...request, accountId: account.id, ...present({ ownerId }) }
        const limit = await devices.fitting(query, maxBytesAtOnce)
        const items = await devices.page({ ...query, limit })
        const presence = await devices.presenceOf(account, items)
        for (const host of presence.unreachable) silent.add(host)
        for (const device of items) registrations.set(device.id, presence.of(device))
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
  }

  const listed = ({ account, request }: Scope, ownerId?: string): Listing<ListRow> =>
    isTrue(request.value('with_status'))
      ? withStatus(account, ownerId)
      : cachedListing(devices, account.id, ownerId)

  const served = recordRoutes(devices, {
    path: onAccount,
    called: ['a device', 'devices'],
    row: DeviceRow,
    routes: {
      list: { allow: accountMember, query: statusQuery },
      create: { allow: accountAdmin, prepare: tidy },
      read: { allow: accountMember },
      replace: { allow: ownerOrAdmin, prepare: tidy },
      patch: { allow: ownerOrAdmin, prepare: tidy },
      delete: { allow: accountAdmin },
    },
    list: (call) => listed(call),
    assertMayChange,
    async afterChange({ account, data, request }, device) {
      if (isTrue(data.sync)) await devices.trySync(account, [device], restartIn(request))
    },
  })

  const routes = [
    ...served.routes,
    get(onUser, {
      summary: 'List the devices of a user',
      allow: accountMember,
      query: statusQuery,
      subject: owner,
      answers: DeviceRow,
      list: true,
      run: (call) => new ListResponse(listed(call, call.path.user_id)),
    }),
    put(onUser, {
      summary: 'Create a device that a user owns',
      allow: accountAdmin,
      body: Device,
      answers: DeviceAnswer,
      prepare: tidy,
      subject: owner,
      judge: ({ account, actor, data, path }) =>
        devices.problems({ account, actor, data: { ...data, owner_id: path.user_id }, before: undefined }),
      run: async (call) => made(await devices.create(call, { ...call.data, owner_id: call.path.user_id })),
    }),
    get(`${onAccount}/status`, {
      summary: 'List the registration status of the devices of an account',
      isLong: true,
      allow: accountMember,
      answers: list(DeviceStatus),
      run: async ({ account }) => {
        const { statuses, unreachable } = await devices.statuses(account)
        return answer({ data: statuses, metadata: unreachableIn(unreachable) })
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
      fails: [actionRequired, invalidAction, ...syncFails],
      run: async ({ account, subject: { device }, data: { data: notice } }) => {
        const { event, body } = notice
        const content = body && { contentType: body.content_type, content: body.data }
        await devices.notify(account, device, { event, ...present({ body: content }) })
        return accepted('NOTIFY sent')
      },
    }),
    post(`${oneDevice}/sync`, {
      summary: 'Make a device load its settings again',
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
  return { ...served, routes }
}
