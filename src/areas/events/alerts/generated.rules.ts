import { dollarsOfUnits } from '../../../lib/money.ts'
import { rowOf } from './rules.ts'
import type { Alert, AlertRow } from './schema.ts'

// Alerts that the server derives from the state of an account. The same cause has the same id.

const daysBefore = 60
const secondsBefore = daysBefore * 86_400

/** Money in units. */
interface Finances {
  accountId: string
  balance: number
  /** Undefined: the account has no threshold. */
  threshold: number | undefined
  /** How far below 0 the balance may go; undefined: not at all. */
  postpay: number | undefined
}

export interface ChargedToken {
  id: string
  /** Gregorian seconds. */
  expiration?: number
}

const generated = (
  accountId: string,
  id: string,
  alert: Pick<Alert, 'title' | 'message' | 'category' | 'metadata'>,
): AlertRow => {
  const from = [{ type: 'account' as const, value: accountId }]
  return rowOf(id, { ...alert, from }, { key: [accountId, 'users'], clearable: false })
}

/** The threshold that the balance has reached; undefined: none. */
export const lowBalance = ({ balance, threshold, postpay }: Finances): number | undefined => {
  if (threshold !== undefined) return balance < threshold ? threshold : undefined
  const limit = postpay ?? 0
  return balance <= limit ? limit : undefined
}

export const balanceRows = (finances: Finances): AlertRow[] => {
  const threshold = lowBalance(finances)
  if (threshold === undefined) return []
  const { accountId, balance } = finances
  const alert = {
    title: 'Balance below threshold',
    message: 'Please add credit to your account to avoid service interruption.',
    category: 'low_balance',
    metadata: { available: dollarsOfUnits(balance), threshold: dollarsOfUnits(threshold) },
  }
  return [generated(accountId, accountId, alert)]
}

const notInGoodStanding = {
  title: 'Account not in good standing',
  message: 'Please pay the amount due to avoid service interruption.',
  category: 'not_good_standing',
}

export const standingRows = (accountId: string, isGood: boolean): AlertRow[] =>
  isGood ? [] : [generated(accountId, accountId, notInGoodStanding)]

const noToken = {
  title: 'No payment token configured',
  message: 'Please add a payment token to avoid service interruption.',
  category: 'no_payment_token',
  metadata: {},
}

export const tokenRows = (accountId: string, token: ChargedToken | undefined, now: number): AlertRow[] => {
  if (!token) return [generated(accountId, accountId, noToken)]
  if (token.expiration === undefined || token.expiration > now + secondsBefore) return []
  const alert = {
    title: 'Payment method expired or about to expire',
    message: 'Please update your payment tokens to avoid service interruption.',
    category: 'expired_payment_token',
    metadata: { ...token },
  }
  return [generated(accountId, token.id, alert)]
}

export interface PortingNumber {
  number: string
  state: 'port_in' | 'port_out'
}

const portMessages = {
  port_in: 'is being ported in: complete the port, or release the number.',
  port_out: 'is being ported out: complete the port, or activate the number again.',
} as const

export const portRows = (accountId: string, numbers: readonly PortingNumber[]): AlertRow[] =>
  numbers.map(({ number, state }) =>
    generated(accountId, number, {
      title: 'Port request requires action',
      message: `The number ${number} ${portMessages[state]}`,
      category: 'port_action_required',
      metadata: { name: number, state },
    }),
  )
