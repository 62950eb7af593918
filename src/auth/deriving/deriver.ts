import { availableParallelism } from 'node:os'
import type { Clock } from '../../lib/clock.ts'
import { failure, overloaded, tooManyRequests } from '../../lib/failure.ts'
import { elementAt } from '../../lib/list.ts'
import { type Metrics, secondsBounds } from '../../lib/metrics.ts'
import { networkOf } from '../../lib/network.ts'
import { authSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Author } from '../../storage/change-set.ts'
import type { SignInBuckets } from '../../storage/sign-in-buckets.ts'
import { createWorkerLink } from '../../storage/worker-link.ts'
import type { SharedThreadState } from '../../threads/shared-state.ts'
import {
  type DigestMethod,
  digestOf,
  hashingOfDigest,
  type KeyLayer,
  keyLayers,
  type PasswordHashing,
  renewal,
} from '../credentials.ts'
import { createFailedSignInLimiter, createKnownNetworkCache } from '../guesses.ts'
import { type Caller, createHashQueue, type Lane } from './derivation-turns.ts'

interface Job {
  derivation: PasswordHashing
  lane: Lane
  /** When it was asked for, by the process's own time in milliseconds. */
  since: number
  resolve(keys: string[]): void
  reject(error: unknown): void
}

const script = new URL('./thread.ts', import.meta.url)

type Thread = ReturnType<typeof startThread>

// Requests of signed-in callers come before key derivations.
const usualNiceness = 5

/**
 * Priority of thousands of keys that no client waits for: reads and writes, and other servers on the machine,
 * come first.
 */
export const nicenessOfMany = 15

const startThread = (layers: readonly KeyLayer[], niceness: number) =>
  createWorkerLink<PasswordHashing, string[]>(script, { layers }, { niceness })

// An idle thread needs some megabytes, and 32 more while it hashes.
const idleMs = 60_000
const maxThreads = 4
/** Places in all, as a multiple of those that a network or an account may take. */
const placesInAll = 8
const secondsEach = 0.1

/** The share of each request thread in the limit of all threads: at least one. */
const partOf = (all: number, company: Pick<SharedThreadState, 'threads'> | undefined) =>
  Math.max(1, Math.floor(all / (company?.threads ?? 1)))

const derivationsByCores = () => Math.min(maxThreads, availableParallelism())

interface DeriverDeps {
  settings: Settings
  clock: Clock
  metrics: Metrics
  shared?: SignInBuckets | undefined
  /** The cost of keys, where it differs from the normal cost. */
  layers?: readonly KeyLayer[] | undefined
  /** Set if several request threads hash passwords: each gets a share of the limits. */
  company?: Pick<SharedThreadState, 'threads' | 'acquaintances'> | undefined
  /** Niceness of its threads, from 0 to 19. */
  niceness?: number
}

const isVisitor = (lane: Lane) => lane === 'known' || lane === 'stranger'

const closed = () => failure(overloaded, { retryAfterSeconds: 1 })

const figuresOf = (metrics: Metrics, waiting: () => number) => {
  const durations = metrics.histogram({
    name: 'crosspoint_password_hash_duration_seconds',
    help: 'Seconds that a password hash took, including the time in the queue.',
    labels: ['priority'],
    bounds: secondsBounds,
  })
  const refused = metrics.counter({
    name: 'crosspoint_password_hash_rejected_total',
    help: 'Password hashes that were rejected because the queue was full.',
  })
  const help = 'Password hashes in the queue.'
  metrics.gauge({ name: 'crosspoint_password_hash_queue_length', help, isOfThread: true }, waiting)
  return { durations, refused }
}

