import { type AccountRecord, isSuperduper } from '../../../auth/identity.ts'
import { sequenceOf } from '../../../events/events.ts'
import type { Lease } from '../../../jobs/leases.ts'
import type { Waker } from '../../../jobs/waker.ts'
import { badIdentifier, failure, invalid, joinProblems, type Problems } from '../../../lib/failure.ts'
import { newId, randomHex } from '../../../lib/ids.ts'
import { maskUrls } from '../../../lib/secrets.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import { records } from '../../records.ts'
import type { Alerts } from '../alerts/operations.ts'
import type { Alert } from '../alerts/schema.ts'
import type { WebhookSender } from './deliveries/courier.ts'
import { deliveryOf } from './deliveries/dispatcher.ts'
import type { AttemptStore, DeliveryStore } from './deliveries/store.ts'
import { disableReason, webhookDisabledNotice } from './notices.ts'
import {
  addressProblem,
  tooManyFailures,
  uriProblems,
  webhookKind,
  webhookKinds,
  webhookProblems,
} from './rules.ts'
import { sampleFor } from './samples.ts'
import { type Attempt, type Replay, Webhook, WebhookRecord as WebhookAnswer } from './schema.ts'
import type { WebhookRecord, WebhookStore } from './store.ts'

interface Deps extends DepsOf<'store' | 'feed' | 'mail' | 'outgoing'> {
  /** Names of event types, which hooks may have. */
  typeNames: ReadonlySet<string>
  accounts: Pick<Accounts, 'find'>
  alerts: Pick<Alerts, 'show' | 'withdraw'>
  hooks: WebhookStore
  rows: DeliveryStore
  attempts: AttemptStore
  courier: WebhookSender
  sending: Pick<Waker, 'ring'>
}

const author: Author = { requestId: 'webhooks' }
const enabledAtOnce = 100

const causeOf = ({ id }: Pick<WebhookRecord, 'id'>) => `webhook/${id}`

const alertOf = ({ accountId, doc }: WebhookRecord): Alert => ({
  title: 'Webhook switched off',
  message: `The webhook ${doc.name} has failed for a whole day and is disabled until an admin enables it.`,
  category: 'webhook_disabled',
  level: 'warning',
  from: [{ type: 'account', value: accountId }],
  to: [{ type: accountId, value: 'admins' }],
})

const isOn = (hook: WebhookRecord | undefined) => hook?.doc.enabled === true

const eventOf = async (feed: Deps['feed'], attempt: Attempt) => {
  const sequence = sequenceOf(attempt.event_id)
  const event = sequence === undefined ? undefined : await feed.one(sequence)
  if (event) return event
  throw invalid({
    attempt_id: {
      gone: {
        message: 'attempt_id: the event of this attempt has expired and cannot be resent',
        value: attempt.id,
      },
    },
  })
}

const placeIn = (text: string) => {
  const sequence = sequenceOf(text)
  if (sequence !== undefined) return sequence
  throw invalid({ after: { wrong_format: { message: 'Must be the sequence of an event', value: text } } })
}

/** Sends events again. */
const createReplays = ({ store, feed, rows, attempts, sending }: Deps) => {
  const replayed = (by: Author, { accountId, id }: WebhookRecord, after: object) =>
    new ChangeSet(by).record({
      accountId,
      kind: webhookKind,
      id,
      action: 'edited',
      event: 'webhook.replayed',
      after: JSON.stringify(after),
    })

  const sendAgain = async (by: Author, hook: WebhookRecord, attemptId: string) => {
    const attempt = await attempts.find(hook.accountId, hook.id, attemptId)
    if (!attempt) throw failure(badIdentifier, { cause: attemptId })
    const now = store.clock.now()
    const delivery = deliveryOf(hook, await eventOf(feed, attempt), { turn: newId(now), now })
    const set = replayed(by, hook, { attempt_id: attemptId })
    await store.commit(set.add(...rows.add([delivery])))
    sending.ring()
  }

  const sendAllBehind = async (by: Author, hook: WebhookRecord, after: string) => {
    const set = replayed(by, hook, { after })
    await feed.settled()
    const last = await feed.newest()
    const { id: hookId, accountId } = hook
    const replay = { turn: newId(store.clock.now()), accountId, hookId, sequence: placeIn(after), last }
    await store.commit(set.add(...rows.askReplay(replay)))
  }

  /** Sends one event again, or every event after a sequence. */
  return async (by: Author, hook: WebhookRecord, { attempt_id: attemptId, after }: Replay) => {
    if (attemptId !== undefined) return sendAgain(by, hook, attemptId)
    if (after !== undefined) return sendAllBehind(by, hook, after)
  }
}

