import type { Clock } from '../../lib/clock.ts'
import { memberOf } from '../../lib/member.ts'
import type { SharedRows } from '../../lib/shared-rows.ts'

/** The price of a request, if it is not the ordinary one. */
export type Price =
  /** Free unless `token_costs` has a price. */
  | { is: 'free' }
  /** A sign-in: the setting with its price, which replaces the ordinary one. */
  | { is: 'signIn'; setting: 'user_auth_tokens' | 'api_auth_tokens' }
  /** Paid again from the account's bucket of this application. */
  | { is: 'twice'; bucket: string }
  /** A password is hashed if one of these keys is in the data: `derivation_tokens` are added. */
  | { is: 'secret'; keys: readonly string[] }
  /** Starts a call, which is paid in addition. HEAD does not start it. */
  | { is: 'call'; extra: ExtraCost }

/** A cost in `token_costs` named `action`, under the first of these resources that has it. */
export interface ExtraCost {
  action: string
  under: readonly string[]
}

// Runs on each request, so it uses no timers: buckets refill lazily.

export interface BucketSettings {
  readonly maxTokens: number
  readonly fillTokens: number
  readonly fillMilliseconds: number
  readonly inactivityMilliseconds: number
  /** The size of a bucket for an IPv6 /48, in buckets of a /64. */
  readonly siteFactor: number
}

export interface Charge {
  readonly allowed: boolean
  /** A rejected sign-in is charged its whole price, though the bucket had less. */
  readonly consumed: number
  readonly remaining: number
  /** 0 when allowed; else when the same request can pass at the earliest. */
  readonly retryAfterSeconds: number
}

interface Bucket {
  tokens: number
  /** End of the last whole fill period. */
  filledAt: number
  usedAt: number
}

/** Only for existing accounts: otherwise each invented id would have a full bucket. */
export const bucketKey = (address: string | undefined, accountId: string | undefined) =>
  `${address ?? 'no_ip'}/${accountId ?? 'no_account'}`

const refill = (bucket: Bucket, now: number, settings: BucketSettings) => {
  // The clock may have been set back.
  if (now < bucket.filledAt) bucket.filledAt = now
  const periods = Math.floor((now - bucket.filledAt) / settings.fillMilliseconds)
  bucket.filledAt += periods * settings.fillMilliseconds
  bucket.tokens = Math.min(settings.maxTokens, bucket.tokens + periods * settings.fillTokens)
}

const fill = (bucket: Bucket, now: number, settings: BucketSettings) => {
  bucket.tokens = settings.maxTokens
  bucket.filledAt = now
}

const millisecondsUntil = (bucket: Bucket, tokens: number, now: number, settings: BucketSettings) => {
  const missing = Math.min(tokens, settings.maxTokens) - bucket.tokens
  const periods = Math.ceil(missing / settings.fillTokens)
  const refilled = bucket.filledAt + periods * settings.fillMilliseconds - now
  // An unused bucket becomes full.
  return Math.min(refilled, settings.inactivityMilliseconds + 1)
}

const refusal = (
  bucket: Bucket,
  consumed: number,
  tokens: number,
  now: number,
  settings: BucketSettings,
): Charge => ({
  allowed: false,
  consumed,
  remaining: bucket.tokens,
  retryAfterSeconds: Math.max(1, Math.ceil(millisecondsUntil(bucket, tokens, now, settings) / 1000)),
})

interface BucketPlaces {
  /** Creates a full bucket if there is none. */
  with<T>(key: string, now: number, settings: BucketSettings, use: (bucket: Bucket) => T): T
}

const newBucket = (now: number, settings: BucketSettings): Bucket => ({
  tokens: settings.maxTokens,
  filledAt: now,
  usedAt: now,
})

/** At most twice `capacity` buckets; the longest unused ones are evicted. */
const bucketsInMemory = (clock: Clock, capacity: number): BucketPlaces => {
  // Two generations instead of a sweep: buckets unused for two turns are dropped at once.
  let recent = new Map<string, Bucket>()
  let older = new Map<string, Bucket>()
  let turnedAt = clock.now()

  const turn = (now: number) => {
    older = recent
    recent = new Map()
    turnedAt = now
  }

  const bringForward = (key: string, now: number, settings: BucketSettings): Bucket => {
    if (recent.size >= capacity) turn(now)
    const bucket = older.get(key) ?? newBucket(now, settings)
    older.delete(key)
    recent.set(key, bucket)
    return bucket
  }

  return {
    with(key, now, settings, use) {
      if (now - turnedAt > settings.inactivityMilliseconds) turn(now)
      return use(recent.get(key) ?? bringForward(key, now, settings))
    },
  }
}

export const bucketColumns = 3

const bucketsInRows = (rows: SharedRows): BucketPlaces => ({
  with(key, now, settings, use) {
    // Any row may be evicted, so there always is one.
    return rows.at(key, (row) => {
      const bucket = row.isNew
        ? newBucket(now, settings)
        : { tokens: row.read(0), filledAt: row.read(1), usedAt: row.read(2) }
      const result = use(bucket)
      row.write(0, bucket.tokens)
      row.write(1, bucket.filledAt)
      row.write(2, bucket.usedAt)
      return result
    }) as ReturnType<typeof use>
  },
})

