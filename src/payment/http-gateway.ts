import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import { dollarsOfUnits } from '../lib/money.ts'
import { signatureOf } from '../lib/signature.ts'
import { type Outgoing, OutgoingError, type OutgoingResponse } from '../outgoing/client.ts'
import type { Settings } from '../settings/settings.ts'
import {
  declined,
  type Gateway,
  type GatewayOrder,
  type InvoiceSync,
  type PaymentOutcome,
  type SyncOutcome,
  unknownOutcome,
} from './gateway.ts'
import { httpSyncSettings } from './settings.ts'

// The operator's own billing system: signed JSON over HTTP.

const mostBytes = 1_000_000
// Quick failures are repeated with the same key; a timeout is not, because the client waits.
const pausesMs = [100, 400] as const

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

type PostResult = { answer: OutgoingResponse } | { fault: string; isSlow: boolean }

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
const outcomeOfResponse = (answer: OutgoingResponse): PaymentOutcome => {
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

const synced = ({ status, text }: OutgoingResponse): SyncOutcome => {
  if (status === 200) return { status: 'synced' }
  if (status === 402) return { status: 'delinquent', message: text.slice(0, 500) }
  return { status: 'failed', reason: 'rejected', message: `the bookkeeper answered ${status}` }
}

interface Deps {
  outgoing: Outgoing
  settings: Settings
  clock: Clock
}

export const createHttpGateway = ({ outgoing, settings, clock }: Deps): Gateway => {
  const accessFor = async (vendorId: string): Promise<HttpAccess | undefined> => {
    const { vendors, timeout_ms: timeoutMs, ...common } = await settings.of(httpSyncSettings)
    const own = vendors[vendorId]
    const { http_url: url, authorization_header: authorization, signing_secret: secret } = own ?? common
    return url === undefined
      ? undefined
      : { url, authorization, secret, timeoutMs: own?.timeout_ms ?? timeoutMs }
  }

  const post = async (
    access: HttpAccess,
    body: object,
    headers: Record<string, string>,
  ): Promise<PostResult> => {
    const text = JSON.stringify(body)
    const { url, authorization, secret, timeoutMs } = access
    const now = Math.floor(clock.now() / 1000)
    const proof = secret ? { 'x-crosspoint-signature': signatureOf(text, [secret], now) } : {}
    const identity = authorization ? { authorization } : {}
    try {
      const answer = await outgoing.send({
        purpose: 'bookkeeper',
        method: 'POST',
        url,
        body: text,
        headers: { 'content-type': 'application/json', ...identity, ...proof, ...headers },
        timeoutMs,
        maxBytes: mostBytes,
        isOperators: true,
      })
      return { answer }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { fault: error.fault, isSlow: error.fault === 'timeout' }
    }
  }

  /** Repeated quick failures, or one timeout, leave the outcome unknown. */
  const move = async (order: GatewayOrder): Promise<PaymentOutcome> => {
    const access = await accessFor(order.vendorId)
    if (!access) return unknownOutcome('not configured')
    const headers = { 'idempotency-key': order.idempotencyKey }
    for (let attempt = 0; ; attempt += 1) {
      const answered = await post(access, bodyOf(order.kind, order), headers)
      const outcome =
        'answer' in answered ? outcomeOfResponse(answered.answer) : unknownOutcome(answered.fault)
      const wait: number | undefined = pausesMs[attempt]
      const isFinal = outcome.status !== 'unknown' || ('isSlow' in answered && answered.isSlow)
      if (isFinal || wait === undefined) return outcome
      await pause(wait)
    }
  }

  /** An outcome that is not known there is settled by a repeat with the same key: it moves nothing twice. */
  const lookup = async (order: GatewayOrder): Promise<PaymentOutcome> => {
    const access = await accessFor(order.vendorId)
    if (!access) return unknownOutcome('not configured')
    const headers = { 'idempotency-key': order.idempotencyKey }
    const answered = await post(access, bodyOf('lookup', order), headers)
    if ('fault' in answered) return unknownOutcome(answered.fault)
    const outcome = outcomeOfResponse(answered.answer)
    return outcome.status === 'unknown' ? move(order) : outcome
  }

  const syncInvoice = async ({ accountId, vendorId, syncId, items }: InvoiceSync): Promise<SyncOutcome> => {
    const access = await accessFor(vendorId)
    if (!access) {
      const message = 'system_configs/services.http_sync names no address'
      return { status: 'failed', reason: 'not_configured', message }
    }
    const headers = { 'x-sync-id': syncId, 'x-account-id': accountId }
    const answered = await post(access, { account_id: accountId, sync_id: syncId, items }, headers)
    return 'answer' in answered
      ? synced(answered.answer)
      : { status: 'failed', reason: answered.fault, message: 'the bookkeeper did not answer' }
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
    lookup,
    syncInvoice,
  }
}
