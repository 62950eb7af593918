import type { Clock } from '../../lib/clock.ts'
import { failure, tooManyRequests } from '../../lib/failure.ts'
import { evictOldest } from '../../lib/forget-oldest.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { ipv6Network } from '../../lib/network.ts'
import type { SharedRows } from '../../lib/shared-rows.ts'
import { type crossbarSettings, tokenBucketSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import type { Settings, SettingsDoc } from '../../settings/settings.ts'
import type { SignInBucket, SignInBuckets } from '../../storage/sign-in-buckets.ts'
import {
  type BucketSettings,
  bucketKey,
  bucketSettingsOf,
  type Charge,
  costOf,
  createTokenBuckets,
  type Price,
} from './token-buckets.ts'

const application = 'crossbar'

type Crossbar = SettingsOf<typeof crossbarSettings>

interface Fare {
  clientAddress: string
  accountId: string | undefined
  endpoint: string
  method: string
  bringsSecret: boolean
  /** Public reads are free. */
  readsPublic: boolean
}

interface BodyFare {
  clientAddress: string
  accountId: string | undefined
  bytes: number
  /** Bytes whose tokens the request has already paid. */
  paidBytes?: number
}

interface Payment {
  consumed: number
  remaining: number
}

interface Networks {
  /** The address, or its /64. */
  network: string
  /** The /48 of an IPv6 address. */
  site: string | undefined
}

const maxKnown = 20_000
const known = new Map<string, Networks>()

const networksOf = (address: string): Networks => {
  if (!address.includes(':')) return { network: address, site: undefined }
  const found = known.get(address)
  if (found) return found
  const networks = { network: ipv6Network(address, 64) ?? address, site: ipv6Network(address, 48) }
  known.set(address, networks)
  evictOldest(known, maxKnown)
  return networks
}

const siteSizes = new WeakMap<BucketSettings, BucketSettings>()

const siteSizeOf = (size: BucketSettings) => {
  const { siteFactor: factor } = size
  const wide = siteSizes.get(size) ?? {
    ...size,
    maxTokens: factor * size.maxTokens,
    fillTokens: factor * size.fillTokens,
  }
  siteSizes.set(size, wide)
  return wide
}

export type Throttle = ReturnType<typeof createThrottle>

const sharedBucket = (place: string, size: BucketSettings): SignInBucket => ({
  key: `sign-in ${place}`,
  size: size.maxTokens,
  millisecondsPerToken: size.fillMilliseconds / size.fillTokens,
  inactivityMilliseconds: size.inactivityMilliseconds,
})

const sharedBuckets = (address: string, size: BucketSettings) => {
  const { network, site } = networksOf(address)
  const own = sharedBucket(network, size)
  return site === undefined ? [own] : [own, sharedBucket(site, siteSizeOf(size))]
}

const withEarlier = (payment: Payment, earlier: Payment | undefined): Payment => ({
  ...payment,
  consumed: payment.consumed + (earlier?.consumed ?? 0),
})

const refusal = (retryAfterSeconds: number) => failure(tooManyRequests, { retryAfterSeconds })

interface ThrottleDeps {
  settings: Settings
  clock: Clock
  metrics: Metrics
  shared: SignInBuckets | undefined
  rows?: SharedRows | undefined
}

/** Takes tokens from the buckets, or fails with 429. */
const createCharges = ({ settings, clock, metrics, shared, rows }: ThrottleDeps) => {
  const refused = metrics.counter({
    name: 'crosspoint_requests_throttled_total',
    help: 'Requests, sign-ins and commands that exceeded a rate limit.',
  })
  const buckets = createTokenBuckets({ clock, shared: rows })
  const resolved = new WeakMap<SettingsDoc, Map<string, BucketSettings>>()

  const bucketSettings = async (name = application) => {
    const sections = await settings.sections(tokenBucketSettings)
    const sizes = resolved.get(sections) ?? new Map<string, BucketSettings>()
    const known = sizes.get(name) ?? bucketSettingsOf(sections, name)
    resolved.set(sections, sizes.set(name, known))
    return known
  }

  const assertPaid = (charge: Charge): Payment => {
    if (!charge.allowed) {
      refused.inc()
      throw refusal(charge.retryAfterSeconds)
    }
    return { consumed: charge.consumed, remaining: charge.remaining }
  }

  /** The bucket of an IPv6 /48 is larger and is charged for all networks in it. */
  const fromSite = (
    site: string | undefined,
    accountId: string | undefined,
    tokens: number,
    size: BucketSettings,
  ) => {
    if (site === undefined) return undefined
    const charge = buckets.consume(bucketKey(site, accountId), tokens, siteSizeOf(size))
    return charge.allowed ? undefined : charge
  }

  return {
    bucketSettings,

    fromBucket: async (key: string, tokens: number, name: string): Promise<Payment> =>
      assertPaid(buckets.consume(key, tokens, await bucketSettings(name))),

    async fromNetwork(address: string, accountId: string | undefined, tokens: number, again = tokens) {
      const size = await bucketSettings()
      const { network, site } = networksOf(address)
      const key = bucketKey(network, accountId)
      const paid = assertPaid(buckets.consume(key, tokens, size, again))
      const unpaid = fromSite(site, accountId, tokens, size)
      if (!unpaid) return paid
      buckets.giveBack(key, tokens, size)
      return assertPaid(unpaid)
    },

    async fromSignIn(address: string, cost: number) {
      const size = await bucketSettings()
      const { network, site } = networksOf(address)
      const paid = assertPaid(buckets.consumeUntil(bucketKey(network, undefined), cost, size))
      const unpaid = fromSite(site, undefined, cost, size)
      if (unpaid) assertPaid(unpaid)
      if (!shared || cost <= 0) return paid
      const seconds = Math.ceil((cost * size.fillMilliseconds) / size.fillTokens / 1000)
      await shared.take(sharedBuckets(address, size), cost, () => {
        refused.inc()
        return refusal(Math.max(1, seconds))
      })
      return paid
    },

    async refundSignIn(address: string, tokens: number) {
      const size = await bucketSettings()
      const { network, site } = networksOf(address)
      buckets.giveBack(bucketKey(network, undefined), tokens, size)
      if (site !== undefined) buckets.giveBack(bucketKey(site, undefined), tokens, siteSizeOf(size))
      await shared?.giveBack(sharedBuckets(address, size), tokens)
    },
  }
}

/** Throttling: one bucket for each network and account, in memory. Sign-ins are also charged to a bucket of all processes. */
export const createThrottle = (deps: ThrottleDeps) => {
  const { bucketSettings, fromBucket, fromNetwork, fromSignIn, refundSignIn } = createCharges(deps)

  const chargeSignIn = (address: string, endpoint: string, fallback: number, crossbar: Crossbar) =>
    fromSignIn(address, costOf({ endpoint, method: 'PUT', tokenCosts: crossbar.token_costs, fallback }))

  return {
    /** Takes the price of a request, or fails with 429. A sign-in that cannot pay empties the bucket. */
    async pay(fare: Fare, price: Price | undefined, crossbar: Crossbar): Promise<Payment | undefined> {
      const { clientAddress, accountId, endpoint, method, readsPublic, bringsSecret } = fare
      if (price?.is === 'signIn') {
        return chargeSignIn(clientAddress, endpoint, crossbar[price.setting], crossbar)
      }
      const question = { accountId, endpoint, method, tokenCosts: crossbar.token_costs, fallback: 1 }
      const ordinary = costOf(price?.is === 'free' ? { ...question, fallback: 0 } : question)
      const secret = bringsSecret ? costOf({ ...question, fallback: crossbar.derivation_tokens }) : 0
      const paid = readsPublic ? undefined : await fromNetwork(clientAddress, accountId, ordinary + secret)
      // A call has an additional price, so that a client cannot ring a phone without end.
      if (price?.is === 'call') {
        const cost = costOf({ ...question, extra: price.extra })
        return withEarlier(await fromNetwork(clientAddress, accountId, cost), paid)
      }
      if (price?.is === 'twice') {
        const { bucket } = price
        return fromBucket(`${accountId}/${bucket}`, costOf(question), bucket)
      }
      return paid
    },

    /**
     * Takes the price of a large body or record, at most half of the bucket, so that every body can be sent after waiting.
     * Bytes that were paid for are free. Returns the sum of payments.
     */
    async payForBytes(
      { clientAddress, accountId, bytes, paidBytes = 0 }: BodyFare,
      crossbar: Crossbar,
      before: Payment | undefined,
    ): Promise<Payment | undefined> {
      if (crossbar.token_costs === 0) return before
      const { maxTokens } = await bucketSettings()
      const priceOf = (count: number) => {
        const beyond = Math.max(0, count - crossbar.unjudged_body_size)
        return Math.min(Math.ceil(beyond / crossbar.body_bytes_per_token), Math.floor(maxTokens / 2))
      }
      const price = Math.max(0, priceOf(bytes) - priceOf(paidBytes))
      // A repeated request pays for all of it again.
      const again = price + (before?.consumed ?? 0)
      return withEarlier(await fromNetwork(clientAddress, accountId, price, again), before)
    },

    payCommand(connectionId: string, application: string, crossbar: Crossbar) {
      const question = { endpoint: application, method: 'GET', tokenCosts: crossbar.token_costs, fallback: 1 }
      return fromBucket(`${application}/${connectionId}`, costOf(question), application)
    },

    /** Unknown Basic credentials pay as a sign-in. Returns a function that refunds the price of a valid one. */
    async pledgeSignIn(clientAddress: string, crossbar: Crossbar) {
      const { consumed } = await chargeSignIn(clientAddress, 'user_auth', crossbar.user_auth_tokens, crossbar)
      return () => refundSignIn(clientAddress, consumed)
    },
  }
}