/** The threads, and the jobs that wait for one. */
const createHashThreads = (deps: DeriverDeps) => {
  const { settings, clock, metrics, layers = keyLayers, company, niceness = usualNiceness } = deps
  const turns = createHashQueue<Job>(clock)
  const { durations, refused } = figuresOf(metrics, () => turns.size)
  const idle: Thread[] = []
  let running = 0
  let threads = 1
  let works = 0
  let farewell: NodeJS.Timeout | undefined
  let isClosed = false

  const wanted = () => (works > 0 ? 1 : threads)

  const endIdle = async () => {
    clearTimeout(farewell)
    const ended = idle.splice(0)
    await Promise.all(ended.map((thread) => thread.close()))
  }

  const work = async (thread: Thread, { derivation, lane, since, resolve, reject }: Job) => {
    running += 1
    try {
      resolve(await thread.call(derivation))
      durations.labels(lane).observe((performance.now() - since) / 1000)
    } catch (error) {
      reject(error)
    } finally {
      running -= 1
      idle.push(thread)
      advance()
    }
  }

  const advance = () => {
    clearTimeout(farewell)
    while (running < wanted() && turns.size > 0) {
      const job = turns.next()
      if (job) void work(idle.pop() ?? startThread(layers, niceness), job)
    }
    if (running > 0) return
    farewell = setTimeout(() => void endIdle(), idleMs)
    farewell.unref()
  }

  const refusal = () => {
    refused.inc()
    const seconds = Math.ceil((turns.size * secondsEach) / wanted())
    return failure(tooManyRequests, { retryAfterSeconds: Math.max(1, seconds) })
  }

  return {
    stop: endIdle,

    async ask(caller: Caller, derivation: PasswordHashing): Promise<string[]> {
      const { lane } = caller
      const rules = await settings.of(authSettings)
      if (isClosed && isVisitor(lane)) throw closed()
      threads = partOf(rules.derivation_threads ?? derivationsByCores(), company)
      const mostOfEach = partOf(rules.derivations_waiting, company)
      const { promise, resolve, reject } = Promise.withResolvers<string[]>()
      const job = { derivation, lane, since: performance.now(), resolve, reject }
      const bounds = { mostOfEach, most: placesInAll * mostOfEach }
      turns.add(caller, job, bounds)?.reject(refusal())
      advance()
      return promise
    },

    /** Runs work that needs the memory and the cores: one key is derived at a time until it ends. */
    async beside<T>(work: () => Promise<T>): Promise<T> {
      works += 1
      try {
        const [result] = await Promise.all([work(), ...idle.splice(1).map((thread) => thread.close())])
        return result
      } finally {
        works -= 1
        advance()
      }
    },

    /** Rejects the jobs of users who want to sign in, now and later. */
    turnAway() {
      isClosed = true
      for (const { reject } of turns.remove(isVisitor)) reject(closed())
    },
  }
}

type ImportedDigest = Pick<PasswordHashing, 'salt' | 'method'> & { digest: string; toLayer: number }

const inBackground = (accountId: string): Caller => ({ network: '', accountId, lane: 'background' })

const networkAt = (address: string | undefined) => (address === undefined ? '' : networkOf(address))

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/** Derives sign-in keys in its own threads: those of the runtime are for files and names. */
export const createPasswordHasher = (deps: DeriverDeps) => {
  const { settings, clock, shared, company } = deps
  const { ask, beside, turnAway, stop } = createHashThreads(deps)
  const acquaintances = createKnownNetworkCache(company?.acquaintances)

  const signInKeys = (caller: Caller, salt: string, method: DigestMethod, digest: string) =>
    ask(caller, hashingOfDigest(salt, method, digest))

  return {
    beside,
    turnAway,
    acquaintances,
    guesses: createFailedSignInLimiter({ settings, clock, acquaintances, shared }),

    /** A client that wants to sign in to an account. */
    visitor: (accountId: string, address: string | undefined): Caller => ({
      network: networkAt(address),
      accountId,
      lane: acquaintances.isKnown(accountId, address) ? 'known' : 'stranger',
    }),

    /** A signed-in caller that changes something of this account. */
    member: ({ authAccountId, clientAddress }: Author, accountId: string): Caller => ({
      network: networkAt(clientAddress),
      accountId: authAccountId ?? accountId,
      lane: 'member',
    }),

    /** The claims by which a user is found, one for each layer, strongest last. Throws 429 if too many wait. */
    signInKeys,

    /** The keys of a user, of each layer: one list for each digest that clients may send. */
    async signInKeysOf(caller: Caller, salt: string, username: string, password: string) {
      const lists: string[][] = []
      for (const method of ['md5', 'sha'] as const)
        lists.push(await signInKeys(caller, salt, method, digestOf(method, username, password)))
      return lists
    },

    /** The key of an imported digest, of the first layer or `toLayer`. A migration adds the other layers. */
    async arrivingKey(accountId: string, { salt, method, digest, toLayer }: ImportedDigest): Promise<string> {
      const hashing = { ...hashingOfDigest(salt, method, digest), toLayer }
      return elementAt(await ask(inBackground(accountId), hashing), -1)
    },

    /** A stored key with the layers that it lacks. */
    strongestKey: async (accountId: string, salt: string, key: string): Promise<string> =>
      (await ask(inBackground(accountId), renewal(salt, key))).at(-1) ?? key,

    async stop() {
      acquaintances.close()
      await stop()
    },
  }
}
