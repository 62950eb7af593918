import { setTimeout as sleep } from 'node:timers/promises'
import type { DecodedPacket } from 'dns-packet'
import { DnsFault, exchange, type ServerAddress, silence } from './exchange.ts'
import { type LookedUpType, recordsIn } from './records.ts'

/** Runs `limit` at a time, in order of arrival. */
const createGate = (limit: number) => {
  let running = 0
  const waiting = new Set<() => void>()

  const wait = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        waiting.delete(enter)
        reject(silence())
      }
      const enter = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.add(enter)
    })

  return async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (signal.aborted) throw silence()
    if (running >= limit) await wait(signal)
    else running += 1
    try {
      return await work()
    } finally {
      const [next] = waiting
      if (next) {
        waiting.delete(next)
        next()
      } else running -= 1
    }
  }
}

export interface DnsTimeouts {
  /** After this time without a reply, the next server is queried as well. */
  nextServerMs: number
  lookUpMs: number
}

const usualPatience: DnsTimeouts = { nextServerMs: 500, lookUpMs: 3000 }

export interface LookUpOptions {
  /** Without UDP. */
  tcp: boolean
  signal: AbortSignal
  /** Authoritative servers, queried first. */
  authorities?: readonly ServerAddress[]
}

export interface LookUp {
  name: string
  type: LookedUpType
}

export interface LookUpResult {
  /** None if the name does not exist. */
  records: string[]
  ttlSeconds: number | undefined
}

export interface Resolver {
  /** Fails with a DnsFault. */
  find(question: LookUp, manner: LookUpOptions): Promise<LookUpResult>
  lookUp(question: LookUp, manner: LookUpOptions): Promise<string[]>
}

interface Settled {
  number: number
  reply?: DecodedPacket
  error?: unknown
}

// Never rejects, because late attempts are not awaited.
const settled = (number: number, attempt: Promise<DecodedPacket>): Promise<Settled> =>
  attempt.then(
    (reply) => ({ number, reply }),
    (error: unknown) => ({ number, error }),
  )

/** A refusal is more useful than silence. */
const worse = (known: DnsFault | undefined, fault: DnsFault) =>
  known && fault.kind === 'silent' ? known : fault

/** Starts the next attempt after a failure or `pauseMs`; the first reply of all attempts wins. */
const firstReply = async (
  attempts: readonly (() => Promise<DecodedPacket>)[],
  pauseMs: number,
): Promise<DecodedPacket> => {
  const running = new Map<number, Promise<Settled>>()
  let fault: DnsFault | undefined
  const take = (outcome: Settled | undefined) => {
    if (!outcome) return undefined
    running.delete(outcome.number)
    if (outcome.reply) return outcome.reply
    if (!(outcome.error instanceof DnsFault)) throw outcome.error
    fault = worse(fault, outcome.error)
    return undefined
  }
  for (const [number, start] of attempts.entries()) {
    running.set(number, settled(number, start()))
    const isOver = new AbortController()
    const pause = sleep(pauseMs, undefined, { signal: isOver.signal }).catch(() => undefined)
    const reply = take(await Promise.race([...running.values(), pause]))
    isOver.abort()
    if (reply) return reply
  }
  while (running.size > 0) {
    const reply = take(await Promise.race(running.values()))
    if (reply) return reply
  }
  throw fault ?? silence()
}

const codeOf = ({ flags = 0 }: DecodedPacket) => flags & 0xf
const noError = 0
const noSuchName = 3
const codeNames = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']

/** Fails for an error response, and if the server is not an authority of the name. */
const usable = (reply: DecodedPacket, mustKnow: boolean): DecodedPacket => {
  const code = codeOf(reply)
  if (code !== noError && code !== noSuchName) {
    throw new DnsFault('refused', `the name server answered ${codeNames[code] ?? `with code ${code}`}`)
  }
  if (mustKnow && !reply.flag_aa)
    throw new DnsFault('refused', 'the name server is not responsible for this name')
  return reply
}

const dnsName = /^(?=.{1,253}$)(?:[A-Za-z0-9_*-]{1,63}\.)*[A-Za-z0-9_-]{1,63}$/

const shorter = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)

const longestAlias = 8
const rounds = 2
// Each has a socket until the look-up ends.
const maxAttempts = 8
// Shared by all requests: each look-up has a few sockets.
const maxConcurrentLookUps = 64

/** Asks recursive name servers, or first the authorities that the caller names. */
export const createResolver = (
  servers: () => readonly ServerAddress[],
  patience: DnsTimeouts = usualPatience,
): Resolver => {
  const gate = createGate(maxConcurrentLookUps)

  const askAny = async (question: LookUp, asked: readonly ServerAddress[], manner: LookUpOptions) => {
    const isAnswered = new AbortController()
    const signal = AbortSignal.any([manner.signal, isAnswered.signal])
    const mustKnow = asked === manner.authorities
    const attempts = Array.from({ length: rounds }, () => asked)
      .flat()
      .slice(0, maxAttempts)
      .map((server) => async () => {
        return usable(await exchange(question, server, { tcp: manner.tcp, signal }), mustKnow)
      })
    try {
      return await firstReply(attempts, patience.nextServerMs)
    } finally {
      isAnswered.abort()
    }
  }

  const ask = async (question: LookUp, manner: LookUpOptions) => {
    const { authorities } = manner
    if (!authorities || authorities.length === 0) return askAny(question, servers(), manner)
    // Half of the time: if an authority is dead, the other servers are queried.
    const share = AbortSignal.any([manner.signal, AbortSignal.timeout(patience.lookUpMs / 2)])
    try {
      return await askAny(question, authorities, { ...manner, signal: share })
    } catch (error) {
      if (!(error instanceof DnsFault) || manner.signal.aborted) throw error
      return askAny(question, servers(), manner)
    }
  }

  const follow = async (question: LookUp, manner: LookUpOptions, aliases: number): Promise<LookUpResult> => {
    const { alias, ...found } = recordsIn(await ask(question, manner), question.name, question.type)
    if (found.records.length > 0 || alias === undefined || aliases === 0 || question.type === 'CNAME')
      return found
    const behind = await follow({ ...question, name: alias }, manner, aliases - 1)
    return { ...behind, ttlSeconds: shorter(found.ttlSeconds, behind.ttlSeconds) }
  }

  const find = async (question: LookUp, manner: LookUpOptions): Promise<LookUpResult> => {
    if (!dnsName.test(question.name)) throw new DnsFault('no_name', 'this is not a valid DNS name')
    // A new signal, because hundreds of listeners on one signal cause a warning.
    return gate(AbortSignal.any([manner.signal]), () => {
      const signal = AbortSignal.any([manner.signal, AbortSignal.timeout(patience.lookUpMs)])
      return follow(question, { ...manner, signal }, longestAlias)
    })
  }

  return {
    find,
    lookUp: async (question, manner) => (await find(question, manner)).records,
  }
}
