import type { Clock } from '../../lib/clock.ts'
import { failure } from '../../lib/failure.ts'
import type { SettingsOf } from '../../settings/documents.ts'
import type { Settings, SettingsDoc } from '../../settings/settings.ts'
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

export interface Fare {
  clientAddress: string
  /** The resolved account in the path. */
  accountId: string | undefined
  endpoint: string
  method: string
  quickcall?: boolean
  /** Without a price of its own it costs nothing. */
  free?: boolean | undefined
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

  return {
    /** Takes the price of an ordinary request, or 429. */
    async charge({ clientAddress, accountId, free, ...fare }: Fare, crossbar: SettingsOf<'crossbar'>) {
      const fallback = free ? 0 : 1
      const price = costOf({ ...fare, accountId, tokenCosts: crossbar.token_costs, fallback })
      return assertPaid(buckets.consume(bucketKey(clientAddress, accountId), price, await bucketSettings()))
    },

    /** Takes the price of a request from the bucket that an account has for one application, or 429. */
    async chargeBucket(name: string, { accountId, ...fare }: Fare, crossbar: SettingsOf<'crossbar'>) {
      const price = costOf({ ...fare, accountId, tokenCosts: crossbar.token_costs, fallback: 1 })
      return assertPaid(buckets.consume(`${accountId}/${name}`, price, await bucketSettings(name)))
    },

    /** Takes the price of a sign-in, or 429 and an empty bucket. */
    async chargeSignIn(
      clientAddress: string,
      endpoint: string,
      fallback: number,
      crossbar: SettingsOf<'crossbar'>,
    ) {
      const price = costOf({ endpoint, method: 'PUT', tokenCosts: crossbar.token_costs, fallback })
      return assertPaid(
        buckets.consumeUntil(bucketKey(clientAddress, undefined), price, await bucketSettings()),
      )
    },

    /**
     * Basic credentials are a sign-in each time they are not known yet: guesses pay its price, good ones get it back.
     * Answers with what gives it back.
     */
    async pledgeSignIn(clientAddress: string, crossbar: SettingsOf<'crossbar'>) {
      const { consumed } = await this.chargeSignIn(
        clientAddress,
        'user_auth',
        crossbar.user_auth_tokens,
        crossbar,
      )
      const size = await bucketSettings()
      return () => buckets.giveBack(bucketKey(clientAddress, undefined), consumed, size)
    },
  }
}
