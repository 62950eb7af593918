import type { Json } from '../../../src/lib/json.ts'
import { packetLimits } from '../accounts/rules.ts'
import {
  type LeavingDocument,
  type LeavingFile,
  type OwnRecord,
  plainDocument,
  present,
} from '../document.ts'

/**
 * A user. What their clients send to sign in cannot be had: only what is derived of it is stored. They come without a
 * password, and have to choose one.
 */
export const leavingUser = (record: OwnRecord, photo: LeavingFile | undefined): LeavingDocument[] => [
  plainDocument('user', record, {
    more: present({
      // There nobody signs in whose document does not say that they may.
      enabled: record.doc.enabled !== false,
      require_password_update: true,
      pvt_password_timestamp: record.hidden.passwordChanged,
    }),
    files: photo ? [{ ...photo, name: 'photo' }] : [],
  }),
]

/** A phone with what it signs in with, in clear. */
export const leavingDevice = (record: OwnRecord): LeavingDocument[] => {
  const { rate_limits: limits, ...doc } = record.doc
  return [plainDocument('device', { ...record, doc }), ...packetLimits(record, 'devices', limits)]
}

/** A brand with its files, whose names say what they are. */
export const leavingBrand = (record: OwnRecord, files: readonly LeavingFile[]): LeavingDocument[] => [
  plainDocument('whitelabel', record, { id: 'whitelabel', files }),
]

/** An address that mail comes from; its owner confirms it anew. */
export const leavingSender = (record: OwnRecord): LeavingDocument[] => [
  plainDocument('whitelabel_email', record, { more: { verified: false } }),
]

const bodyNames = [
  ['html', 'template.text/html', 'text/html'],
  ['text', 'template.text/plain', 'text/plain'],
] as const

/** A notice with the bodies that were written for it. */
export const leavingNotice = (record: OwnRecord): LeavingDocument => {
  const files = bodyNames.flatMap(([key, name, contentType]) => {
    const body = record.hidden[key]
    return typeof body === 'string' ? [{ name, contentType, bytes: Buffer.from(body) }] : []
  })
  return plainDocument('notification', record, { id: `notification.${record.id}`, files })
}

/** Who provides a second factor. */
export const leavingProvider = (record: OwnRecord): LeavingDocument[] => [
  plainDocument('provider', record, { more: { pvt_provider_type: 'multi_factor' } }),
]

export const leavingRestrictions = (record: OwnRecord): LeavingDocument[] => [
  plainDocument('token_restrictions', record, { id: 'token_restrictions' }),
]

/** The apps that an account has, and those it hides. */
export const leavingApps = (record: OwnRecord): LeavingDocument[] => {
  const { apps, blacklist } = record.doc
  return [plainDocument('apps_store', { ...record, doc: { apps, blacklist } }, { id: 'apps_store' })]
}

/** Dollars there are units where a whole number is written. */
const amounts: ReadonlySet<string> = new Set(['max_postpay_amount', 'reserve_amount'])

/** What an account wants of calls, and what its operator says of it: one document. */
export const leavingLimits = (
  record: OwnRecord,
  { wishes, operator }: { wishes: Json; operator: Json },
  unitsOf: (dollars: number) => number,
): LeavingDocument[] => {
  const hidden = Object.entries(operator).map(([key, value]) => [
    `pvt_${key}`,
    amounts.has(key) && typeof value === 'number' ? unitsOf(value) : value,
  ])
  return [
    plainDocument('limits', { ...record, doc: wishes }, { id: 'limits', more: Object.fromEntries(hidden) }),
  ]
}

/** Whether somebody could sign in here, and cannot there before they have a new password. */
export const isWithoutPassword = ({ hidden }: OwnRecord) =>
  Array.isArray(hidden.signInKeys) && hidden.signInKeys.length > 0
