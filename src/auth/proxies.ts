import { isDeepStrictEqual } from 'node:util'
import { isInCidr, parseAddress, parseNetwork } from '../lib/cidr.ts'
import type { Problems } from '../lib/failure.ts'
import { type AccountRecord, type Actor, speaksForAccount, type UserRecord } from './identity.ts'

// Accounts and users may be reached through certain proxies alone: where a connection comes from, whatever it tells.

const none: readonly unknown[] = []

const proxiesIn = ({ allowed_proxy_ips: list }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(list) ? list : none

const isAmong = (list: readonly unknown[], peer: string) => {
  const address = parseAddress(peer)
  return list.some((text) => {
    const network = typeof text === 'string' ? parseNetwork(text) : undefined
    return address !== undefined && network !== undefined && isInCidr(address, network)
  })
}

const isAllowed = (doc: Readonly<Record<string, unknown>>, peer: string) => {
  const list = proxiesIn(doc)
  return list.length === 0 || isAmong(list, peer)
}

/** Whether connections from there may bring credentials of an account, and of a user of it. Asked for each request. */
export const isThroughAllowedProxy = (
  { account, user }: { account: AccountRecord; user: UserRecord | undefined },
  peer: string,
) => isAllowed(account.doc, peer) && (user === undefined || isAllowed(user.doc, peer))

export const proxyRefusal = 'allowed_proxy_ips do not name where this connection comes from'

interface ProxyChange {
  actor: Actor
  before: AccountRecord | UserRecord | undefined
  /** Where the request's own connection comes from. */
  peer: string
}

const changeProblem = (list: readonly unknown[], { actor, before, peer }: ProxyChange) => {
  if (!speaksForAccount(actor)) return { forbidden: { message: 'Only an admin may change this' } }
  const isOwn = before?.id === actor.accountId || (actor.user !== undefined && before?.id === actor.user.id)
  if (!isOwn || list.length === 0 || isAmong(list, peer)) return undefined
  const message = `This request comes from ${peer}: whoever sends it would be locked out`
  return { invalid: { message, value: peer } }
}

/** What is wrong with the proxies that a request wants. */
export const proxyProblems = (data: Readonly<Record<string, unknown>>, change: ProxyChange): Problems => {
  const list = proxiesIn(data)
  const problems: Problems = {}
  for (const [index, value] of list.entries()) {
    if (typeof value === 'string' && parseNetwork(value)) continue
    const message = 'Must be an address or a CIDR, for example 192.0.2.0/24'
    problems[`allowed_proxy_ips.${index}`] = { wrong_format: { message, format: 'cidr', value } }
  }
  if (isDeepStrictEqual(list, proxiesIn(change.before?.doc ?? {}))) return problems
  const refused = changeProblem(list, change)
  return refused ? { ...problems, allowed_proxy_ips: refused } : problems
}
