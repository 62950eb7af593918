import { type Actor, isSuperduper, speaksForAccount } from '../../../auth/identity.ts'
import { callRecords, type FeedEvent, sequenceText } from '../../../events/events.ts'
import type { Feed, FeedHead } from '../../../events/feed.ts'
import type { Connection } from '../../../http/transport/web-socket.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { type Binding, everyAccount, isTypeMeant, type RequestId, takesDocument } from './rules.ts'

export interface Subscription {
  accountId: string
  binding: Binding
  actor: Actor
  token: string
  /** The request id of the subscribe command. */
  requestId: RequestId
  connection: Connection
}

const names = { created: 'doc_created', edited: 'doc_edited', deleted: 'doc_deleted' } as const

type Changed = FeedEvent & { action: keyof typeof names }

/** A call record counts as a created document. */
const changeOf = (event: FeedEvent): Changed | undefined => {
  const action = event.type === callRecords ? 'created' : event.action
  return action && { ...event, action }
}

/** A deletion carries the deleted document. */
const dataText = (event: Changed) => {
  const facts = JSON.stringify({
    id: event.recordId,
    account_id: event.accountId,
    type: event.kind,
    action: names[event.action],
    event_id: sequenceText(event.sequence),
    timestamp: gregorianOfUnix(event.at / 1000),
    is_soft_deleted: false,
  })
  const doc = event.action === 'deleted' ? event.beforeText : event.afterText
  // The document is JSON text already.
  return doc === undefined ? facts : `${facts.slice(0, -1)},"doc":${doc}}`
}

const restText = (event: Changed) => {
  const name = names[event.action]
  const facts = { name, routing_key: `object.${name}.${event.kind}` }
  return `${JSON.stringify(facts).slice(1, -1)},"data":${dataText(event)}}`
}

/** After a move former parent accounts get no new events. */
const isAudience = ({ actor }: Subscription, event: FeedEvent) =>
  actor.accountId === event.accountId || event.above.includes(actor.accountId) || isSuperduper(actor)

const messageText = ({ binding }: Subscription, event: Changed, rest: string) => {
  const facts = {
    action: 'event',
    subscribed_key: binding.text,
    subscription_key: `${names[event.action]}.${event.accountId}.${event.kind}.*`,
  }
  return `${JSON.stringify(facts).slice(0, -1)},${rest}`
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

/** All subscriptions of this process, by account. */
export const createSubscriptions = (feed: Feed) => {
  const ofAccount = new Map<string, Set<Subscription>>()
  let following: Promise<() => void> | undefined

  const takes = ({ binding: { document } }: Subscription, kind: string) =>
    document !== undefined && isTypeMeant(document, kind)

  const wants = ({ accountId, kind }: FeedHead) =>
    [accountId, everyAccount].some((id) => [...(ofAccount.get(id) ?? [])].some((one) => takes(one, kind)))

  const deliver = (event: Changed, to: Iterable<Subscription>) => {
    let rest: string | undefined
    for (const one of to) {
      if (!takesDocument(one.binding, names[event.action], event.kind, speaksForAccount(one.actor))) continue
      if (!isAudience(one, event)) continue
      rest ??= restText(event)
      one.connection.offer(messageText(one, event, rest))
    }
  }

  const hear = (events: readonly FeedEvent[]) => {
    for (const event of events) {
      const change = changeOf(event)
      if (!change) continue
      for (const id of [event.accountId, everyAccount]) deliver(change, ofAccount.get(id) ?? [])
    }
  }

  return {
    /** Resolves when later commits will be delivered. */
    async ready() {
      // Documents that cannot be read are left out.
      following ??= feed.follow({ wants, hear, miss: hear })
      try {
        await following
      } catch (error) {
        following = undefined
        throw error
      }
    },

    add(subscription: Subscription) {
      const { accountId } = subscription
      const known = ofAccount.get(accountId) ?? new Set()
      ofAccount.set(accountId, known.add(subscription))
    },

    remove(subscription: Subscription) {
      const known = ofAccount.get(subscription.accountId)
      if (known?.delete(subscription) && known.size === 0) ofAccount.delete(subscription.accountId)
    },

    async stop() {
      const end = await following
      end?.()
    },
  }
}
