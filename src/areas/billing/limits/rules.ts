import type { Problems } from '../../../lib/failure.ts'
import type { OperatorLimits } from '../../../lib/limit-shapes.ts'
import { decimalsOf } from '../../../lib/money.ts'
import type { Warning } from '../../../settings/unknown-keys.ts'
import type { EffectiveLimits, Limits } from './schema.ts'

/** Trunks that are counted and priced. */
export const pricedTrunks = ['twoway_trunks', 'inbound_trunks', 'outbound_trunks'] as const

/** The setting that names the users or devices that add one trunk each. */
const bundles = {
  twoway_trunks: 'bundled_twoway_trunks',
  inbound_trunks: 'bundled_inbound_trunks',
  outbound_trunks: 'bundled_outbound_trunks',
} as const

/** The limits of an account that never set any. */
export const noWishes = {
  twoway_trunks: 0,
  inbound_trunks: 0,
  outbound_trunks: 0,
  burst_trunks: 0,
  calls: -1,
  resource_consuming_calls: -1,
  allow_prepay: true,
  authz_resource_types: [],
} satisfies Limits

type WholeLimits = Limits & Required<Omit<Limits, 'call_restriction'>>

export const withDefaults = (limits: Limits | undefined): WholeLimits => ({ ...noWishes, ...limits })

/** Calls are restricted by the account, its users and its devices. */
export const restrictionWarnings = ({ call_restriction: restriction = {} }: Limits): Warning[] =>
  Object.keys(restriction).length === 0
    ? []
    : [
        {
          path: 'call_restriction',
          message: 'Has no effect in limits: set it on the account, a user or a device',
        },
      ]

const operatorOnly: readonly string[] = ['id', 'allow_postpay', 'max_postpay_amount']

export const withoutOperatorKeys = <T extends object>(data: T): T =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !operatorOnly.includes(key))) as T

const trunkCount = (trunks: number | undefined) => Math.max(0, trunks ?? 0)

export const trunkMoves = (before: Limits | undefined, after: Limits) =>
  pricedTrunks.map((item) => ({ item, delta: trunkCount(after[item]) - trunkCount(before?.[item]) }))

/** The operator's cap: 0 allows none, a negative one any number. */
const trunksOf = (wished: number, cap: number | undefined) => {
  if (cap === undefined || cap < 0) return wished
  return wished < 0 ? cap : Math.min(wished, cap)
}

const callsOf = (wished: number, cap = -1) => {
  const limiting = [wished, cap].filter((calls) => calls >= 0)
  return limiting.length === 0 ? -1 : Math.min(...limiting)
}

/** Counts enabled devices or users of the account. */
export type CountOf = (type: 'device' | 'user') => number

export const effectiveLimits = (
  wishes: WholeLimits,
  operator: OperatorLimits,
  count: CountOf,
): EffectiveLimits => {
  const trunks = (name: (typeof pricedTrunks)[number]) => {
    const allowed = trunksOf(wishes[name], operator[name])
    const type = operator[bundles[name]]
    return allowed < 0 || type === undefined ? allowed : allowed + count(type)
  }
  return {
    enabled: operator.enabled ?? true,
    twoway_trunks: trunks('twoway_trunks'),
    inbound_trunks: trunks('inbound_trunks'),
    outbound_trunks: trunks('outbound_trunks'),
    burst_trunks: trunksOf(wishes.burst_trunks, operator.burst_trunks),
    calls: callsOf(wishes.calls, operator.calls),
    resource_consuming_calls: callsOf(wishes.resource_consuming_calls, operator.resource_consuming_calls),
    allow_prepay: wishes.allow_prepay && (operator.allow_prepay ?? true),
    allow_postpay: operator.allow_postpay ?? false,
    max_postpay_amount: operator.max_postpay_amount ?? 0,
    reserve_amount: operator.reserve_amount ?? 0.5,
    soft_limit_inbound: operator.soft_limit_inbound ?? false,
    soft_limit_outbound: operator.soft_limit_outbound ?? false,
    authz_resource_types: wishes.authz_resource_types,
  }
}

const amounts = ['max_postpay_amount', 'reserve_amount'] as const
const maxDecimals = 4

export const amountProblems = (limits: OperatorLimits): Problems => {
  const inexact = amounts.filter((key) => (decimalsOf(limits[key] ?? 0) ?? 0) > maxDecimals)
  const decimals = { message: `Money has at most ${maxDecimals} decimals`, target: maxDecimals }
  return Object.fromEntries(inexact.map((key) => [key, { decimals }]))
}
