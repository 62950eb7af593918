import { isDeepStrictEqual } from 'node:util'
import { type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { adminCallFields, adminFieldProblems } from '../../../auth/policies.ts'
import { accessListProblems } from '../../../lib/access-list.ts'
import { parseAddress } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { failure, forbidden, type Problems } from '../../../lib/failure.ts'
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

const trimmed = (flag: unknown) => (typeof flag === 'string' ? flag.trim() : flag)

const trimmedList = (flags: unknown) => (Array.isArray(flags) ? flags.map(trimmed) : [])

const tidyFlags = (flags: unknown) => {
  if (!isObject(flags)) return trimmedList(flags)
  const { static: fixed, dynamic } = flags
  return {
    ...flags,
    ...(fixed === undefined ? {} : { static: trimmedList(fixed) }),
    ...(dynamic === undefined ? {} : { dynamic: trimmedList(dynamic) }),
  }
}

const tidyProvision = (provision: Json): Json =>
  typeof provision.endpoint_brand === 'string'
    ? { ...provision, endpoint_brand: provision.endpoint_brand.toLowerCase() }
    : provision

const tidySip = (sip: Json): Json =>
  typeof sip.realm === 'string' ? { ...sip, realm: sip.realm.replaceAll(' ', '') } : sip

/** Converts a request to the form that is stored and compared. */
export const tidy = (data: Json): Json => {
  const tidied: Json = { ...data }
  if (tidied.mac_address === '') delete tidied.mac_address
  if (typeof tidied.mac_address === 'string') tidied.mac_address = plainMac(tidied.mac_address)
  if (tidied.outbound_flags !== undefined) tidied.outbound_flags = tidyFlags(tidied.outbound_flags)
  if (isObject(tidied.provision)) tidied.provision = tidyProvision(tidied.provision)
  if (isObject(tidied.sip)) tidied.sip = tidySip(tidied.sip)
  return tidied
}

const withoutRealm = ({ realm: _, ...sip }: NonNullable<Device['sip']>) => sip

const isSameRealm = (realm: string | undefined, other: string) => realm?.toLowerCase() === other.toLowerCase()

/**
 * What is stored for a request. The account's own realm is not stored, so that the device follows if it
 * changes. The type is fixed: a replacement without it does not change it.
 */
export const storedHalf = (data: Json, accountRealm: string, before: DeviceDoc | undefined): DeviceDoc => {
  const { sync: _, ...doc } = storedPart<DeviceDoc>(data, deviceShape)
  if (before?.device_type !== undefined) doc.device_type ??= before.device_type
  if (doc.sip && isSameRealm(doc.sip.realm, accountRealm)) doc.sip = withoutRealm(doc.sip)
  return doc
}

interface SipIdentity {
  username: string
  realm: string | undefined
}

export const sipIdentityOf = ({ sip }: Partial<DeviceDoc>): SipIdentity | undefined =>
  sip?.username !== undefined && (sip.method ?? 'password') === 'password'
    ? { username: sip.username, realm: sip.realm }
    : undefined

export const sipAddressOf = ({ sip }: Partial<DeviceDoc>) => (sip?.method === 'ip' ? sip.ip : undefined)

const isSipUri = (text: string) => /^sips?:|@/i.test(text)

export const destinationsOf = ({ sip = {} }: Partial<DeviceDoc>): WrittenDestination[] => {
  const { method, ip, route, proxy, forward, static_route: staticRoute, static_invite: staticInvite } = sip
  const uris = { route, static_route: staticRoute, static_invite: staticInvite }
  const hosts = { proxy, forward, ...(method === 'ip' && ip && parseAddress(ip) ? { ip } : {}) }
  return [
    // A static route may be only a number or a user.
    ...Object.entries(uris)
      .filter(([field, text]) => text && (field === 'route' || isSipUri(text)))
      .map(([field, text]) => ({ path: `sip.${field}`, form: 'uri' as const, text: text ?? '' })),
    ...Object.entries(hosts)
      .filter(([, text]) => text)
      .map(([field, text]) => ({
        path: `sip.${field}`,
        form: isSipUri(text ?? '') ? ('uri' as const) : ('host' as const),
        text: text ?? '',
      })),
  ]
}

export const mobileNumberOf = ({ mobile }: Partial<DeviceDoc>) =>
  mobile?.mdn ? normalizeNumber(mobile.mdn) : undefined

const requiredMessage = 'Field is required but missing'

const macProblems = ({ mac_address: mac }: Partial<DeviceDoc>): Problems => {
  if (mac === undefined || isMac(mac)) return {}
  const message = 'Must be a MAC address of 12 hexadecimal digits'
  return { mac_address: { wrong_format: { message, format: 'mac', value: mac } } }
}

const addressProblems = ({ sip }: Partial<DeviceDoc>): Problems => {
  if (sip?.method !== 'ip') return {}
  if (sip.ip === undefined) return { 'sip.ip': { required: { message: requiredMessage, value: 'ip' } } }
  if (!sip.ip.includes(':') && parseAddress(sip.ip)) return {}
  const message = 'Must be a valid IPv4 RFC 791'
  return { 'sip.ip': { type: { message, target: 'ipv4', cause: sip.ip, value: sip.ip } } }
}

const forwardingProblems = (data: Partial<DeviceDoc>): Problems => {
  const problems: Problems = {}
  for (const field of ['call_forward', 'call_failover'] as const) {
    const forwarding = data[field]
    if (!isEnabled(forwarding) || forwarding?.number) continue
    problems[`${field}.number`] = { required: { message: requiredMessage, value: 'number' } }
  }
  return problems
}

const typeProblems = (type: string, before: DeviceDoc): Problems =>
  type === (before.device_type ?? standardType)
    ? {}
    : { device_type: { invalid: { message: 'The type of a device cannot be changed', cause: type } } }

const numberProblems = (data: Partial<DeviceDoc>, before: DeviceDoc): Problems => {
  const had = mobileNumberOf(before)
  if (had === undefined || mobileNumberOf(data) === had) return {}
  const message = 'The number of a mobile device cannot be changed'
  return { 'mobile.mdn': { invalid: { message, cause: data.mobile?.mdn } } }
}

const mobileProblems = (data: Partial<DeviceDoc>, before: DeviceDoc | undefined, type: string): Problems => {
  const number = mobileNumberOf(data)
  if (type === 'mobile')
    return number === undefined
      ? { 'mobile.mdn': { required: { message: requiredMessage, value: 'mdn' } } }
      : {}
  if (number === undefined || number === (before && mobileNumberOf(before))) return {}
  const message = 'Only devices of type `mobile` have a mobile number'
  return { 'mobile.mdn': { invalid: { message, cause: data.mobile?.mdn } } }
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
