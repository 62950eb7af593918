import { userKind } from '../../../auth/identity.ts'
import { accountMember, ownerOrAdmin } from '../../../auth/policies.ts'
import { accepted, answer } from '../../../http/response/responses.ts'
import { get, post, type Route } from '../../../http/route.ts'
import { badIdentifier, failure, invalidAction } from '../../../lib/failure.ts'
import { anyText, list } from '../../../lib/schema.ts'
import type { Records } from '../../../storage/records.ts'
import { edgeFails, edgesIn, unreachableIn } from '../../../switch/answers.ts'
import type { MediaSwitch } from '../../../switch/kamailio/kamailio.ts'
import type { Heard } from '../../../switch/media-switch.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import type { Devices } from '../devices/operations.ts'
import { type Channels, createChannels } from './operations.ts'
import { Channel, ChannelAction } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}'
const all = `${onAccount}/channels` as const
const oneChannel = `${all}/{uuid}` as const

const listed = ({ found, unreachable }: Heard<Channel>) =>
  answer({ data: found, metadata: unreachableIn(unreachable) })

const listing = { isLong: true, allow: accountMember, answers: list(Channel), fails: edgeFails } as const

interface Deps {
  channels: Channels
  devices: Devices
  records: Records
  mediaSwitch: Pick<MediaSwitch, 'isPresent'>
}

const channelRoutes = ({ channels, devices, records, mediaSwitch }: Deps): Route[] => [
  get(all, {
    summary: 'List the calls in progress of an account',
    ...listing,
    run: async ({ account }) => {
      const { found, unreachable } = await channels.ofAccount(account)
      return answer({ data: found, metadata: edgesIn(await mediaSwitch.isPresent(), unreachable) })
    },
  }),
  get(`${onAccount}/devices/{device_id}/channels`, {
    summary: 'List the calls in progress of a device',
    ...listing,
    subject: ({ path }) => devices.get(path.account_id, path.device_id),
    run: async ({ account, subject }) => listed(await channels.ofDevice(account, subject)),
  }),
  get(`${onAccount}/users/{user_id}/channels`, {
    summary: 'List the calls in progress of a user',
    ...listing,
    subject: async ({ path }) => {
      const user = await records.find(path.account_id, userKind, path.user_id)
      if (!user) throw failure(badIdentifier, { cause: path.user_id })
      return { id: user.id }
    },
    run: async ({ account, subject }) => listed(await channels.ofUser(account, subject.id)),
  }),
  get(oneChannel, {
    summary: 'Read a call in progress',
    allow: accountMember,
    answers: Channel,
    fails: edgeFails,
    run: ({ account, path }) => channels.get(account, path.uuid),
  }),
  post(oneChannel, {
    summary: 'End a call: action `hangup`',
    allow: ownerOrAdmin,
    body: ChannelAction,
    answers: anyText(),
    fails: [invalidAction, ...edgeFails],
    run: async ({ account, actor, path, data }) => {
      if (data.action !== 'hangup') throw failure(invalidAction, {})
      await channels.assertMayEnd(actor, account, path.uuid)
      await channels.hangUp(account, path.uuid)
      return accepted('hangup sent')
    },
  }),
]

export const channelsArea = area({
  name: 'channels',
  describes: { channels: 'Calls in progress.' },
  needs: { devices: devicesArea },
  create: ({ store, mediaSwitch }, { devices }) => ({
    routes: channelRoutes({
      channels: createChannels({ store, mediaSwitch, devices }),
      devices,
      records: store.records,
      mediaSwitch,
    }),
  }),
})
