import { hash } from 'node:crypto'
import { isObject } from '../lib/json.ts'
import { traceparentOf } from '../lib/trace.ts'
import type { Author, ChargeConsent } from '../storage/change-set.ts'
import type { Exchange } from './exchange.ts'
import { withoutUnstored } from './judge/judge-data.ts'

const consentOf = (exchange: Exchange): ChargeConsent => {
  const quoteId = exchange.value('quote_id')
  return {
    ...(typeof quoteId === 'string' && quoteId !== '' ? { quoteId } : {}),
    fingerprint() {
      const { method, path, body } = exchange
      const data = isObject(body.data) ? withoutUnstored(body.data, {}) : body.data
      return hash('sha256', JSON.stringify([method, path, data]), 'hex')
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
