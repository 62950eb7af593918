import { hash } from 'node:crypto'
import { invalid } from '../lib/failure.ts'
import { isObject } from '../lib/json.ts'
import { traceparentOf } from '../lib/trace.ts'
import type { Author, ChargeConsent } from '../storage/change-set.ts'
import type { Exchange } from './exchange.ts'
import { withoutUnstored } from './judge/judge-data.ts'
import { segmentsOf } from './judge/router.ts'

/** Rejects what cannot be the id of a quote: without one, a request accepts what its caller was shown last. */
export const requireQuoteId = (exchange: Exchange) => {
  const value = exchange.value('quote_id') ?? undefined
  if (value === undefined || (typeof value === 'string' && value !== '')) return
  throw invalid({ quote_id: { type: { message: 'Must be the quote_id of a 402 response', value } } })
}

/** The same text whatever the order of keys. */
const sortedText = (data: unknown) =>
  JSON.stringify(data, (_, value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  )

const consentOf = (exchange: Exchange): ChargeConsent => {
  const quoteId = exchange.value('quote_id')
  return {
    ...(typeof quoteId === 'string' ? { quoteId } : {}),
    fingerprint() {
      const { method, path, body } = exchange
      const data = isObject(body.data) ? withoutUnstored(body.data, {}) : body.data
      return hash('sha256', sortedText([method, segmentsOf(path), data]), 'hex')
    },
    toJSON: () => undefined,
  }
}

/** Who stands behind what a request writes. */
export const authorOf = (exchange: Exchange): Author => {
  const { actor } = exchange
  const author: Author = {
    requestId: exchange.id,
    clientAddress: exchange.clientAddress,
    request: { method: exchange.method, path: exchange.path },
  }
  if (exchange.trace.recorder) author.trace = traceparentOf(exchange.trace)
  if (exchange.isTrue('accept_charges')) author.acceptsCharges = true
  if (exchange.method !== 'GET') author.consent = consentOf(exchange)
  if (exchange.claim) author.idempotency = exchange.claim
  if (!actor) return author
  author.authAccountId = actor.accountId
  author.authMethod = actor.method
  if (actor.user) author.authUserId = actor.user.id
  if (actor.key) author.authKeyId = actor.key.id
  if (actor.claims?.original_account_id) author.originalAuthAccountId = actor.claims.original_account_id
  if (actor.claims?.original_owner_id) author.originalAuthUserId = actor.claims.original_owner_id
  return author
}
