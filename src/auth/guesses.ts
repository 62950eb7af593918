import { BroadcastChannel } from 'node:worker_threads'
import type { Clock } from '../lib/clock.ts'
import { failure, SignInRefusal, tooManyRequests } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { isId } from '../lib/ids.ts'
import { networkOf } from '../lib/network.ts'
import { authSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import type { SignInBucket, SignInBuckets } from '../storage/sign-in-buckets.ts'
import { sha256Hex } from './keyring.ts'

const maxKnownNetworks = 20_000

type KnownNetworkCache = ReturnType<typeof createKnownNetworkCache>

/** Networks from which users signed in to an account, in memory. `channel` connects the threads of a process. */
export const createKnownNetworkCache = (channel?: string) => {
  const known = new Map<string, true>()
  const others = channel === undefined ? undefined : new BroadcastChannel(channel)
  const keyOf = (accountId: string, address: string) => `${accountId} ${networkOf(address)}`

  const learn = (key: string) => {
    known.delete(key)
    known.set(key, true)
    evictOldest(known, maxKnownNetworks)
  }

  others?.unref()
  if (others) others.onmessage = ({ data }) => learn(String(data))

  return {
    note(accountId: string, address: string | undefined) {
      if (address === undefined) return
      const key = keyOf(accountId, address)
      learn(key)
      others?.postMessage(key)
    },

    isKnown: (accountId: string, address: string | undefined) =>
      address !== undefined && known.has(keyOf(accountId, address)),

    close: () => others?.close(),
  }
}

interface Deps {
  settings: Settings
  clock: Clock
  acquaintances: KnownNetworkCache
  /** Includes the counts of other processes. */
  shared: SignInBuckets | undefined
}

const maxBuckets = 20_000
const minuteMs = 60_000

/**
 * Buckets of this thread only. After many concurrent wrong passwords the level is below zero and is refilled
 * first.
 */
const createLocalBuckets = (clock: Clock): Pick<SignInBuckets, 'left' | 'spend'> => {
  const levels = new Map<string, { left: number; filledAt: number }>()

  const refilled = ({ key, size, millisecondsPerToken }: SignInBucket) => {
    const now = clock.now()
    const before = levels.get(key) ?? { left: size, filledAt: now }
    const added = Math.max(0, now - before.filledAt) / millisecondsPerToken
    const level = { left: Math.min(size, before.left + added), filledAt: now }
    levels.delete(key)
    levels.set(key, level)
    evictOldest(levels, maxBuckets)
    return level
  }

  return {
    left: async (bucket) => refilled(bucket).left,
    async spend(ofNetwork, ofEverybody) {
      const own = refilled(ofNetwork)
      const all = ofEverybody && refilled(ofEverybody)
      if (all && own.left >= 1) all.left -= 1
      own.left -= 1
    },
  }
}

/** Limits wrong passwords for an account, by network and in total. Known networks only have their own limit. */
export const createFailedSignInLimiter = ({ settings, clock, acquaintances, shared }: Deps) => {
  const counters = [createLocalBuckets(clock), ...(shared ? [shared] : [])]

  /** The bucket of the caller's network, and that of all strangers unless the network is known. */
  const bucketsFor = async (account: string, address = '') => {
    const rules = await settings.of(authSettings)
    const bucket = (key: string, size: number): SignInBucket => ({
      key: `guesses ${sha256Hex(key)}`,
      size,
      millisecondsPerToken: minuteMs / rules.guesses_per_minute,
    })
    return {
      own: bucket(`${account} ${networkOf(address)}`, rules.guesses_of_network),
      all: acquaintances.isKnown(account, address) ? undefined : bucket(account, rules.guesses_at_once),
    }
  }

  return {
    /** 429 after too many wrong passwords. The account exists, or is what a client calls one. */
    async assertFew(account: string, address: string | undefined) {
      const { own, all } = await bucketsFor(account, address)
      const both = all ? [own, all] : [own]
      const left = await Promise.all(
        counters.flatMap((counter) => both.map((bucket) => counter.left(bucket))),
      )
      const least = Math.min(...left)
      if (least >= 1) return
      const seconds = Math.ceil(((1 - least) * own.millisecondsPerToken) / 1000)
      const refusal = new SignInRefusal('too many wrong passwords', isId(account) ? account : undefined)
      throw failure(tooManyRequests, { retryAfterSeconds: Math.max(1, seconds) }, refusal)
    },

    async countWrong(account: string, address: string | undefined) {
      const { own, all } = await bucketsFor(account, address)
      for (const counter of counters) await counter.spend(own, all)
    },
  }
}
