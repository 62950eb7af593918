import { type Address, isInCidr, parseCidr } from '../../lib/cidr.ts'
import type { Problems } from '../../lib/failure.ts'
import { compilePattern } from '../../lib/pattern.ts'
import type { AccessList } from './schema.ts'

export type AccessReason =
  | 'no_access_list'
  | 'allowed_by_access_lists'
  | 'realm_denies_address'
  | 'device_denies_address'
  | 'device_denies_user_agent'

export interface AccessDecision {
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

const allowsAddress = (list: AccessList, address: Address) => {
  const isListed = list.cidrs.some((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && isInCidr(address, cidr)
  })
  return list.order === 'allow,deny' ? isListed : !isListed
}

// A pattern that cannot be compiled matches nothing: the list denies rather than opens.
const allowsUserAgent = ({ user_agent: pattern }: AccessList, userAgent: string) =>
  pattern === undefined || compilePattern(pattern).pattern?.matches(userAgent) === true

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
