import type { Clock } from '../../lib/clock.ts'
import { memberOf } from '../../lib/member.ts'
import type { SharedRows } from '../../lib/shared-rows.ts'

/** What a request costs in throttling tokens, when that is not the ordinary price alone. */
export type Price =
  /** Nothing, unless `token_costs` names a price for it: machines ask it at the pace of packets. */
  | { is: 'free' }
  /** A sign-in, in place of the ordinary price: the name of the setting that holds it. */
  | { is: 'signIn'; setting: 'user_auth_tokens' | 'api_auth_tokens' }
  /** Paid a second time, from the bucket that the account has for this application of `token_buckets`. */
  | { is: 'twice'; bucket: string }
  /** Has a password derived when one of these keys is in the data: `derivation_tokens` beside the ordinary price. */
  | { is: 'secret'; keys: readonly string[] }
  /** Starts a call, which is paid beside the request; HEAD does not do it. */
  | { is: 'call'; extra: ExtraCost }

/** A cost that stands in `token_costs` as `action`, under one of these resources: the first that has it counts. */
export interface ExtraCost {
  action: string
  under: readonly string[]
}

// Who pays how much for a request, and whether the bucket holds it. Runs on each request, so: no keys built by
// joining texts, no timers. Buckets refill lazily; nothing runs between requests.

export interface BucketSettings {
  readonly maxTokens: number
  readonly fillTokens: number
  readonly fillMilliseconds: number
  readonly inactivityMilliseconds: number
  /** How many times as much the bucket of an IPv6 site (/48) holds as that of one network in it (/64). */
  readonly siteFactor: number
}

export interface Charge {
  readonly allowed: boolean
  /** What the request was charged: a refused login its whole price, though the bucket held less. */
  readonly consumed: number
  readonly remaining: number
  /** 0 when allowed; else when the same request can pass at the earliest. */
  readonly retryAfterSeconds: number
}

interface TokenBuckets {
  /** Takes the tokens, or refuses and takes nothing. `again`: what has to be there for the whole of it to be tried again. */
  consume(key: string, tokens: number, settings: BucketSettings, again?: number): Charge
  /** For logins: takes the tokens, or refuses and empties the bucket. */
  consumeUntil(key: string, tokens: number, settings: BucketSettings): Charge
  /** Takes a payment back; a bucket never holds more than its size. */
  giveBack(key: string, tokens: number, settings: BucketSettings): void
}

interface Bucket {
  tokens: number
  /** End of the last whole fill period. */
  filledAt: number
  usedAt: number
}

/** `<client address or network>/<account id>`. Only resolved account ids: else each invented one opens a full bucket. */
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
  // A bucket that rests longer than this starts full again.
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

/** Where buckets are. */
interface BucketPlaces {
  /** Calls `use` with the bucket of a key, which is new and full where there is none. */
  with<T>(key: string, now: number, settings: BucketSettings, use: (bucket: Bucket) => T): T
}

const newBucket = (now: number, settings: BucketSettings): Bucket => ({
  tokens: settings.maxTokens,
  filledAt: now,
  usedAt: now,
})

/** In the memory of this thread. At most twice `capacity` are kept; beyond that the longest unused ones are forgotten. */
const bucketsInMemory = (clock: Clock, capacity: number): BucketPlaces => {
  // Two generations instead of a sweep: what was not used since the last turn but one is dropped as a whole.
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

/** How many numbers a bucket has in shared rows. */
export const bucketColumns = 3

/** In memory that the threads of a process share. */
const bucketsInRows = (rows: SharedRows): BucketPlaces => ({
  with(key, now, settings, use) {
    // Any row may make room, so there always is one.
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
  /** Of buckets in the memory of this thread. */
  capacity?: number
  /** Where the threads of a process share them, with room for `bucketColumns` numbers each. */
  shared?: SharedRows | undefined
}

export const createTokenBuckets = ({ clock, capacity = 50_000, shared }: BucketDeps): TokenBuckets => {
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
    consume: (key, tokens, settings, again = tokens) =>
      inBucket(key, settings, (bucket, now) =>
        isPayable(bucket, tokens) ? take(bucket, tokens) : refusal(bucket, 0, again, now, settings),
      ),
    consumeUntil: (key, tokens, settings) =>
      inBucket(key, settings, (bucket, now) => {
        if (isPayable(bucket, tokens)) return take(bucket, tokens)
        bucket.tokens = 0
        return refusal(bucket, tokens, tokens, now, settings)
      }),
    giveBack: (key, tokens, settings) =>
      inBucket(key, settings, (bucket) => {
        bucket.tokens = Math.min(settings.maxTokens, bucket.tokens + tokens)
      }),
  }
}

interface CostQuestion {
  /** `crossbar.token_costs`: a number, or numbers under the keys of the specification. */
  tokenCosts: unknown
  /** The account in the path. */
  accountId?: string | undefined
  /** The last resource name of the path. */
  endpoint: string
  method: string
  /** What is paid beside the request. */
  extra?: ExtraCost
  /** What the place costs without a setting: 1, a login 35, a free place 0. */
  fallback: number
}

// Other keys may continue where a price is looked for: an object there is no price.
const isCost = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** The first cost of these paths. A path is written as nested objects or, as the specification prints it, with dots. */
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

/** The price of a request in tokens; 0 is free. */
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
 * The settings in a `token_buckets` document. For each key the first usable value wins: of the application (in the
 * default section, or beside it), of `default.default`, where servers of this API read the size, of `default`.
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
