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
  /** Absent when any user agent will do. */
  pattern?: Pattern | typeof nothing
}

// A pattern that cannot be compiled matches nothing: the list denies rather than opens.
const nothing = { matches: () => false }

const prepare = ({ cidrs, user_agent: text }: AccessList): ReadyList => ({
  cidrs: cidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
  ...(text === undefined ? {} : { pattern: compilePattern(text).pattern ?? nothing }),
})

const readyLists = new WeakMap<AccessList, ReadyList>()

/** A stored list is asked for each packet and read once: reading its pattern costs more than all the rest. */
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
 * Whether a packet may pass: realm and device lists are independent and both must allow. Only a device's list tests
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
