import { userKind } from '../../../auth/identity.ts'
import { accountMember, accountMemberOrInvited } from '../../../auth/policies.ts'
import { accepted } from '../../../http/response/responses.ts'
import { type Call, get, post, type Route } from '../../../http/route.ts'
import type { Price } from '../../../http/throttle/token-buckets.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { anyObject, anyText } from '../../../lib/schema.ts'
import type { Records } from '../../../storage/records.ts'
import { quickcallFailed, switchFails } from '../../../switch/answers.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import { createQuickcalls, type Quickcalls } from './operations.ts'
import { callWishesIn } from './rules.ts'

/** `devices`: those that ring. */
type Calling = Pick<Call, 'account' | 'request'> & {
  path: { number: string }
  subject: { devices: readonly DeviceRecord[] }
}

type Place<Id extends string> = Pick<Call, 'account' | 'visitor'> & {
  path: Record<'account_id' | Id, string>
}

const query = {
  auto_answer: 'false lets the phones ring (default true)',
  'cid-name': 'Name that the phones show while they ring',
  'cid-number': 'Number that the phones show while they ring',
  'caller-id-name': 'Name that the called party sees (default `Device QuickCall`)',
  'caller-id-number': 'Number that the called party sees',
  number_filter: 'true (default) strips spaces and punctuation; false; or a pattern with one group',
  'ignore-early-media': 'false passes early media on (default true)',
  media: '`bypass` or `process`',
  timeout: 'Seconds the phones ring, at least 3 (default 30)',
  target_call_id: 'Existing call of the phones',
}

// The specification names `devices`; Crossbar reads `quickcall`. Both count, the former first.
const price: Price = { is: 'call', extra: { action: 'quickcall', under: ['devices', 'quickcall'] } }

const quickcallRoutes = (quickcalls: Quickcalls, devices: Devices, records: Records): Route[] => {
  const ofDevice = async ({ visitor, account, path }: Place<'device_id'>) => {
    const device = await devices.find(path.account_id, path.device_id)
    const called = device && { doc: device.doc, ownerId: device.doc.owner_id }
    await quickcalls.assertMayCall(visitor, account, called)
    if (!device) throw failure(badIdentifier, { cause: path.device_id })
    return { devices: [device] }
  }

  const ofUser = async ({ visitor, account, path }: Place<'user_id'>) => {
    const user = await records.find(path.account_id, userKind, path.user_id)
    await quickcalls.assertMayCall(visitor, account, user && { doc: user.doc, ownerId: user.id })
    if (!user) throw failure(badIdentifier, { cause: path.user_id })
    return { devices: await devices.ownedBy(account, user.id) }
  }

  const start = ({ account, path, subject, request }: Calling) =>
    quickcalls.start(account, subject.devices, callWishesIn(path.number, request.value))

  const fails = [quickcallFailed, ...switchFails]
  const starting = {
    allow: accountMemberOrInvited,
    acts: true,
    query,
    answers: anyText(),
    fails,
    price,
    async run(call: Calling) {
      await start(call)
      return accepted('quickcall initiated')
    },
  }
  const waiting = {
    allow: accountMember,
    query,
    answers: anyObject(),
    fails,
    price,
    run: async (call: Calling) => (await start(call)).ended,
  }
  const onDevice = '/v2/accounts/{account_id}/devices/{device_id}/quickcall/{number}'
  const onUser = '/v2/accounts/{account_id}/users/{user_id}/quickcall/{number}'
  const byDevice = { resource: 'devices', subject: ofDevice } as const
  const byUser = { resource: 'users', subject: ofUser } as const
  const untilEnd = ', and wait for the end of the attempt'
  const fromDevice = 'Call a number from a device'
  const fromUser = "Call a number from a user's devices"

  return [
    get(onDevice, { summary: fromDevice, ...byDevice, ...starting }),
    post(onDevice, { summary: `${fromDevice}${untilEnd}`, ...byDevice, ...waiting }),
    get(onUser, { summary: fromUser, ...byUser, ...starting }),
    post(onUser, { summary: `${fromUser}${untilEnd}`, ...byUser, ...waiting }),
  ]
}

/** Calls that a request starts: first the phones ring, then the number is called. */
export const quickcallsArea = area({
  name: 'quickcalls',
  needs: { devices: devicesArea },
  create: (tools, { devices }) => ({
    routes: quickcallRoutes(createQuickcalls({ ...tools, devices }), devices, tools.store.records),
  }),
})