interface BucketDeps {
  clock: Clock
  capacity?: number
  shared?: SharedRows | undefined
}

export const createTokenBuckets = ({ clock, capacity = 50_000, shared }: BucketDeps) => {
  const places = shared ? bucketsInRows(shared) : bucketsInMemory(clock, capacity)

  const inBucket = <T>(key: string, settings: BucketSettings, use: (bucket: Bucket, now: number) => T): T => {
    const now = clock.now()
    return places.with(key, now, settings, (bucket) => {
      if (now - bucket.usedAt > settings.inactivityMilliseconds) fill(bucket, now, settings)
      else refill(bucket, now, settings)
      bucket.usedAt = now
      return use(bucket, now)
    })
  }

  const take = (bucket: Bucket, tokens: number): Charge => {
    const consumed = Math.max(0, tokens)
    bucket.tokens -= consumed
    return { allowed: true, consumed, remaining: bucket.tokens, retryAfterSeconds: 0 }
  }

  const isPayable = (bucket: Bucket, tokens: number) => tokens <= 0 || tokens <= bucket.tokens

  return {
    /** Takes the tokens, or nothing. `again`: the tokens that a repeated request needs. */
    consume: (key: string, tokens: number, settings: BucketSettings, again = tokens): Charge =>
      inBucket(key, settings, (bucket, now) =>
        isPayable(bucket, tokens) ? take(bucket, tokens) : refusal(bucket, 0, again, now, settings),
      ),
    /** For sign-ins: takes the tokens, or empties the bucket. */
    consumeUntil: (key: string, tokens: number, settings: BucketSettings): Charge =>
      inBucket(key, settings, (bucket, now) => {
        if (isPayable(bucket, tokens)) return take(bucket, tokens)
        bucket.tokens = 0
        return refusal(bucket, tokens, tokens, now, settings)
      }),
    giveBack: (key: string, tokens: number, settings: BucketSettings) =>
      inBucket(key, settings, (bucket) => {
        bucket.tokens = Math.min(settings.maxTokens, bucket.tokens + tokens)
      }),
  }
}

interface CostQuestion {
  /** A number, or numbers under the keys of the specification. */
  tokenCosts: unknown
  accountId?: string | undefined
  endpoint: string
  method: string
  extra?: ExtraCost
  /** Without a setting: 1, for a sign-in 35, for a free route 0. */
  fallback: number
}

// Other keys may follow where a price is expected: an object is not a price.
const isCost = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** Paths are nested objects or, as in the specification, dotted keys. */
const firstCost = (costs: unknown, paths: readonly (readonly string[])[]): number | undefined =>
  paths.flatMap((path) => [memberOf(costs, ...path), memberOf(costs, path.join('.'))]).find(isCost)

const ordinaryCost = (costs: unknown, { accountId, endpoint, method }: CostQuestion) => {
  const anywhere = [[endpoint, method], [endpoint]]
  const ofAccount =
    accountId === undefined ? [] : [...anywhere.map((path) => [accountId, ...path]), [accountId]]
  return firstCost(costs, [...ofAccount, ...anywhere])
}

const extraCost = (costs: unknown, { action, under }: ExtraCost, { accountId, method }: CostQuestion) => {
  const anywhere = [
    ...under.map((resource) => [resource, method, action]),
    ...under.map((resource) => [resource, action]),
  ]
  const ofAccount = accountId === undefined ? [] : [...anywhere, [action]].map((path) => [accountId, ...path])
  return firstCost(costs, [...ofAccount, ...anywhere])
}

export const costOf = (question: CostQuestion): number => {
  const { tokenCosts, fallback, extra } = question
  if (typeof tokenCosts === 'number') {
    if (tokenCosts === 0 || fallback === 0) return 0
    return Math.max(tokenCosts, fallback)
  }
  const cost = extra ? extraCost(tokenCosts, extra, question) : ordinaryCost(tokenCosts, question)
  return cost ?? fallback
}

const fillMilliseconds = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

const isFillTime = (value: unknown): value is keyof typeof fillMilliseconds =>
  typeof value === 'string' && Object.hasOwn(fillMilliseconds, value)

const isPositive = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && Number.isFinite(value)

/**
 * Settings of a `token_buckets` document. The first usable value wins: of the application (in `default` or at
 * the top level), of `default.default`, of `default`.
 */
export const bucketSettingsOf = (document: unknown, application: string): BucketSettings => {
  const section = memberOf(document, 'default')
  const places = [
    memberOf(section, application),
    memberOf(document, application),
    memberOf(section, 'default'),
    section,
  ]
  const firstOf = <T>(key: string, isUsable: (value: unknown) => value is T, standard: T): T =>
    places.map((place) => memberOf(place, key)).find(isUsable) ?? standard
  return {
    maxTokens: firstOf('max_bucket_tokens', isPositive, 100),
    fillTokens: firstOf('tokens_fill_rate', isPositive, 10),
    fillMilliseconds: fillMilliseconds[firstOf('tokens_fill_time', isFillTime, 'second')],
    inactivityMilliseconds: firstOf('inactivity_timeout_s', isPositive, 600) * 1000,
    siteFactor: firstOf('ipv6_site_factor', isPositive, 8),
  }
}
