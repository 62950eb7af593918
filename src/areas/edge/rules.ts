import { type Address, parseAddress } from '../../lib/cidr.ts'
import { hasProblems, invalid, type Problems } from '../../lib/failure.ts'

/** Where a packet says it comes from. */
export interface EdgeQuestion {
  realm: string
  username: string | undefined
  /** Where it really comes from, when the edge wants a decision. */
  address: Address | undefined
  userAgent: string | undefined
  /** Whether the edge holds digests against what it is told. */
  withCredentials: boolean
}

/** An empty parameter counts as one that was not given. */
const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

/** What an edge asks, or a 400. */
export const questionIn = (query: URLSearchParams): EdgeQuestion => {
  const realm = given(query, 'realm')
  const text = given(query, 'address')
  const address = text === undefined ? undefined : parseAddress(text)
  const problems: Problems = {
    ...(realm === undefined
      ? { realm: { required: { message: 'Field is required but missing', value: 'realm' } } }
      : {}),
    ...(text !== undefined && address === undefined
      ? { address: { wrong_format: { message: 'Must be an IP address', format: 'ip', value: text } } }
      : {}),
  }
  if (realm === undefined || hasProblems(problems)) throw invalid(problems)
  return {
    realm,
    username: given(query, 'username'),
    address,
    userAgent: given(query, 'user_agent'),
    withCredentials: query.get('credentials') === 'true',
  }
}
