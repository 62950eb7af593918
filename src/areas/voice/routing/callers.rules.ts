// Callers and called parties, with the documents of device, user and account. The most specific one comes
// first.
import { isE164 } from '../../../lib/e164.ts'
import { present } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { bracketed, isSipHost, isSipUser } from '../../../lib/sip-host.ts'
import type { AccountFacts, Asking, DeviceFacts, UserFacts } from './facts.ts'

/** A device, its user, or only the account. */
export interface CallParty {
  account: AccountFacts
  device?: DeviceFacts
  user?: UserFacts
}

export interface CallerId {
  name?: string
  number?: string
  privacy?: string
}

/** The presence ID as user@host. One that cannot be part of a SIP address is ignored. */
export const presenceOf = ({ device, user }: CallParty, realm: string): string | undefined => {
  for (const doc of [device?.doc, user?.doc]) {
    const [name = '', host = realm, ...more] = (doc && textAt(doc, 'presence_id')?.split('@')) ?? []
    if (isSipUser(name) && isSipHost(host) && more.length === 0) return `${name}@${bracketed(host)}`
  }
  return undefined
}

/** Users who are signed in at a device have it instead of its owner. */
const signedInAt = (doc: object): string[] => {
  const users = memberOf(doc, 'hotdesk', 'users')
  return typeof users === 'object' && users !== null ? Object.keys(users) : []
}

/** The first user who is signed in, else the owner. */
export const holderOf = ({ doc }: DeviceFacts) => signedInAt(doc)[0] ?? doc.owner_id

export const partyAt = ({ ask }: Asking, account: AccountFacts, device: DeviceFacts): CallParty => {
  const userId = holderOf(device)
  const user = userId === undefined ? undefined : ask('user', account.id, userId)
  return { account, device, ...(user ? { user } : {}) }
}

const layersOf = ({ account, device, user }: CallParty): object[] =>
  [device?.doc, user?.doc, account.doc].filter((doc) => doc !== undefined)

const textAt = (doc: object, ...path: string[]) => {
  const value = memberOf(doc, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

const textsAt = (party: CallParty, ...path: string[]) =>
  layersOf(party).flatMap((doc) => textAt(doc, ...path) ?? [])

const firstText = (party: CallParty, ...path: string[]) => textsAt(party, ...path)[0]

export const callerIdFrom = (name: string | undefined, number: string | undefined): CallerId =>
  present({ name, number })

const ownName = ({ device, user }: CallParty) =>
  user ? `${user.doc.first_name} ${user.doc.last_name}` : device?.doc.name

/** The caller ID within the account. `said`: the number that the phone states. */
export const internalId = (party: CallParty, said: string | undefined): CallerId =>
  callerIdFrom(
    firstText(party, 'caller_id', 'internal', 'name') ?? ownName(party),
    firstText(party, 'caller_id', 'internal', 'number') ?? said,
  )

const privacies: ReadonlySet<string> = new Set(['full', 'name', 'number'])

/** The caller ID outside, with its privacy. */
export const externalId = (party: CallParty, number: string): CallerId => {
  const privacy = firstText(party, 'caller_id_options', 'outbound_privacy')
  return {
    ...callerIdFrom(firstText(party, 'caller_id', 'external', 'name'), number),
    ...(privacy !== undefined && privacies.has(privacy) ? { privacy } : {}),
  }
}

/** Emergency services see the name in any case. */
export const emergencyName = (party: CallParty) =>
  firstText(party, 'caller_id', 'emergency', 'name') ?? firstText(party, 'caller_id', 'external', 'name')

/** The numbers that device, user and account want to show. */
export const numbersFor = (party: CallParty, kind: 'external' | 'emergency') =>
  textsAt(party, 'caller_id', kind, 'number')

/** Whether an E.164 number is in a list of numbers and blocks (`+4930123*`). Other texts never are. */
export const isNumberAllowed = (number: string, allowed: readonly string[]) =>
  isE164(number) &&
  allowed.some((one) => (one.endsWith('*') ? number.startsWith(one.slice(0, -1)) : number === one))

export const hiddenIf = (isWithheld: boolean | undefined, callerId: CallerId): CallerId =>
  isWithheld ? { ...callerId, privacy: 'full' } : callerId

export const isRestricted = (party: CallParty, classification: string | undefined) =>
  classification !== undefined &&
  layersOf(party).some((doc) => memberOf(doc, 'call_restriction', classification, 'action') === 'deny')

const isUndisturbed = (party: CallParty) =>
  layersOf(party).some((doc) => memberOf(doc, 'do_not_disturb', 'enabled') === true)

export const dialPlansOf = (party: CallParty) => layersOf(party).map((doc) => memberOf(doc, 'dial_plan'))

/** Flags by which carriers are chosen. */
export const outboundFlags = ({ device }: CallParty): readonly string[] => {
  const flags = memberOf(device?.doc, 'outbound_flags')
  const listed = Array.isArray(flags) ? flags : memberOf(flags, 'static')
  return Array.isArray(listed) ? listed.filter((flag) => typeof flag === 'string') : []
}

const isOff = (doc: object | undefined) => memberOf(doc, 'enabled') === false

/** Disabled records, account first. */
export const disabledPart = ({ account, device, user }: CallParty) => {
  if (account.isDisabled) return 'account_disabled'
  if (isOff(user?.doc)) return 'user_disabled'
  return isOff(device?.doc) ? 'device_disabled' : undefined
}

/** Why the phones of a party do not ring. */
export const unreachableReason = (party: CallParty) =>
  disabledPart(party) ?? (isUndisturbed(party) ? 'do_not_disturb' : undefined)
