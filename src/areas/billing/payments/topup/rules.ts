import { unitsOfDollars } from '../../../../lib/money.ts'

/** What an account says of being topped up. Dollars. */
export interface TopupDoc {
  amount?: unknown
  threshold?: unknown
}

/** Why an account is not topped up. */
type NoTopup =
  | 'topup_disabled'
  | 'amount_undefined'
  | 'threshold_undefined'
  | 'amount_and_threshold_undefined'
  | 'balance_above_threshold'
  | 'topup_daily_limit'

/** Once in this time an account is topped up by itself, whether that works or not. */
export const pauseMs = 24 * 3_600_000

const positiveUnits = (dollars: unknown) => {
  if (typeof dollars !== 'number' || !(dollars > 0)) return undefined
  const units = unitsOfDollars(dollars)
  return Number.isSafeInteger(units) && units > 0 ? units : undefined
}

const missing = (amount: unknown, threshold: unknown): NoTopup | undefined => {
  if (amount === undefined && threshold === undefined) return 'amount_and_threshold_undefined'
  if (amount === undefined) return 'amount_undefined'
  return threshold === undefined ? 'threshold_undefined' : undefined
}

interface Question {
  isEnabled: boolean
  topup: TopupDoc | undefined
  /** Units. */
  balance: number
  /** Unix milliseconds of the last one; 0 when there was none. */
  lastAt: number
  now: number
}

/** Units by which an account is to be topped up now, or why it is not. */
export const topupDue = ({ isEnabled, topup, balance, lastAt, now }: Question): number | NoTopup => {
  if (!isEnabled) return 'topup_disabled'
  const amount = positiveUnits(topup?.amount)
  const threshold = positiveUnits(topup?.threshold)
  const lack = missing(amount, threshold)
  if (lack) return lack
  if (balance >= (threshold as number)) return 'balance_above_threshold'
  return now - lastAt < pauseMs ? 'topup_daily_limit' : (amount as number)
}

interface ThresholdDoc {
  notifications?: unknown
  topup?: unknown
}

const thresholdIn = (part: unknown): number | undefined => {
  const threshold = (part as { threshold?: unknown } | undefined)?.threshold
  return typeof threshold === 'number' && Number.isFinite(threshold) ? unitsOfDollars(threshold) : undefined
}

/** Units below which a balance is low, as the account says: for its own sake, else for that of the top-up. */
export const lowBalanceThreshold = ({ notifications, topup }: ThresholdDoc): number | undefined =>
  thresholdIn((notifications as { low_balance?: unknown } | undefined)?.low_balance) ?? thresholdIn(topup)

export const topupDescription = (trigger: 'manual' | 'automatic') =>
  trigger === 'manual' ? 'Manual top-up' : 'Automatic top-up'
