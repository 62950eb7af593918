import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const counter = (fallback: number, description: string) =>
  wholeNumber({ default: fallback, unit: 'SIP packets' }, description)

const packets = (invites: number, registrations: number, total: number) => ({
  invites: counter(invites, 'INVITE packets'),
  registrations: counter(registrations, 'REGISTER packets'),
  total_packets: counter(total, 'Packets of any kind, replies included'),
})
const period = (keys: ReturnType<typeof packets>) =>
  Type.Object(keys, { default: {}, description: 'How many an edge lets through in this time' })

const frontier = section('SIP packet rates where neither account nor device have limits of their own', {
  rate_limits: Type.Object(
    {
      account: Type.Object(
        { per_minute: period(packets(200, 100, 2000)), per_second: period(packets(50, 20, 100)) },
        { default: {}, description: 'Accounts that have no limits of their own' },
      ),
      device: Type.Object(
        { per_minute: period(packets(100, 20, 1000)), per_second: period(packets(5, 2, 20)) },
        { default: {}, description: 'Devices for which neither they nor their account has limits' },
      ),
    },
    { default: {}, description: 'What edges are told to let through' },
  ),
})

export const rateLimitSettings = settingsDocument('frontier', frontier)
