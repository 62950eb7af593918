import { type Address, parseAddress } from '../../../lib/cidr.ts'
import { hasProblems, invalid, type Problems } from '../../../lib/failure.ts'
import { bracketed } from '../../../lib/sip-host.ts'
import type { Party } from '../../../switch/media-switch.ts'
import type { Origin } from '../resources/rules.ts'

export interface EdgeQuery {
  realm: string
  username: string | undefined
  /** Present if the edge wants a decision. */
  address: Address | undefined
  userAgent: string | undefined
  /** Whether the edge checks digests. */
  withCredentials: boolean
}

/** An empty parameter counts as one that was not given. */
const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

/** Throws a 400 for an invalid query. */
export const questionIn = (query: URLSearchParams): EdgeQuery => {
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

/** Edges remove `|` from names. User names are equal in any case. */
const plain = (name: string | undefined) => name?.replaceAll('|', '').toLowerCase()

const plainHost = (host: string) => bracketed(host.replace(/^\[(.*)\]$/, '$1')).toLowerCase()

interface Server {
  user: string | undefined
  name: string | undefined
  hosts: readonly string[]
}

/** Whether a server of a trunk may be the one of a call, as far as the edge knows it. */
export const mayBe = (
  { user, name, hosts }: Server,
  { username, name: known, host }: Readonly<Party['server']> = {},
) => {
  if (username === undefined && known === undefined && host === undefined) return true
  if (user !== undefined && plain(user) === plain(username)) return true
  if (name !== undefined && plain(name) === plain(known)) return true
  return host !== undefined && hosts.some((one) => plainHost(one) === plainHost(host))
}

export interface CarrierQuery extends Origin {
  number?: string | undefined
}

/** Null: the text is not a port. */
const portIn = (text: string | null) => {
  if (!text) return undefined
  const port = Number(text)
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : null
}

export const carrierQuestionIn = (query: URLSearchParams): CarrierQuery => {
  const text = query.get('address') || undefined
  const address = text === undefined ? undefined : parseAddress(text)
  const port = portIn(query.get('port'))
  const number = query.get('number') || undefined
  const problems: Problems = {
    ...(text === undefined
      ? { address: { required: { message: 'Field is required but missing', value: 'address' } } }
      : {}),
    ...(text !== undefined && address === undefined
      ? { address: { wrong_format: { message: 'Must be an IP address', format: 'ip', value: text } } }
      : {}),
    ...(port === null
      ? { port: { wrong_format: { message: 'Must be a port', format: 'port', value: query.get('port') } } }
      : {}),
  }
  if (address === undefined || hasProblems(problems)) throw invalid(problems)
  return { address, port: port ?? undefined, number }
}
