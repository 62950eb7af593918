// Who calls or is called, and what the devices, users and accounts behind it say: the most special first.
import { isE164 } from '../../../lib/e164.ts'
import { present } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { bracketed, isSipHost, isSipUser } from '../../../lib/sip-host.ts'
import type { AccountFacts, Asking, DeviceFacts, UserFacts } from './facts.ts'

/** Somebody of an account: a device, the user behind it, or only the account. */
export interface Party {
  account: AccountFacts
  device?: DeviceFacts
  user?: UserFacts
}

export interface CallerId {
  name?: string
  number?: string
  privacy?: string
}

/** The presence id of a device, else of its user, as user@host. One that is not part of a SIP address is ignored. */
export const presenceOf = ({ device, user }: Party, realm: string): string | undefined => {
  for (const doc of [device?.doc, user?.doc]) {
    const [name = '', host = realm, ...more] = (doc && textAt(doc, 'presence_id')?.split('@')) ?? []
    if (isSipUser(name) && isSipHost(host) && more.length === 0) return `${name}@${bracketed(host)}`
  }
  return undefined
}

/** Users who have signed in at a device have it instead of its owner. */
const signedInAt = (doc: object): string[] => {
  const users = memberOf(doc, 'hotdesk', 'users')
  return typeof users === 'object' && users !== null ? Object.keys(users) : []
}

/** Who is behind a device: the first user who has signed in there, else its owner. */
export const holderOf = ({ doc }: DeviceFacts) => signedInAt(doc)[0] ?? doc.owner_id

export const partyAt = ({ ask }: Asking, account: AccountFacts, device: DeviceFacts): Party => {
  const userId = holderOf(device)
  const user = userId === undefined ? undefined : ask('user', account.id, userId)
  return { account, device, ...(user ? { user } : {}) }
}

const layersOf = ({ account, device, user }: Party): object[] =>
  [device?.doc, user?.doc, account.doc].filter((doc) => doc !== undefined)

const textAt = (doc: object, ...path: string[]) => {
  const value = memberOf(doc, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

const firstText = (party: Party, ...path: string[]) => {
  for (const doc of layersOf(party)) {
    const found = textAt(doc, ...path)
    if (found !== undefined) return found
  }
  return undefined
}

export const idOf = (name: string | undefined, number: string | undefined): CallerId =>
  present({ name, number })

const ownName = ({ device, user }: Party) =>
  user ? `${user.doc.first_name} ${user.doc.last_name}` : device?.doc.name

/** Shown to people of the same account. `said`: the number that the phone gives itself. */
export const internalId = (party: Party, said: string | undefined): CallerId =>
  idOf(
    firstText(party, 'caller_id', 'internal', 'name') ?? ownName(party),
    firstText(party, 'caller_id', 'internal', 'number') ?? said,
  )

const privacies: ReadonlySet<string> = new Set(['full', 'name', 'number'])

/** Shown to everybody else with the number, and whether that is to be hidden on the way. */
export const externalId = (party: Party, number: string): CallerId => {
  const privacy = firstText(party, 'caller_id_options', 'outbound_privacy')
  return {
    ...idOf(firstText(party, 'caller_id', 'external', 'name'), number),
    ...(privacy !== undefined && privacies.has(privacy) ? { privacy } : {}),
  }
}

/** The name that is shown to emergency services, from whom nothing is hidden. */
export const emergencyName = (party: Party) =>
  firstText(party, 'caller_id', 'emergency', 'name') ?? firstText(party, 'caller_id', 'external', 'name')

/** The numbers that device, user and account want to show, the most special first. */
export const numbersFor = (party: Party, kind: 'external' | 'emergency') =>
  layersOf(party).flatMap((doc) => textAt(doc, 'caller_id', kind, 'number') ?? [])

/** Whether an E.164 number is in a list of numbers and blocks (`+4930123*`). Any other text is in none. */
export const isAllowed = (number: string, allowed: readonly string[]) =>
  isE164(number) &&
  allowed.some((one) => (one.endsWith('*') ? number.startsWith(one.slice(0, -1)) : number === one))

/** A caller who does not want to be shown. */
export const hiddenIf = (isWithheld: boolean | undefined, callerId: CallerId): CallerId =>
  isWithheld ? { ...callerId, privacy: 'full' } : callerId

/** Whether somebody may not call numbers of a kind. */
export const isRestricted = (party: Party, classification: string | undefined) =>
  classification !== undefined &&
  layersOf(party).some((doc) => memberOf(doc, 'call_restriction', classification, 'action') === 'deny')

const isUndisturbed = (party: Party) =>
  layersOf(party).some((doc) => memberOf(doc, 'do_not_disturb', 'enabled') === true)

/** The dial plans of somebody, the most special first. */
export const dialPlansOf = (party: Party) => layersOf(party).map((doc) => memberOf(doc, 'dial_plan'))

const textsIn = (value: unknown) =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/** Marks by which carriers are chosen. */
export const outboundFlags = ({ device }: Party): readonly string[] => {
  const flags = memberOf(device?.doc, 'outbound_flags')
  return textsIn(Array.isArray(flags) ? flags : memberOf(flags, 'static'))
}

const isOff = (doc: object | undefined) => memberOf(doc, 'enabled') === false

/** What of somebody is switched off, the widest first. */
export const disabledPart = ({ account, device, user }: Party) => {
  if (account.isDisabled) return 'account_disabled'
  if (isOff(user?.doc)) return 'user_disabled'
  return isOff(device?.doc) ? 'device_disabled' : undefined
}

/** Why the phones of a party do not ring. */
export const unreachableReason = (party: Party) =>
  disabledPart(party) ?? (isUndisturbed(party) ? 'do_not_disturb' : undefined)
