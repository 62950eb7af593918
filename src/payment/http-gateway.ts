import { setTimeout as pause } from 'node:timers/promises'
import { dollarsOfUnits } from '../lib/money.ts'
import { signatureOf } from '../lib/signature.ts'
import { OutgoingError, type OutgoingResponse } from '../outgoing/client.ts'
import {
  declined,
  type Gateway,
  type GatewayDeps,
  type GatewayOrder,
  type PaymentOutcome,
  type SyncOutcome,
  unknownOutcome,
} from './gateway.ts'
import { httpSyncSettings } from './settings.ts'

// The operator's own billing system: signed JSON over HTTP.

const mostBytes = 1_000_000
// Quick failures are repeated with the same key; a timeout is not, because the client waits.
const pausesMs = [100, 400] as const
const finalFaults: ReadonlySet<string> = new Set(['timeout', 'not_configured'])

interface HttpAccess {
  url: string
  authorization: string | undefined
  secret: string | undefined
  timeoutMs: number
}

interface BookkeeperReply {
  status?: unknown
  id?: unknown
  code?: unknown
  message?: unknown
  retryable?: unknown
}

/** The answer of the bookkeeper, or why there is none. */
type PostResult = OutgoingResponse | { fault: 'not_configured' | OutgoingError['fault'] }

const textOr = (value: unknown, fallback: string) =>
  typeof value === 'string' && value !== '' ? value.slice(0, 500) : fallback

const replyIn = (answer: OutgoingResponse): BookkeeperReply => {
  try {
    const body = answer.json()
    return typeof body === 'object' && body !== null ? body : {}
  } catch {
    return {}
  }
}

/** Unclear responses are unknown. */
const outcomeOf = (answer: PostResult): PaymentOutcome => {
  if ('fault' in answer)
    return unknownOutcome(answer.fault === 'not_configured' ? 'not configured' : answer.fault)
  const { status, id, code, message, retryable } = replyIn(answer)
  if (answer.status === 200 && status === 'succeeded' && typeof id === 'string')
    return { status: 'succeeded', id: id.slice(0, 256) }
  if (answer.status === 402 && status === 'declined')
    return declined(textOr(code, 'declined'), textOr(message, 'declined'), retryable === true)
  return unknownOutcome(`answer ${answer.status}`)
}

const bodyOf = (operation: 'charge' | 'refund' | 'lookup', order: GatewayOrder) => ({
  operation,
  idempotency_key: order.idempotencyKey,
  account_id: order.accountId,
  amount: String(dollarsOfUnits(order.amount)),
  amount_units: order.amount,
  currency: order.currency,
  reference: order.kind === 'charge' ? order.reference : order.chargeId,
  description: order.description,
})

const syncFault = (fault: string): SyncOutcome => ({
  status: 'failed',
  reason: fault,
  message:
    fault === 'not_configured'
      ? 'system_configs/services.http_sync has no http_url'
      : 'the billing provider did not respond',
})

const syncOutcomeOf = (answer: PostResult): SyncOutcome => {
  if ('fault' in answer) return syncFault(answer.fault)
  const { status, text } = answer
  if (status === 200) return { status: 'synced' }
  if (status === 402) return { status: 'delinquent', message: text.slice(0, 500) }
  return { status: 'failed', reason: 'rejected', message: `the billing provider responded with ${status}` }
}

export const createHttpGateway = (deps: Pick<GatewayDeps, 'outgoing' | 'settings' | 'clock'>): Gateway => {
  const { outgoing, settings, clock } = deps

  const accessFor = async (vendorId: string): Promise<HttpAccess | undefined> => {
    const { vendors, timeout_ms: timeoutMs, ...common } = await settings.of(httpSyncSettings)
    const own = vendors[vendorId]
    const { http_url: url, authorization_header: authorization, signing_secret: secret } = own ?? common
    return url === undefined
      ? undefined
      : { url, authorization, secret, timeoutMs: own?.timeout_ms ?? timeoutMs }
  }

  const post = async (
    vendorId: string,
    body: object,
    headers: Record<string, string>,
  ): Promise<PostResult> => {
    const access = await accessFor(vendorId)
    if (!access) return { fault: 'not_configured' }
    const text = JSON.stringify(body)
    const { url, authorization, secret, timeoutMs } = access
    const now = Math.floor(clock.now() / 1000)
    const proof = secret ? { 'x-crosspoint-signature': signatureOf(text, [secret], now) } : {}
    const identity = authorization ? { authorization } : {}
    try {
      return await outgoing.send({
        purpose: 'bookkeeper',
        method: 'POST',
        url,
        body: text,
        headers: { 'content-type': 'application/json', ...identity, ...proof, ...headers },
        timeoutMs,
        maxBytes: mostBytes,
        isOperators: true,
      })
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { fault: error.fault }
    }
  }

  const postOrder = (operation: 'charge' | 'refund' | 'lookup', order: GatewayOrder) =>
    post(order.vendorId, bodyOf(operation, order), { 'idempotency-key': order.idempotencyKey })

  /** Repeated quick failures, or one timeout, leave the outcome unknown. */
  const move = async (order: GatewayOrder): Promise<PaymentOutcome> => {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await postOrder(order.kind, order)
      const outcome = outcomeOf(answer)
      const wait: number | undefined = pausesMs[attempt]
      const isFinal = outcome.status !== 'unknown' || ('fault' in answer && finalFaults.has(answer.fault))
      if (isFinal || wait === undefined) return outcome
      await pause(wait)
    }
  }

  return {
    capabilities: { charges: true, tokens: false, syncs: true, monthly: 'outside' },
    isReady: async (vendorId) => (await accessFor(vendorId)) !== undefined,
    patienceMs: async (vendorId) => {
      const timeoutMs = (await accessFor(vendorId))?.timeoutMs ?? 0
      return (pausesMs.length + 1) * timeoutMs + pausesMs[0] + pausesMs[1]
    },
    smallestUnits: () => 1,
    charge: move,
    refund: move,

    /** An outcome that is not known there is settled by a repeat with the same key: it moves nothing twice. */
    async lookup(order) {
      const answer = await postOrder('lookup', order)
      const outcome = outcomeOf(answer)
      return outcome.status === 'unknown' && !('fault' in answer) ? move(order) : outcome
    },

    async syncInvoice({ accountId, vendorId, syncId, items }) {
      const headers = { 'x-sync-id': syncId, 'x-account-id': accountId }
      return syncOutcomeOf(await post(vendorId, { account_id: accountId, sync_id: syncId, items }, headers))
    },
  }
}
