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

interface Bucket {
  /** Below zero when many wrong passwords were looked at side by side: that is paid off first. */
  left: number
  filledAt: number
}

interface Deps {
  settings: Settings
  clock: Clock
  acquaintances: KnownNetworkCache
  /** What other processes have counted, too. */
  shared: SignInBuckets | undefined
}

const maxBuckets = 20_000
const minuteMs = 60_000

/** Limits wrong passwords for an account, by network and in total. Known networks only have their own limit. */
export const createFailedSignInLimiter = ({ settings, clock, acquaintances, shared }: Deps) => {
  const buckets = new Map<string, Bucket>()

  const bucketOf = (key: string, most: number, perMinute: number): Bucket => {
    const now = clock.now()
    const before = buckets.get(key) ?? { left: most, filledAt: now }
    const minutes = Math.max(0, now - before.filledAt) / minuteMs
    const bucket = { left: Math.min(most, before.left + minutes * perMinute), filledAt: now }
    buckets.delete(key)
    buckets.set(key, bucket)
    evictOldest(buckets, maxBuckets)
    return bucket
  }

  /** Of the caller's network, and that of all strangers unless the network is known. */
  const bucketsFor = async (account: string, address = '') => {
    const rules = await settings.of(authSettings)
    const { guesses_per_minute: perMinute } = rules
    const own = bucketOf(`${account} ${networkOf(address)}`, rules.guesses_of_network, perMinute)
    const all = acquaintances.isKnown(account, address)
      ? undefined
      : bucketOf(account, rules.guesses_at_once, perMinute)
    return { own, all, perMinute }
  }

  /** The same two, where all processes count in them. */
  const sharedFor = async (account: string, address = '') => {
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

  /** What is left where less is left. */
  const leftOfShared = async (account: string, address: string | undefined) => {
    if (!shared) return Number.POSITIVE_INFINITY
    const { own, all } = await sharedFor(account, address)
    const each = await Promise.all([own, ...(all ? [all] : [])].map((bucket) => shared.left(bucket)))
    return Math.min(...each)
  }

  return {
    /** 429 when too many wrong passwords came before. The account is one that there is, or what somebody calls one. */
    async assertFew(account: string, address: string | undefined) {
      const { own, all, perMinute } = await bucketsFor(account, address)
      const left = Math.min(own.left, all?.left ?? own.left, await leftOfShared(account, address))
      if (left >= 1) return
      const seconds = Math.ceil(((1 - left) * minuteMs) / perMinute / 1000)
      const refusal = new SignInRefusal('too many wrong passwords', isId(account) ? account : undefined)
      throw failure(tooManyRequests, { retryAfterSeconds: Math.max(1, seconds) }, refusal)
    },

    async countWrong(account: string, address: string | undefined) {
      const { own, all } = await bucketsFor(account, address)
      if (all && own.left >= 1) all.left -= 1
      own.left -= 1
      if (!shared) return
      const counted = await sharedFor(account, address)
      await shared.spend(counted.own, counted.all)
    },
  }
}
