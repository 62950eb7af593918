import type { Json } from '../../../lib/json.ts'
import { payloadOf, type WebhookEvent } from './deliveries/payload.ts'
import type { Webhook } from './schema.ts'

const ids = {
  account_id: '009afc511c97b2ae693c6cc4920988e8',
  record_id: 'a391d64a083b99232f6d2633c47432e3',
}
// 2026-01-05T12:00:00Z
const at = 1_767_614_400_000

const record = { id: ids.record_id, first_name: 'Ada', last_name: 'Lovelace', username: 'ada' }

const changes = (['created', 'edited', 'deleted'] as const).map(
  (action): WebhookEvent => ({
    ...ids,
    at,
    type: `user.${action}`,
    kind: 'user',
    action,
    [action === 'deleted' ? 'before' : 'after']: record,
  }),
)

const callRecord: WebhookEvent = {
  ...ids,
  at,
  type: 'cdr.created',
  kind: 'cdr',
  after: {
    call_id: 'aa6c09b5@192.0.2.7',
    call_direction: 'inbound',
    caller_id_number: '+14155550100',
    callee_id_number: '+14155550101',
    duration_seconds: 63,
    billing_seconds: 60,
    hangup_cause: 'NORMAL_CLEARING',
  },
}

const lowBalance: WebhookEvent = { ...ids, at, type: 'balance.low', kind: 'account', after: {} }

/** Samples by kind of webhook. */
const events: Readonly<Record<string, readonly WebhookEvent[]>> = {
  all: changes,
  cdr: [callRecord],
  notifications: [lowBalance],
  object: changes,
}

const hookOf = (hook: string): Webhook => ({
  name: hook,
  uri: 'https://receiver.example.com/',
  hook,
  http_verb: 'post',
  format: 'json',
  retries: 2,
  enabled: true,
  include_subaccounts: false,
  include_internal_legs: true,
  version: 'v1',
  ...(hook === 'notifications' ? { custom_data: { type: 'low_balance' } } : {}),
})

export const sampleNames = Object.keys(events)

export const samplesOf = (kind: string): Json[] | undefined =>
  Object.hasOwn(events, kind) ? events[kind]?.map((event) => payloadOf(hookOf(kind), event)) : undefined

export const sampleFor = ({ hook }: Webhook, accountId: string, now: number): WebhookEvent => {
  const [known] = Object.hasOwn(events, hook) ? (events[hook] ?? []) : []
  const [kind = hook, what] = hook.split('.')
  const type = what === '*' ? `${kind}.edited` : hook
  const sample: WebhookEvent = known ?? { ...ids, at, type, kind }
  return { ...sample, account_id: accountId, at: now }
}
