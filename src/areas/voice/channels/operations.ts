import { type AccountRecord, type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { badIdentifier, failure, forbidden } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { present } from '../../../lib/json.ts'
import { assertAllResponded } from '../../../switch/answers.ts'
import type { EdgeCall } from '../../../switch/kamailio/calls.ts'
import type { Contact } from '../../../switch/kamailio/registrations.ts'
import type { Heard } from '../../../switch/media-switch.ts'
import type { DepsOf } from '../../area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { Channel } from './schema.ts'

const shownVariables = [
  'direction',
  'authorizing_id',
  'authorizing_type',
  'owner_id',
  'interaction_id',
] as const

/** The user of a SIP address. */
const userIn = (address: string) => /^sips?:([^@;?]+)@/i.exec(address)?.[1]

const channelOf = (call: EdgeCall, nowMs: number): Channel => {
  const { variables, from, to, answered } = call
  return {
    uuid: call.callId,
    answered: call.isAnswered,
    ...present(Object.fromEntries(shownVariables.map((name) => [name, variables[name]]))),
    bridge_id: variables.bridge_id ?? variables.interaction_id ?? call.callId,
    from,
    to,
    destination: variables.to_number ?? userIn(to) ?? to,
    ...present({ username: userIn(from) }),
    timestamp: gregorianOfUnix(call.began),
    elapsed_s: answered === undefined ? 0 : Math.max(0, Math.floor(nowMs / 1000) - answered),
    node: call.at.host,
  }
}

/** Whether a device has begun a call or has answered it. */
const hasPart = ({ variables, called }: EdgeCall, deviceId: string) =>
  variables.authorizing_id === deviceId || (called?.type === 'device' && called.id === deviceId)

const withoutParameters = (address: string | undefined) => address?.split(';')[0]

/** Edges may have added parameters to the contacts. */
const isAt = ({ legs }: EdgeCall, { contact }: Contact) =>
  [legs.caller, legs.callee].some((leg) => withoutParameters(leg.contact) === withoutParameters(contact))

type Deps = DepsOf<'mediaSwitch' | 'store'> & { devices: Devices }

export type Channels = ReturnType<typeof createChannels>

/** Calls in progress at the edges. The edge knows the account of a call. */
export const createChannels = ({ store: { clock }, devices, mediaSwitch }: Deps) => {
  const channelsOf = (calls: readonly EdgeCall[]) => calls.map((call) => channelOf(call, clock.now()))

  const all = (account: AccountRecord) => mediaSwitch.calls(account.id)

  /** Calls from and to devices. */
  const ofDevices = async (
    account: AccountRecord,
    wanted: readonly DeviceRecord[],
    isTheirs: (call: EdgeCall) => boolean = () => false,
  ): Promise<Heard<Channel>> => {
    const phones = wanted.map((device) => devices.phoneOf(account, device))
    const [calls, known] = await Promise.all([all(account), mediaSwitch.registrations(phones)])
    const found = calls.found.filter(
      (call) =>
        isTheirs(call) ||
        wanted.some(({ id }) => hasPart(call, id)) ||
        known.found.some((registration) => isAt(call, registration)),
    )
    return {
      found: channelsOf(found),
      unreachable: [...new Set([...calls.unreachable, ...known.unreachable])],
    }
  }

  const ofUser = async (account: AccountRecord, userId: string) => {
    const owned = await devices.ownedBy(account, userId)
    return ofDevices(account, owned, ({ variables }) => variables.owner_id === userId)
  }

  return {
    async ofAccount(account: AccountRecord): Promise<Heard<Channel>> {
      const { found, unreachable } = await all(account)
      return { found: channelsOf(found), unreachable }
    },

    ofDevice: (account: AccountRecord, device: DeviceRecord) => ofDevices(account, [device]),

    ofUser,

    /** Ordinary users may end calls of their devices. */
    async assertMayEnd(actor: Pick<Actor, 'user'>, account: AccountRecord, callId: string) {
      if (!actor.user || speaksForAccount(actor)) return
      const { found, unreachable } = await ofUser(account, actor.user.id)
      if (found.some(({ uuid }) => uuid === callId)) return
      assertAllResponded(unreachable)
      throw failure(forbidden, { cause: 'Only an admin may end the call of another user' })
    },

    async get(account: AccountRecord, callId: string): Promise<Channel> {
      const call = await mediaSwitch.call(account.id, callId)
      if (!call) throw failure(badIdentifier, { cause: callId })
      return channelOf(call, clock.now())
    },

    async hangUp(account: AccountRecord, callId: string) {
      if (!(await mediaSwitch.hangUp(account.id, callId))) throw failure(badIdentifier, { cause: callId })
    },
  }
}
