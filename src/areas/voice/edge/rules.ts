import { type Address, parseAddress } from '../../../lib/cidr.ts'
import { hasProblems, invalid, type Problems } from '../../../lib/failure.ts'
import { bracketed } from '../../../lib/sip-host.ts'
import type { Party } from '../../../switch/media-switch.ts'
import type { Origin } from '../resources/rules.ts'

/** Where a packet says it comes from. */
export interface EdgeQuery {
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

/** Edges remove `|` from names, and user names are equal in any case. */
const plain = (name: string | undefined) => name?.replaceAll('|', '').toLowerCase()

const plainHost = (host: string) => bracketed(host.replace(/^\[(.*)\]$/, '$1')).toLowerCase()

/** A server as its trunks describe it. */
interface Server {
  user: string | undefined
  name: string | undefined
  hosts: readonly string[]
}

/** Whether a server of a trunk is the one of a call, by what the edge knows of it. */
export const mayBe = (
  { user, name, hosts }: Server,
  { username, name: known, host }: Readonly<Party['server']> = {},
) => {
  if (username === undefined && known === undefined && host === undefined) return true
  if (user !== undefined && plain(user) === plain(username)) return true
  if (name !== undefined && plain(name) === plain(known)) return true
  return host !== undefined && hosts.some((one) => plainHost(one) === plainHost(host))
}

/** What an edge asks of an address. */
export interface CarrierQuery extends Origin {
  /** Who is called. */
  number?: string | undefined
}

/** Null: what was given is no port. */
const portIn = (text: string | null) => {
  if (!text) return undefined
  const port = Number(text)
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : null
}

/** What an edge asks of an address, or a 400. */
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
