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

type Verdict = { actor: Actor } | { objection: string }

/** An error reply. */
class Complaint extends Error {}

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

export const createConversation = (tools: Deps): Conversation => {
  const { store, directory, subscriptions, node, connection, mostSubscriptions } = tools
  const held = new Map<string, Subscription>()
  /** The accounts whose tokens were sent. */
  const seenBy = new Set<string>()
  let about: { name?: string; metadata?: unknown } = {}
  let hasEnded = false

  const keyOf = (accountId: string, { text }: Binding) => `${accountId}/${text}`

  const texts = (of: Iterable<Subscription>) => Array.from(of, ({ binding }) => binding.text)

  const noteFor = (accountId: string) => {
    const bindings = texts([...held.values()].filter(({ actor }) => actor.accountId === accountId))
    return directory.note({
      accountId,
      id: connection.id,
      openedAt: connection.openedAt,
      source: connection.clientAddress,
      destination: node,
      said: { bindings, ...about },
    })
  }

  const note = async (accountId: string) => {
    if (hasEnded) return
    seenBy.add(accountId)
    await noteFor(accountId)
  }

  const admitted = async ({ token }: Command) => {
    if (token === undefined) throw new Complaint(errors.unauthenticated)
    try {
      await store.fence()
      return await connection.admit(token)
    } catch (error) {
      if (isRefusal(error)) throw new Complaint(errors.unauthenticated)
      throw error
    }
  }

  /** Throws if the actor may not read the account. */
  const assertMayHear = async (actor: Actor, accountId: string) => {
    if (accountId === everyAccount) {
      if (isSuperduper(actor)) return
      throw new Complaint(errors.wildcardAccount)
    }
    const account = await store.records.find(accountId, accountKind, accountId)
    if (!account) throw new Complaint(errors.unauthorized)
    try {
      await connection.assertMayRead(actor, account, { endpoint: 'websockets', allow: accountMember })
    } catch (error) {
      if (isRefusal(error)) throw new Complaint(errors.unauthorized)
      throw error
    }
  }

  const wanted = (bindings: readonly string[] | undefined): Binding[] => {
    if (!bindings || bindings.length === 0) throw new Complaint(errors.empty)
    return bindings.map((text) => {
      const binding = bindingOf(text)
      if (!binding) throw new Complaint(errors.unknownBinding)
      return binding
    })
  }

  const remember = ({ name, metadata }: Command) => {
    if (!isMetadataShort(metadata)) throw new Complaint(errors.largeMetadata)
    about = {
      ...about,
      ...(name === undefined ? {} : { name }),
      ...(metadata === undefined ? {} : { metadata }),
    }
  }

  const subscribe = async (command: Command, requestId: RequestId) => {
    const actor = await admitted(command)
    const bindings = wanted(command.bindings)
    const accountId = command.accountId ?? actor.accountId
    await assertMayHear(actor, accountId)
    remember(command)
    const fresh = bindings.filter((binding) => !held.has(keyOf(accountId, binding)))
    if (held.size + fresh.length > mostSubscriptions) throw new Complaint(errors.tooMany)
    await subscriptions.ready()
    if (hasEnded) return {}
    for (const binding of bindings) {
      const key = keyOf(accountId, binding)
      const before = held.get(key)
      if (before) subscriptions.remove(before)
      // A newer token replaces the old one.
      const subscription = { accountId, binding, actor, token: command.token ?? '', requestId, connection }
      held.set(key, subscription)
      subscriptions.add(subscription)
    }
    await note(actor.accountId)
    return { subscribed: fresh.map(({ text }) => text), subscriptions: texts(held.values()) }
  }

  const drop = (dropped: readonly Subscription[]) => {
    for (const one of dropped) {
      const key = keyOf(one.accountId, one.binding)
      // The client may have subscribed again with another token.
      if (held.get(key) === one) held.delete(key)
      subscriptions.remove(one)
    }
  }

  const unsubscribe = async (command: Command) => {
    const actor = await admitted(command)
    const accountId = command.accountId ?? actor.accountId
    const named = command.bindings === undefined ? undefined : wanted(command.bindings)
    const dropped = named
      ? named.flatMap((binding) => held.get(keyOf(accountId, binding)) ?? [])
      : [...held.values()]
    drop(dropped)
    await note(actor.accountId)
    for (const id of new Set(dropped.map((one) => one.actor.accountId))) await note(id)
    return {
      unsubscribed: named ? named.map(({ text }) => text) : texts(dropped),
      subscriptions: texts(held.values()),
    }
  }

  /** A ping needs no token; with one the connection is listed. */
  const ping = async (command: Command) => {
    if (command.token !== undefined) await note((await admitted(command)).accountId)
    return { response: 'pong' }
  }

  const carryOut = async (command: Command, requestId: RequestId): Promise<object> => {
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

  /** The current actor of a token, or why it is rejected. */
  const verdictOn = async ({ token, accountId }: Subscription): Promise<Verdict> => {
    try {
      const actor = await connection.admit(token)
      await assertMayHear(actor, accountId)
      return { actor }
    } catch (error) {
      if (error instanceof Complaint) return { objection: error.message }
      if (isRefusal(error)) return { objection: errors.unauthenticated }
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

    end() {
      hasEnded = true
      drop([...held.values()])
      for (const accountId of seenBy) void directory.forget({ accountId, id: connection.id })
    },

    async judgeAgain() {
      const verdicts = new Map<string, Verdict>()
      const ended = new Map<string, Subscription[]>()
      for (const one of held.values()) {
        const question = `${one.accountId}/${one.token}`
        const verdict = verdicts.get(question) ?? (await verdictOn(one))
        verdicts.set(question, verdict)
        if ('actor' in verdict) {
          // The new actor may have fewer rights.
          one.actor = verdict.actor
          continue
        }
        const { objection } = verdict
        const key = JSON.stringify([one.requestId, objection])
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
