import type { AccessList } from '../../../lib/access-list.ts'
import { type Address, isInCidr, parseCidr } from '../../../lib/cidr.ts'
import { oncePer } from '../../../lib/once-per.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'

// An invalid pattern matches nothing, so the list denies.
const matchesNothing: Pick<Pattern, 'matches'> = { matches: () => false }

// Compiling the pattern costs more than the whole decision, which edges request per packet.
const compiled = oncePer(({ cidrs, user_agent: text }: AccessList) => ({
  cidrs: cidrs.flatMap((cidr) => parseCidr(cidr) ?? []),
  /** Undefined: any user agent. */
  pattern: text === undefined ? undefined : (compilePattern(text).pattern ?? matchesNothing),
}))

const allowsAddress = (list: AccessList, address: Address) => {
  const isListed = compiled(list).cidrs.some((cidr) => isInCidr(address, cidr))
  return list.order === 'allow,deny' ? isListed : !isListed
}

/**
 * Whether a packet may pass. The lists of realm and device must both allow it. Only the list of a device tests the user
 * agent; a packet without one does not match.
 */
export const decideAccess = (question: {
  realmList: AccessList | undefined
  deviceList: AccessList | undefined
  address: Address
  userAgent: string | undefined
}) => {
  const { realmList, deviceList, address, userAgent = '' } = question
  const refused = (reason: `${'realm' | 'device'}_denies_${'address' | 'user_agent'}`) => ({
    allowed: false,
    reason,
  })
  if (!realmList && !deviceList) return { allowed: true, reason: 'no_access_list' }
  if (realmList && !allowsAddress(realmList, address)) return refused('realm_denies_address')
  if (deviceList && compiled(deviceList).pattern?.matches(userAgent) === false)
    return refused('device_denies_user_agent')
  if (deviceList && !allowsAddress(deviceList, address)) return refused('device_denies_address')
  return { allowed: true, reason: 'allowed_by_access_lists' }
}
