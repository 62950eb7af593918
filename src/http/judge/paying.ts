import type { AccountRecord } from '../../auth/identity.ts'
import { isObject } from '../../lib/json.ts'
import { memberOf } from '../../lib/member.ts'
import { StoredRecord } from '../../storage/records.ts'
import type { RequestContext } from '../exchange.ts'
import { revisionOf } from './preconditions.ts'

// What a request pays in throttling tokens: for itself, for the bytes that it brings, for the record that it changes.

// What comes as a list of records is stored bit by bit, and not as one that is told and judged as a whole each time.
const manyTimes = 10

/** By how much cheaper, and how many times as many values, the body of a route may be. */
export const shareOf = ({ route }: RequestContext) => (route?.spec.takesMany ? manyTimes : 1)

export const resourceOf = ({ route, segments }: RequestContext) => {
  const at = route?.resourceAt ?? 1
  const endpointArguments: readonly string[] = route ? segments.slice(at + 1) : []
  return { endpoint: segments[at] ?? '', endpointArguments }
}

const isAnyIn = (data: unknown, keys: readonly string[]) =>
  keys.some((key) => memberOf(data, key) !== undefined)

/** Takes the price of the request itself, or 429. */
export const payTokens = async (exchange: RequestContext) => {
  const { frame, crossbar, route, clientAddress, account, actor, method } = exchange
  const { endpoint } = resourceOf(exchange)
  // Reading what is public is free; writing is not, with or without a token.
  const readsPublic = !actor && (method === 'GET' || method === 'HEAD')
  const price = route?.spec.price
  // What a body brings that is still to be read is not known: it pays as if it were there.
  const bringsSecret =
    price?.is === 'secret' && (exchange.waitingBody !== undefined || isAnyIn(exchange.body.data, price.keys))
  const fare = { clientAddress, accountId: account?.id, endpoint, method, readsPublic, bringsSecret }
  exchange.tokens = await frame.throttle.pay(fare, price, crossbar)
}

const payForBytes = async (exchange: RequestContext, bytes: number) => {
  const { frame, crossbar, clientAddress, account, tokens, paidBytes } = exchange
  const fare = { clientAddress, accountId: account?.id, bytes, paidBytes }
  exchange.tokens = await frame.throttle.payForBytes(fare, crossbar, tokens)
  exchange.paidBytes = Math.max(paidBytes, bytes)
}

/** A body that waited pays for what it has beyond those that do not. */
export const payForBody = (exchange: RequestContext, length: number) => {
  const { unjudged_body_size: unjudged } = exchange.crossbar
  return payForBytes(exchange, unjudged + Math.ceil(Math.max(0, length - unjudged) / shareOf(exchange)))
}

/** The stored record that a subject is, or has a part of. */
const recordIn = (
  subject: unknown,
  account: AccountRecord | undefined,
): Pick<StoredRecord, 'docText'> | undefined => {
  if (subject instanceof StoredRecord) return subject
  // Routes of accounts have parts of theirs alone.
  if (account !== undefined && revisionOf(subject) === account.revision) return account
  const parts = isObject(subject) ? Object.values(subject) : []
  return parts.find((part) => part instanceof StoredRecord)
}

// A character of JavaScript is at most three bytes of UTF-8.
const maxBytesOfCharacter = 3

/**
 * What changes a large record pays for it as for a body: all of it is judged, told and stored, however little was sent. A body
 * that was as large has paid for both.
 */
export const payForRecord = async (exchange: RequestContext, subject: unknown) => {
  const { method, crossbar, account } = exchange
  if (method === 'GET' || method === 'HEAD') return
  const record = recordIn(subject, account)
  if (!record || record.docText.length * maxBytesOfCharacter <= crossbar.unjudged_body_size) return
  await payForBytes(exchange, Buffer.byteLength(record.docText))
}
