import { type Address, parseAddress } from '../../../lib/cidr.ts'
import { hasProblems, invalid, type Problems, requiredField, wrongFormat } from '../../../lib/failure.ts'
import { bracketed } from '../../../lib/sip-host.ts'
import type { Party } from '../../../switch/media-switch.ts'
import type { Origin } from '../resources/rules.ts'
import { given } from '../routing/rules.ts'

export interface EdgeQuery {
  realm: string
  username: string | undefined
  /** Present if the edge wants a decision. */
  address: Address | undefined
  userAgent: string | undefined
  /** Whether the edge checks digests. */
  withCredentials: boolean
}

export interface CarrierQuery extends Origin {
  /** The called number. */
  number?: string | undefined
}

const addressIn = (query: URLSearchParams): { address?: Address | undefined; problems: Problems } => {
  const value = given(query, 'address')
  const address = value === undefined ? undefined : parseAddress(value)
  if (value === undefined || address) return { address, problems: {} }
  return { problems: wrongFormat('address', 'ip', 'Must be an IP address', value) }
}

/** Throws a 400 for an invalid query. */
export const edgeQueryIn = (query: URLSearchParams): EdgeQuery => {
  const realm = given(query, 'realm')
  const { address, problems } = addressIn(query)
  if (realm === undefined) throw invalid({ ...requiredField('realm'), ...problems })
  if (hasProblems(problems)) throw invalid(problems)
  return {
    realm,
    username: given(query, 'username'),
    address,
    userAgent: given(query, 'user_agent'),
    withCredentials: query.get('credentials') === 'true',
  }
}

const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535

/** Throws a 400 for an invalid query. */
export const carrierQuestionIn = (query: URLSearchParams): CarrierQuery => {
  const { address, problems } = addressIn(query)
  const port = given(query, 'port')
  if (!given(query, 'address')) Object.assign(problems, requiredField('address'))
  if (port !== undefined && !isPort(port))
    Object.assign(problems, wrongFormat('port', 'port', 'Must be a port', port))
  if (address === undefined || hasProblems(problems)) throw invalid(problems)
  return { address, port: port === undefined ? undefined : Number(port), number: given(query, 'number') }
}

/** Edges remove `|` from names. User names are equal in any case. */
const plain = (name: string | undefined) => name?.replaceAll('|', '').toLowerCase()

const plainHost = (host: string) => bracketed(host.replace(/^\[(.*)\]$/, '$1')).toLowerCase()

/** Whether a server of a trunk may be the one of a call, as far as the edge knows it. */
export const mayBe = (
  { user, name, hosts }: { user: string | undefined; name: string | undefined; hosts: readonly string[] },
  { username, name: known, host }: Readonly<Party['server']> = {},
) => {
  if (username === undefined && known === undefined && host === undefined) return true
  if (user !== undefined && plain(user) === plain(username)) return true
  if (name !== undefined && plain(name) === plain(known)) return true
  return host !== undefined && hosts.some((one) => plainHost(one) === plainHost(host))
}
