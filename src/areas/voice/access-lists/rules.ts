import type { AccessList } from '../../../lib/access-list.ts'
import { type Address, type Cidr, isInCidr, parseCidr } from '../../../lib/cidr.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'

type AccessReason =
  | 'no_access_list'
  | 'allowed_by_access_lists'
  | 'realm_denies_address'
  | 'device_denies_address'
  | 'device_denies_user_agent'

interface AccessDecision {
  allowed: boolean
  reason: AccessReason
}

interface ReadyList {
  cidrs: readonly Cidr[]
  /** Absent: any user agent. */
  pattern?: Pattern | typeof nothing
}

// An invalid pattern matches nothing, so the list denies.
const nothing = { matches: () => false }

const prepare = ({ cidrs, user_agent: text }: AccessList): ReadyList => ({
  cidrs: cidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
  ...(text === undefined ? {} : { pattern: compilePattern(text).pattern ?? nothing }),
})

const readyLists = new WeakMap<AccessList, ReadyList>()

/**
 * Lists are compiled once: compiling the pattern costs more than the whole decision, which edges request per
 * packet.
 */
const ready = (list: AccessList) => {
  const known = readyLists.get(list) ?? prepare(list)
  readyLists.set(list, known)
  return known
}

const allowsAddress = (list: AccessList, address: Address) => {
  const isListed = ready(list).cidrs.some((cidr) => isInCidr(address, cidr))
  return list.order === 'allow,deny' ? isListed : !isListed
}

const allowsUserAgent = (list: AccessList, userAgent: string) =>
  ready(list).pattern?.matches(userAgent) ?? true

/**
 * Whether a packet may pass. The lists of realm and device must both allow it. Only the list of a device tests
 * the user agent; a packet without one does not match.
 */
export const decideAccess = (question: {
  realmList: AccessList | undefined
  deviceList: AccessList | undefined
  address: Address
  userAgent: string | undefined
}): AccessDecision => {
  const { realmList, deviceList, address, userAgent = '' } = question
  if (!realmList && !deviceList) return { allowed: true, reason: 'no_access_list' }
  if (realmList && !allowsAddress(realmList, address))
    return { allowed: false, reason: 'realm_denies_address' }
  if (deviceList && !allowsUserAgent(deviceList, userAgent)) {
    return { allowed: false, reason: 'device_denies_user_agent' }
  }
  if (deviceList && !allowsAddress(deviceList, address)) {
    return { allowed: false, reason: 'device_denies_address' }
  }
  return { allowed: true, reason: 'allowed_by_access_lists' }
}
