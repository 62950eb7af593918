import type { Alert } from '../../alerts/schema.ts'
import type { EdgeEmergency, EdgeRefusal } from './schema.ts'

/** Whose packet it was: a device, where the account has one of that name. */
interface RefusedSender {
  accountId: string
  deviceId: string | undefined
}

/** A refusal, and whom it concerns. */
export interface Concern {
  refusal: EdgeRefusal
  sender: RefusedSender
}

/** Refusals that are told as one. */
export interface Alike {
  sender: RefusedSender
  /** What they have in common. */
  likeness: string
  /** The last of them, and how many they are. */
  report: EdgeRefusal & { count: number }
}

const likenessOf = ({ refusal, sender: { accountId, deviceId } }: Concern) => {
  const { reason, method, username, address, number } = refusal
  return JSON.stringify([accountId, deviceId, reason, method, username, address, number])
}

/** All that are alike together. */
export const gathered = (concerns: readonly Concern[]): Alike[] =>
  Array.from(Map.groupBy(concerns, likenessOf), ([likeness, alike]) => {
    const last = alike.at(-1)
    return last && { sender: last.sender, likeness, report: { ...last.refusal, count: alike.length } }
  }).filter((one) => one !== undefined)

/** For admins of the account and of its reseller. */
export const emergencyAlert = (
  { account_id: accountId, number, caller_id_number: caller }: EdgeEmergency,
  name: string,
  resellerId: string,
): Alert => ({
  title: 'Emergency call',
  message: `${name} has called the emergency number ${number}${caller ? ` from ${caller}` : ''}.`,
  category: 'emergency_call',
  level: 'critical',
  from: [{ type: 'account', value: accountId }],
  to: [...new Set([accountId, resellerId])].map((id) => ({ type: id, value: 'admins' })),
})
