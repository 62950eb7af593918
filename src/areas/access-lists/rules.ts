import { type Address, type Cidr, isInCidr, parseCidr } from '../../lib/cidr.ts'
import type { Problems } from '../../lib/failure.ts'
import { compilePattern, type Pattern } from '../../lib/pattern.ts'
import type { AccessList } from './schema.ts'

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

const isIPv4Cidr = (text: string) => !text.includes(':') && parseCidr(text) !== undefined

const cidrProblems = (cidrs: readonly string[]): Problems => {
  const problems: Problems = {}
  for (const [index, value] of cidrs.entries()) {
    if (isIPv4Cidr(value)) continue
    const message = 'Must be an IPv4 subnet in CIDR notation, for example 192.0.2.0/24'
    problems[`cidrs.${index}`] = { wrong_format: { message, format: 'ipv4-cidr', value } }
  }
  return problems
}

const userAgentProblems = (value: string): Problems => {
  const { problem } = compilePattern(value)
  if (problem === undefined) return {}
  return { user_agent: { wrong_format: { message: `The pattern ${problem}`, format: 'regex', value } } }
}

/** What the schema cannot say, of the keys that passed it. */
export const accessListProblems = ({ cidrs, user_agent }: Partial<AccessList>): Problems => ({
  ...(cidrs && cidrProblems(cidrs)),
  ...(user_agent !== undefined && userAgentProblems(user_agent)),
})

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
