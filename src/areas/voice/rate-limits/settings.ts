import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'
import { type EffectiveLimits, standardSystemLimits } from './rules.ts'

const counter = (fallback: number, description: string) =>
  wholeNumber({ default: fallback, unit: 'SIP packets' }, description)

const period = ({ invites, registrations, total_packets }: EffectiveLimits['per_minute']) =>
  Type.Object(
    {
      invites: counter(invites, 'INVITE packets'),
      registrations: counter(registrations, 'REGISTER packets'),
      total_packets: counter(total_packets, 'Packets of any kind, replies included'),
    },
    { default: {}, description: 'Maximum in this time' },
  )

const limits = ({ per_minute, per_second }: EffectiveLimits, description: string) =>
  Type.Object(
    { per_minute: period(per_minute), per_second: period(per_second) },
    { default: {}, description },
  )

const { account, device } = standardSystemLimits

const frontier = section('SIP packet limits if neither account nor device has limits', {
  rate_limits: Type.Object(
    {
      account: limits(account, 'For accounts without their own limits'),
      device: limits(device, 'For devices without limits of the device or the account'),
    },
    { default: {}, description: 'Access rules for edges' },
  ),
})

export const rateLimitSettings = settingsDocument('frontier', frontier)
