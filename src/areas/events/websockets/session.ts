import { type Actor, accountKind, isSuperduper } from '../../../auth/identity.ts'
import { accountMember } from '../../../auth/policies.ts'
import type { Connection, Session } from '../../../http/transport/web-socket.ts'
import {
  Failure,
  type FailureKind,
  forbidden,
  invalidCredentials,
  isFailure,
  tooManyRequests,
  validationError,
} from '../../../lib/failure.ts'
import { randomHex } from '../../../lib/ids.ts'
import { present } from '../../../lib/json.ts'
import type { DepsOf } from '../../area.ts'
import type { Directory } from './operations.ts'
import {
  type Binding,
  bindingOf,
  type Command,
  commandOf,
  errorReply,
  errors,
  everyAccount,
  isMetadataShort,
  type RequestId,
  successReply,
} from './rules.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

/** Failures that reject a token. */
const refusing = new Set<FailureKind>([invalidCredentials, validationError, forbidden])

const isRefusal = (error: unknown) => error instanceof Failure && refusing.has(error.kind)

/** An error reply. */
class Complaint extends Error {}

/** Answers a rejected token with an error reply. */
const complaining = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw isRefusal(error) ? new Complaint(text) : error
  }
}

interface Deps extends DepsOf<'store' | 'node'> {
  directory: Directory
  subscriptions: Subscriptions
  connection: Connection
  mostSubscriptions: number
}

export interface Conversation extends Session {
  /** Checks the tokens again, and ends subscriptions that they no longer allow. */
  judgeAgain(): Promise<void>
}

const keyOf = (accountId: string, { text }: Binding) => `${accountId}/${text}`

const texts = (of: Iterable<Subscription>) => Array.from(of, ({ binding }) => binding.text)

const bindingsIn = (named: readonly string[] | undefined): Binding[] => {
  if (!named || named.length === 0) throw new Complaint(errors.empty)
  return named.map((text) => {
    const binding = bindingOf(text)
    if (!binding) throw new Complaint(errors.unknownBinding)
    return binding
  })
}

const createAdmission = ({ store, connection }: Deps) => ({
  async admit({ token }: Pick<Command, 'token'>): Promise<Actor> {
    if (token === undefined) throw new Complaint(errors.unauthenticated)
    await store.fence()
    return complaining(errors.unauthenticated, () => connection.admit(token))
  },

  /** Throws if the actor may not read the account. */
  async assertMayHear(actor: Actor, accountId: string) {
    if (accountId === everyAccount) {
      if (isSuperduper(actor)) return
      throw new Complaint(errors.wildcardAccount)
    }
    const account = await store.records.find(accountId, accountKind, accountId)
    if (!account) throw new Complaint(errors.unauthorized)
    await complaining(errors.unauthorized, () =>
      connection.assertMayRead(actor, account, { endpoint: 'websockets', allow: accountMember }),
    )
  },
})

/** The subscriptions of a connection, and its entries in the directory. */
const createHeld = ({ directory, subscriptions, node, connection }: Deps) => {
  const held = new Map<string, Subscription>()
  /** The accounts whose tokens were sent. */
  const seenBy = new Set<string>()
  let about: { name?: string; metadata?: unknown } = {}
  let hasEnded = false

  const drop = (dropped: Iterable<Subscription>) => {
    for (const one of dropped) {
      const key = keyOf(one.accountId, one.binding)
      // The client may have subscribed again with another token.
      if (held.get(key) === one) held.delete(key)
      subscriptions.remove(one)
    }
  }

  return {
    held,
    drop,
    hasEnded: () => hasEnded,

    remember({ name, metadata }: Command) {
      if (!isMetadataShort(metadata)) throw new Complaint(errors.largeMetadata)
      about = { ...about, ...present({ name, metadata }) }
    },

    put(subscription: Subscription) {
      const key = keyOf(subscription.accountId, subscription.binding)
      const before = held.get(key)
      if (before) subscriptions.remove(before)
      // A newer token replaces the old one.
      held.set(key, subscription)
      subscriptions.add(subscription)
    },

    async note(accountId: string) {
      if (hasEnded) return
      seenBy.add(accountId)
      const bindings = texts(held.values().filter(({ actor }) => actor.accountId === accountId))
      await directory.note({
        accountId,
        id: connection.id,
        openedAt: connection.openedAt,
        source: connection.clientAddress,
        destination: node,
        said: { bindings, ...about },
      })
    },

    end() {
      hasEnded = true
      drop([...held.values()])
      for (const accountId of seenBy) void directory.forget({ accountId, id: connection.id })
    },
  }
}

