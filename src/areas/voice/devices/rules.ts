import { isDeepStrictEqual } from 'node:util'
import { type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { adminCallFields, adminFieldProblems } from '../../../auth/policies.ts'
import { accessListProblems } from '../../../lib/access-list.ts'
import { parseAddress } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import {
  failure,
  forbidden,
  joinProblems,
  type Problems,
  requiredField,
  wrongFormat,
} from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { deviceLimitProblems } from '../../../lib/packet-limits.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import type { WrittenDestination } from '../resources/hosts.rules.ts'
import { type Device, deviceShape } from './schema.ts'

export type DeviceDoc = Device & { readonly [custom: string]: unknown }

export const standardType = 'sip_device'

type Doc = Readonly<Record<string, unknown>>

// Features of endpoints as list rows show them; also of users.

export const isEnabled = (value: unknown) => memberOf(value, 'enabled') === true

export const hasCallForward = ({ call_forward: forward }: Doc) =>
  isEnabled(forward) || Object.values(forward ?? {}).some(isEnabled)

export const hasExternalNumber = ({ caller_id: callerId }: Doc) =>
  Boolean(memberOf(callerId, 'external', 'number'))

export const hasMusicOnHold = ({ music_on_hold: music }: Doc) => Boolean(memberOf(music, 'media_id'))

/** A MAC address as 12 digits. Other texts stay as they are and are rejected later. */
const plainMac = (text: string) => {
  const digits = text.toLowerCase().replace(/[\s:.-]/g, '')
  return isMac(digits) ? digits : text
}

const isMac = (text: string) => /^[0-9a-f]{12}$/.test(text)

const trimmedList = (flags: unknown) =>
  Array.isArray(flags) ? flags.map((flag) => (typeof flag === 'string' ? flag.trim() : flag)) : []

const tidyFlags = (flags: unknown) => {
  if (!isObject(flags)) return trimmedList(flags)
  const lists = Object.entries(flags).map(([key, value]) =>
    key === 'static' || key === 'dynamic' ? [key, trimmedList(value)] : [key, value],
  )
  return Object.fromEntries(lists)
}

/** Converts a request to the form that is stored and compared. */
export const tidy = (data: Json): Json => {
  const tidied: Json = { ...data }
  const { mac_address: mac, outbound_flags: flags, provision, sip } = data
  if (mac === '') delete tidied.mac_address
  else if (typeof mac === 'string') tidied.mac_address = plainMac(mac)
  if (flags !== undefined) tidied.outbound_flags = tidyFlags(flags)
  if (isObject(provision) && typeof provision.endpoint_brand === 'string')
    tidied.provision = { ...provision, endpoint_brand: provision.endpoint_brand.toLowerCase() }
  if (isObject(sip) && typeof sip.realm === 'string')
    tidied.sip = { ...sip, realm: sip.realm.replaceAll(' ', '') }
  return tidied
}

/**
 * What is stored for a request. The account's own realm is not stored, so that the device follows if it changes. The type is
 * fixed: a replacement without it does not change it.
 */
export const storedDevice = (data: Json, accountRealm: string, before: DeviceDoc | undefined): DeviceDoc => {
  const { sync: _, ...doc } = storedPart<DeviceDoc>(data, deviceShape)
  if (before?.device_type !== undefined) doc.device_type ??= before.device_type
  const { realm, ...sip } = doc.sip ?? {}
  if (realm?.toLowerCase() === accountRealm.toLowerCase()) doc.sip = sip
  return doc
}

/** `realm`: only if it is not the account's. */
export const sipIdentityOf = ({ sip }: Partial<DeviceDoc>) =>
  sip?.username !== undefined && (sip.method ?? 'password') === 'password'
    ? { username: sip.username, realm: sip.realm }
    : undefined

export const sipAddressOf = ({ sip }: Partial<DeviceDoc>) => (sip?.method === 'ip' ? sip.ip : undefined)

const isSipUri = (text: string) => /^sips?:|@/i.test(text)

export const destinationsOf = ({ sip = {} }: Partial<DeviceDoc>): WrittenDestination[] => {
  const { method, ip, route, proxy, forward, static_route, static_invite } = sip
  const fields = {
    route,
    // A static route may be only a number or a user.
    static_route: static_route && isSipUri(static_route) ? static_route : undefined,
    static_invite: static_invite && isSipUri(static_invite) ? static_invite : undefined,
    proxy,
    forward,
    ip: method === 'ip' && ip && parseAddress(ip) ? ip : undefined,
  }
  return Object.entries(fields).flatMap(([field, text]): WrittenDestination[] =>
    text ? [{ path: `sip.${field}`, form: field === 'route' || isSipUri(text) ? 'uri' : 'host', text }] : [],
  )
}

export const mobileNumberOf = ({ mobile }: Partial<DeviceDoc>) =>
  mobile?.mdn ? normalizeNumber(mobile.mdn) : undefined

const macProblems = ({ mac_address: mac }: Partial<DeviceDoc>): Problems => {
  if (mac === undefined || isMac(mac)) return {}
  return wrongFormat('mac_address', 'mac', 'Must be a MAC address of 12 hexadecimal digits', mac)
}

const addressProblems = ({ sip }: Partial<DeviceDoc>): Problems => {
  if (sip?.method !== 'ip') return {}
  const { ip } = sip
  if (ip === undefined) return requiredField('sip.ip', 'ip')
  if (!ip.includes(':') && parseAddress(ip)) return {}
  const message = 'Must be a valid IPv4 RFC 791'
  return { 'sip.ip': { type: { message, target: 'ipv4', cause: ip, value: ip } } }
}

const forwardingProblems = (data: Partial<DeviceDoc>): Problems =>
  joinProblems(
    ...(['call_forward', 'call_failover'] as const).map((field) =>
      isEnabled(data[field]) && !data[field]?.number ? requiredField(`${field}.number`, 'number') : {},
    ),
  )

const invalidValue = (path: string, message: string, cause: unknown): Problems => ({
  [path]: { invalid: { message, cause } },
})

const typeProblems = (type: string, before: DeviceDoc): Problems =>
  type === (before.device_type ?? standardType)
    ? {}
    : invalidValue('device_type', 'The type of a device cannot be changed', type)

const numberProblems = (data: Partial<DeviceDoc>, before: DeviceDoc): Problems => {
  const had = mobileNumberOf(before)
  if (had === undefined || mobileNumberOf(data) === had) return {}
  return invalidValue('mobile.mdn', 'The number of a mobile device cannot be changed', data.mobile?.mdn)
}

const mobileProblems = (data: Partial<DeviceDoc>, before: DeviceDoc | undefined, type: string): Problems => {
  const number = mobileNumberOf(data)
  if (type === 'mobile') return number === undefined ? requiredField('mobile.mdn', 'mdn') : {}
  if (number === undefined || number === (before && mobileNumberOf(before))) return {}
  return invalidValue('mobile.mdn', 'Only devices of type `mobile` have a mobile number', data.mobile?.mdn)
}

/** Problems of access lists and rate limits that the schema does not find. */
const edgeProblems = (
  { access_lists: lists, rate_limits: limits }: Partial<DeviceDoc>,
  before: DeviceDoc | undefined,
): Problems => ({
  ...(lists && accessListProblems(lists, 'access_lists.')),
  // Limits that did not change are not checked again.
  ...(limits &&
    !isDeepStrictEqual(limits, before?.rate_limits) &&
    deviceLimitProblems(limits, 'rate_limits.')),
})

/** Rules that do not depend on other records. `mayRetype`: the operator may change what is fixed for others. */
export const deviceProblems = (
  data: Partial<DeviceDoc>,
  before: DeviceDoc | undefined,
  actor: { mayRetype: boolean },
): Problems => {
  const type = data.device_type ?? before?.device_type ?? standardType
  return {
    ...macProblems(data),
    ...addressProblems(data),
    ...forwardingProblems(data),
    ...mobileProblems(data, before, type),
    ...edgeProblems(data, before),
    ...(before && !actor.mayRetype ? { ...typeProblems(type, before), ...numberProblems(data, before) } : {}),
  }
}

/** Ordinary users change and restart their own devices. */
export const assertMayChange = (actor: Pick<Actor, 'user'>, { doc }: { doc: DeviceDoc }) => {
  if (speaksForAccount(actor) || doc.owner_id === actor.user?.id) return
  throw failure(forbidden, { cause: 'Only an admin may change or use the device of another user' })
}

// The owner and the users who are signed in decide which restrictions apply to calls.
const adminFields = [
  ...adminCallFields,
  'access_lists',
  'enabled',
  'hotdesk',
  'mobile.mdn',
  'outbound_flags',
  'owner_id',
  'rate_limits',
]

/** Only admins change restrictions, also of a device that its owner may change. */
export const restrictionProblems = (
  actor: Pick<Actor, 'user'>,
  data: Partial<DeviceDoc>,
  before: DeviceDoc,
) => adminFieldProblems(actor, adminFields, data, before)

/** Whether a change ends the device's registration. */
export const endsRegistration = (before: DeviceDoc, after: DeviceDoc) =>
  before.sip?.password !== after.sip?.password ||
  before.sip?.username !== after.sip?.username ||
  before.owner_id !== after.owner_id ||
  before.enabled !== after.enabled

export type Restart = 'reboot' | 'reload'

/** The event of the NOTIFY after which a phone fetches its settings. */
export const syncEventOf = ({ provision }: Partial<DeviceDoc>, restart: Restart) => {
  const event = provision?.check_sync_event || 'check-sync'
  const wish =
    restart === 'reboot'
      ? (provision?.check_sync_reboot ?? 'reboot=true')
      : (provision?.check_sync_reload ?? 'reboot=false')
  return wish === '' ? event : `${event};${wish}`
}

const neverRegister = new Set(['application', 'cellphone', 'sip_url', 'sip_uri', 'landline', 'smartphone'])

export const isRegistrable = (type = standardType) => !neverRegister.has(type)

export const featuresOf = (doc: DeviceDoc): string[] => {
  const features: [string, boolean][] = [
    ['hotdesk', Object.keys(doc.hotdesk?.users ?? {}).length > 0],
    ['call_forward', hasCallForward(doc)],
    ['call_forward_failover', isEnabled(doc.call_failover)],
    ['caller_id', hasExternalNumber(doc)],
    ['music_on_hold', hasMusicOnHold(doc)],
    ['do_not_disturb', isEnabled(doc.do_not_disturb)],
  ]
  return features.filter(([, on]) => on).map(([name]) => name)
}
