import type { Json } from '../../../lib/json.ts'
import type { Alert } from '../../events/alerts/schema.ts'

/** The address of a phone whose settings are kept for it elsewhere; undefined for other devices. */
export const provisionedMac = (doc: Json | undefined): string | undefined => {
  const { provision, mac_address: mac } = doc ?? {}
  const isPhone = typeof provision === 'object' && provision !== null && typeof mac === 'string' && mac !== ''
  return isPhone ? mac : undefined
}

const minuteMs = 60_000
const pausesMs = [1, 5, 15, 60].map((minutes) => minutes * minuteMs)

/** How long to wait after a number of failures in a row. */
export const pauseAfter = (failures: number) => pausesMs[Math.min(failures, pausesMs.length) - 1] ?? minuteMs

const maxReply = 2000

/** What the service said, as far as it is worth keeping. */
export const replyOf = (status: number | undefined, text: string): Json => {
  const reply = text.slice(0, maxReply)
  return { ...(status === undefined ? {} : { status }), reply }
}

/** A phone that the service did not take. */
export interface Untaken {
  accountId: string
  resellerId: string
  deviceId: string
  mac: string
  name: string | undefined
  ownerId: string | undefined
  reply: Json
}

/** The one cause of all alerts about a phone. */
export const causeOf = ({ accountId, deviceId }: Pick<Untaken, 'accountId' | 'deviceId'>) =>
  `provisioner/${accountId}/${deviceId}`

/** What the admins of the account and of its reseller are told. */
export const alertOf = ({ accountId, resellerId, deviceId, mac, name, ownerId, reply }: Untaken): Alert => ({
  title: 'Provisioning Error',
  message: `The settings of the phone ${name ?? deviceId} (${mac}) could not be handed to the provisioning service.`,
  category: 'provisioner',
  level: 'error',
  metadata: { device_id: deviceId, mac_address: mac, ...reply },
  from: [
    { type: 'account', value: accountId },
    ...(ownerId === undefined ? [] : [{ type: 'user' as const, value: ownerId }]),
  ],
  to: [...new Set([accountId, resellerId])].map((id) => ({ type: id, value: 'admins' })),
})