const createWebhookRecords = (deps: Deps) => {
  const { store, feed, mail, outgoing, typeNames, alerts, hooks, rows } = deps
  const { ids: noticeIds } = mail.notices

  const addressProblems = async (uri: string): Promise<Problems> => {
    const problems = uriProblems(uri)
    if (problems.uri) return problems
    return (await outgoing.mayCall(uri)) ? {} : addressProblem(uri)
  }

  /** An enabled webhook has no failures, and its pending deliveries are due. */
  const enable = async (set: ChangeSet, hook: Pick<WebhookRecord, 'id'>) => {
    set.add(rows.sound(hook.id), rows.hurry(hook.id, store.clock.now()))
    await alerts.withdraw(set, causeOf(hook))
  }

  /** A webhook gets events from its creation or its last enabling on. */
  const contentOf = async (doc: Webhook, before: WebhookRecord | undefined) => {
    if (before && !doc.enabled) return { doc }
    return { doc, hidden: { after: before && isOn(before) ? before.hidden.after : await feed.newest() } }
  }

  const enableAgain = async (by: Author, places: readonly { accountId: string; id: string }[]) => {
    const set = new ChangeSet(by)
    for (const { accountId, id } of places) {
      const before = await hooks.find(accountId, id)
      if (before?.hidden.disableReason === undefined) continue
      const content = await contentOf({ ...before.doc, enabled: true }, before)
      hooks.replace(set, before, hooks.revise(before, content))
      await enable(set, before)
    }
    if (set.changes.length > 0) await store.commit(set)
  }

  return {
    ...records(store, {
      collection: hooks,
      shape: { body: Webhook, record: WebhookAnswer, computed: [] },
      async problems({ data, actor, before }) {
        const { uri }: Partial<Webhook> = data
        return joinProblems(
          webhookProblems(data, { noticeIds, typeNames, isOperator: isSuperduper(actor) }),
          uri === undefined || uri === before?.doc.uri ? {} : await addressProblems(uri),
        )
      },
      content: ({ data, before }) => contentOf(data as Webhook, before),
      async beforeWrite(set, { before, after }) {
        if (before && isOn(after) && !isOn(before)) await enable(set, after)
      },
      async beforeDelete(set, hook) {
        set.add(...rows.forgetHook(hook.id))
        await alerts.withdraw(set, causeOf(hook))
      },
      // Imported webhooks are disabled until an admin enables them.
      adopted: ({ id, doc }) => ({
        doc: { name: id, hook: '', uri: '', ...doc, enabled: false },
        hidden: { after: 0 },
      }),
    }),

    kinds: () => webhookKinds(noticeIds),

    /** Enables webhooks that the server has disabled. */
    async reEnable(by: Author, { id }: AccountRecord, scope: 'account' | 'subtree') {
      const places = await (scope === 'account' ? hooks.switchedOff(id) : hooks.switchedOffBelow(id))
      for (let at = 0; at < places.length; at += enabledAtOnce)
        await retrying(() => enableAgain(by, places.slice(at, at + enabledAtOnce)))
      deps.sending.ring()
    },
  }
}

export type Webhooks = ReturnType<typeof createWebhooks>

export const createWebhooks = (deps: Deps) => {
  const { store, mail, accounts, alerts, hooks, rows, attempts, courier, sending } = deps

  return {
    ...createWebhookRecords(deps),
    replay: createReplays(deps),
    attempts: attempts.page,

    catchUp(hook: WebhookRecord) {
      if (isOn(hook)) sending.ring()
    },

    /** Disables a webhook after a day of failures, and notifies its account. */
    switchOff: ({ accountId, id }: WebhookRecord, lease: Lease) =>
      retrying(async () => {
        const [before, account] = await Promise.all([hooks.find(accountId, id), accounts.find(accountId)])
        if (!before || !account || !isOn(before)) return
        const doc = { ...before.doc, enabled: false }
        const after = hooks.revise(before, {
          doc,
          hidden: { ...before.hidden, disableReason: tooManyFailures },
        })
        const set = new ChangeSet(author)
        lease.guard(set)
        hooks.replace(set, before, after)
        const happening = { accountId, kind: hooks.kind, id, type: 'webhook.disabled' } as const
        set.happened({ ...happening, after: JSON.stringify({ ...doc, disable_reason: tooManyFailures }) })
        await alerts.show(set, causeOf(before), alertOf(before))
        const { name, uri, hook } = doc
        const values = {
          'hook.id': id,
          'hook.name': name,
          'hook.uri': maskUrls(uri),
          'hook.event': hook,
          'hook.reason': disableReason,
        }
        await mail.notify(set, { notice: webhookDisabledNotice, account, to: [], values })
        await store.commit(set)
      }),

    /** Sends a sample once, also to a disabled webhook. */
    async test(hook: WebhookRecord): Promise<Attempt> {
      const now = store.clock.now()
      const event = sampleFor(hook.doc, hook.accountId, now)
      const delivery = { eventId: `test-${randomHex(8)}`, event, attempts: 0, since: now }
      const tried = await courier.send(hook, delivery, new AbortController().signal)
      if (!tried) throw new Error('a call was canceled without a request')
      const attempt = { ...tried.attempt, retries_left: 0 }
      await store.writeUnrecorded([attempts.add(hook.accountId, attempt)])
      return attempt
    },

    removeWith: async (set: ChangeSet, { id }: AccountRecord) => void set.add(...rows.forgetAccount(id)),
  }
}