const createCommands = (
  { subscriptions, connection, mostSubscriptions }: Deps,
  { admit, assertMayHear }: ReturnType<typeof createAdmission>,
  { held, drop, hasEnded, remember, put, note }: ReturnType<typeof createHeld>,
) => {
  const subscribe = async (command: Command, requestId: RequestId) => {
    const actor = await admit(command)
    const bindings = bindingsIn(command.bindings)
    const accountId = command.accountId ?? actor.accountId
    await assertMayHear(actor, accountId)
    remember(command)
    const fresh = bindings.filter((binding) => !held.has(keyOf(accountId, binding)))
    if (held.size + fresh.length > mostSubscriptions) throw new Complaint(errors.tooMany)
    await subscriptions.ready()
    if (hasEnded()) return {}
    for (const binding of bindings)
      put({ accountId, binding, actor, token: command.token ?? '', requestId, connection })
    await note(actor.accountId)
    return { subscribed: fresh.map(({ text }) => text), subscriptions: texts(held.values()) }
  }

  const unsubscribe = async (command: Command) => {
    const actor = await admit(command)
    const accountId = command.accountId ?? actor.accountId
    const named = command.bindings === undefined ? undefined : bindingsIn(command.bindings)
    const dropped = named?.flatMap((binding) => held.get(keyOf(accountId, binding)) ?? []) ?? [
      ...held.values(),
    ]
    drop(dropped)
    await note(actor.accountId)
    for (const id of new Set(dropped.map((one) => one.actor.accountId))) await note(id)
    const unsubscribed = named ? named.map(({ text }) => text) : texts(dropped)
    return { unsubscribed, subscriptions: texts(held.values()) }
  }

  /** A ping needs no token; with one the connection is listed. */
  const ping = async (command: Command) => {
    if (command.token !== undefined) await note((await admit(command)).accountId)
    return { response: 'pong' }
  }

  return async (command: Command, requestId: RequestId): Promise<object> => {
    try {
      await connection.pay()
    } catch (error) {
      if (isFailure(error, tooManyRequests)) throw new Complaint(errors.rate(connection.id))
      throw error
    }
    if (command.action === 'subscribe') return subscribe(command, requestId)
    if (command.action === 'unsubscribe') return unsubscribe(command)
    if (command.action === 'ping') return ping(command)
    throw new Complaint(errors.unknownAction)
  }
}

export const createConversation = (deps: Deps): Conversation => {
  const { connection } = deps
  const admission = createAdmission(deps)
  const subscribed = createHeld(deps)
  const { held, drop, note } = subscribed
  const carryOut = createCommands(deps, admission, subscribed)

  /** The current actor of a token, or why it is rejected. */
  const verdictOn = async ({ token, accountId }: Subscription): Promise<Actor | string> => {
    try {
      const actor = await complaining(errors.unauthenticated, () => connection.admit(token))
      await admission.assertMayHear(actor, accountId)
      return actor
    } catch (error) {
      if (error instanceof Complaint) return error.message
      throw error
    }
  }

  return {
    async hear(text) {
      const command = commandOf(text)
      const requestId = command?.requestId ?? randomHex(16)
      try {
        if (!command) throw new Complaint(errors.noObject)
        connection.answer(successReply(requestId, await carryOut(command, requestId)))
      } catch (error) {
        if (!(error instanceof Complaint)) throw error
        connection.answer(errorReply(requestId, error.message))
      }
    },

    isInUse: () => held.size > 0,
    end: subscribed.end,

    async judgeAgain() {
      const verdicts = new Map<string, Actor | string>()
      const ended = new Map<string, Subscription[]>()
      for (const one of held.values()) {
        const question = `${one.accountId}/${one.token}`
        const verdict = verdicts.get(question) ?? (await verdictOn(one))
        verdicts.set(question, verdict)
        if (typeof verdict !== 'string') {
          // The new actor may have fewer rights.
          one.actor = verdict
          continue
        }
        const key = JSON.stringify([one.requestId, verdict])
        ended.set(key, [...(ended.get(key) ?? []), one])
      }
      for (const [key, dropped] of ended) {
        const [requestId, objection] = JSON.parse(key) as [RequestId, string]
        drop(dropped)
        const data = { unsubscribed: texts(dropped), subscriptions: texts(held.values()) }
        connection.answer(errorReply(requestId, objection, data))
      }
      for (const id of new Set([...ended.values()].flat().map(({ actor }) => actor.accountId))) await note(id)
    },
  }
}
