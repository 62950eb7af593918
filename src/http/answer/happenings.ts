import {
  billingIssue,
  chargesNotAccepted,
  type Failure,
  isFailure,
  notEnoughCredit,
  SignInRefusal,
  tooManyRequests,
} from '../../lib/failure.ts'
import type { EventDraft } from '../../storage/change-set.ts'
import { authorOf } from '../author.ts'
import type { RequestContext } from '../exchange.ts'

// Refusals that subscribers hear of.

/** What an answer says. */
interface Said {
  status: number
  message: string
  data?: unknown
}

const paymentRequired = 402
const longestTold = 16_384

/** Who was to pay. */
const payerIn = ({ actor, account }: RequestContext, error: Failure) => {
  if (isFailure(error, notEnoughCredit)) return error.details.accountId
  const asksPayer = isFailure(error, chargesNotAccepted) || isFailure(error, billingIssue)
  return asksPayer ? actor?.accountId : (account?.id ?? actor?.accountId)
}

const refusedCharge = (
  exchange: RequestContext,
  error: Failure,
  { message, data }: Said,
): EventDraft | undefined => {
  const accountId = payerIn(exchange, error)
  if (accountId === undefined) return undefined
  const whole = JSON.stringify({ reason: message, data })
  const after = whole.length > longestTold ? JSON.stringify({ reason: message }) : whole
  return { accountId, type: 'charge.refused', kind: 'charge', id: accountId, after }
}

const refusedSignIn = ({ clientAddress }: RequestContext, { cause }: Failure): EventDraft | undefined => {
  if (!(cause instanceof SignInRefusal) || cause.accountId === undefined) return undefined
  const { accountId, message: reason } = cause
  const after = JSON.stringify({ reason, client_address: clientAddress })
  return { accountId, type: 'sign_in.refused', kind: 'account', id: accountId, after }
}

const happeningIn = (exchange: RequestContext, error: Failure, said: Said): EventDraft | undefined => {
  if (said.status === paymentRequired) return refusedCharge(exchange, error, said)
  // One wrong password is everybody's; too many are somebody's who guesses.
  return isFailure(error, tooManyRequests) ? refusedSignIn(exchange, error) : undefined
}

/** Tells subscribers that a request was refused, where that is their business. */
export const reportRefusal = (exchange: RequestContext, error: Failure, said: Said) => {
  const happening = happeningIn(exchange, error, said)
  if (happening) exchange.frame.refusals.tell(authorOf(exchange), happening)
}
