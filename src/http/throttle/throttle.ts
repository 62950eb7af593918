import type { Clock } from '../../lib/clock.ts'
import { failure } from '../../lib/failure.ts'
import type { SettingsOf } from '../../settings/documents.ts'
import type { Settings, SettingsDoc } from '../../settings/settings.ts'
import type { Price } from './price.ts'
import {
  type BucketSettings,
  bucketKey,
  bucketSettingsOf,
  type Charge,
  costOf,
  createTokenBuckets,
} from './token-buckets.ts'

/** The application whose buckets this server keeps: the override key in `token_buckets`. */
const application = 'crossbar'

/** What a request is charged by. */
interface Fare {
  clientAddress: string
  /** The resolved account in the path. */
  accountId: string | undefined
  endpoint: string
  method: string
  /** What is public is read for nothing. */
  readsPublic: boolean
}

/** What a body is charged by that waited for the judgement. */
interface BodyFare {
  clientAddress: string
  accountId: string | undefined
  bytes: number
}

interface Payment {
  consumed: number
  remaining: number
}

export type Throttle = ReturnType<typeof createThrottle>

/** Request throttling: one bucket for each client address and account, in this process's memory. */
export const createThrottle = (settings: Settings, clock: Clock) => {
  const buckets = createTokenBuckets({ clock })
  const resolved = new WeakMap<SettingsDoc, Map<string, BucketSettings>>()

  const bucketSettings = async (name = application) => {
    const sections = await settings.sections('token_buckets')
    const sizes = resolved.get(sections) ?? new Map<string, BucketSettings>()
    const known = sizes.get(name) ?? bucketSettingsOf(sections, name)
    resolved.set(sections, sizes.set(name, known))
    return known
  }

  const assertPaid = (charge: Charge) => {
    if (!charge.allowed) throw failure('too_many_requests', { retryAfterSeconds: charge.retryAfterSeconds })
    return { consumed: charge.consumed, remaining: charge.remaining }
  }

  const fromBucket = async (key: string, tokens: number, name?: string) =>
    assertPaid(buckets.consume(key, tokens, await bucketSettings(name)))

  const chargeSignIn = async (
    clientAddress: string,
    endpoint: string,
    fallback: number,
    crossbar: SettingsOf<'crossbar'>,
  ) => {
    const cost = costOf({ endpoint, method: 'PUT', tokenCosts: crossbar.token_costs, fallback })
    return assertPaid(buckets.consumeUntil(bucketKey(clientAddress, undefined), cost, await bucketSettings()))
  }

  return {
    /** Takes the price of a request, or 429. A sign-in that cannot pay leaves an empty bucket. */
    async pay(fare: Fare, price: Price | undefined, crossbar: SettingsOf<'crossbar'>) {
      const { clientAddress, accountId, endpoint, method, readsPublic } = fare
      if (price?.is === 'signIn') {
        return chargeSignIn(clientAddress, endpoint, crossbar[price.setting], crossbar)
      }
      const question = { accountId, endpoint, method, tokenCosts: crossbar.token_costs, fallback: 1 }
      const key = bucketKey(clientAddress, accountId)
      const ordinary = costOf(price?.is === 'free' ? { ...question, fallback: 0 } : question)
      const paid = readsPublic ? undefined : await fromBucket(key, ordinary)
      // The call itself has a price too, whoever starts it: nobody may ring a phone without end.
      if (price?.is === 'call') return fromBucket(key, costOf({ ...question, extra: price.extra }))
      if (price?.is === 'twice') {
        return fromBucket(`${accountId}/${price.bucket}`, costOf(question), price.bucket)
      }
      return paid
    },

    /**
     * Takes the price of a large body, or 429. It is no more than half of the bucket: whoever waits can send whatever
     * is not refused for its size. Answers with what was paid in all.
     */
    async payForBytes(
      { clientAddress, accountId, bytes }: BodyFare,
      crossbar: SettingsOf<'crossbar'>,
      before: Payment | undefined,
    ): Promise<Payment | undefined> {
      if (crossbar.token_costs === 0) return before
      const { maxTokens } = await bucketSettings()
      const beyond = Math.max(0, bytes - crossbar.unjudged_body_size)
      const price = Math.ceil(beyond / crossbar.body_bytes_per_token)
      const key = bucketKey(clientAddress, accountId)
      const paid = await fromBucket(key, Math.min(price, Math.floor(maxTokens / 2)))
      return { ...paid, consumed: paid.consumed + (before?.consumed ?? 0) }
    },

    /**
     * Basic credentials are a sign-in each time they are not known yet: guesses pay its price, good ones get it back.
     * Answers with what gives it back.
     */
    async pledgeSignIn(clientAddress: string, crossbar: SettingsOf<'crossbar'>) {
      const { consumed } = await chargeSignIn(clientAddress, 'user_auth', crossbar.user_auth_tokens, crossbar)
      const size = await bucketSettings()
      return () => buckets.giveBack(bucketKey(clientAddress, undefined), consumed, size)
    },
  }
}
