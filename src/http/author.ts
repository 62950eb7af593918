import { invalid } from '../lib/failure.ts'
import { traceparentOf } from '../lib/trace.ts'
import type { Author, ChargeConsent } from '../storage/change-set.ts'
import type { RequestContext } from './exchange.ts'

/** Rejects what cannot be the id of a quote: without one, a request accepts what its caller was shown last. */
export const requireQuoteId = (exchange: RequestContext) => {
  const value = exchange.value('quote_id') ?? undefined
  if (value === undefined || (typeof value === 'string' && value !== '')) return
  // Routes that take the id of something else as quote_id describe it in their query.
  const message = exchange.route?.spec.query?.quote_id
    ? 'Must be the id of a finished dry run'
    : 'Must be the quote_id of a 402 response'
  throw invalid({ quote_id: { type: { message, value } } })
}

const consentOf = (exchange: RequestContext): ChargeConsent => {
  const quoteId = exchange.value('quote_id')
  const { claims, key, user } = exchange.actor ?? {}
  const caller = claims?.jti ?? key?.id ?? user?.id
  return {
    ...(typeof quoteId === 'string' ? { quoteId } : {}),
    ...(caller === undefined ? {} : { caller }),
    toJSON: () => undefined,
  }
}

/** Who stands behind what a request writes. */
export const authorOf = (exchange: RequestContext): Author => {
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
