import type { StoredMeans } from '../../../../payment/gateway.ts'
import type { Bookkeeper } from '../pricing/plan.ts'

export interface PaymentToken {
  id: string
  bookkeeper: { type: string; vendor_id: string }
  /** The one that is charged. */
  default: boolean
  /** Gregorian seconds. */
  created: number
  modified: number
  /** Gregorian seconds; absent if it does not expire. */
  expiration?: number
  /** `last_four`, `brand` and the like. */
  metadata: Record<string, string>
}

export type PaymentTokens = Readonly<Record<string, PaymentToken>>

type TokenKeeper = Pick<Bookkeeper, 'type' | 'vendor_id'>

const isAt =
  ({ type, vendor_id: vendorId }: TokenKeeper) =>
  ({ bookkeeper }: PaymentToken) =>
    bookkeeper.type === type && bookkeeper.vendor_id === vendorId

const tokensAt = (tokens: PaymentTokens, place: TokenKeeper) => Object.values(tokens).filter(isAt(place))

export const defaultToken = (tokens: PaymentTokens, place: TokenKeeper): PaymentToken | undefined =>
  tokensAt(tokens, place).find((token) => token.default)

export const isExpired = ({ expiration }: PaymentToken, nowGregorian: number) =>
  expiration !== undefined && expiration < nowGregorian

/** Makes one the default among those at its bookkeeper. */
export const withDefault = (tokens: PaymentTokens, id: string, nowGregorian: number): PaymentTokens => {
  const chosen = tokens[id]
  if (!chosen) return tokens
  const others = isAt(chosen.bookkeeper)
  return Object.fromEntries(
    Object.entries(tokens).map(([key, token]) => {
      const isChosen = key === id
      if (!others(token) || token.default === isChosen) return [key, token]
      return [key, { ...token, default: isChosen, modified: nowGregorian }]
    }),
  )
}

/** The first one at a bookkeeper is the default. */
export const tokensWith = (
  tokens: PaymentTokens,
  { type, vendor_id }: TokenKeeper,
  { token: id, expiration, metadata }: StoredMeans,
  nowGregorian: number,
): PaymentTokens => {
  const added: PaymentToken = {
    id,
    bookkeeper: { type, vendor_id },
    default: tokens[id]?.default ?? defaultToken(tokens, { type, vendor_id }) === undefined,
    created: tokens[id]?.created ?? nowGregorian,
    modified: nowGregorian,
    ...(expiration === undefined ? {} : { expiration }),
    metadata,
  }
  return { ...tokens, [id]: added }
}

/** The newest other one replaces a default. */
export const withoutToken = (tokens: PaymentTokens, id: string, nowGregorian: number): PaymentTokens => {
  const { [id]: gone, ...rest } = tokens
  if (!gone?.default) return rest
  const [next] = tokensAt(rest, gone.bookkeeper).toSorted((a, b) => b.created - a.created)
  return next ? withDefault(rest, next.id, nowGregorian) : rest
}
