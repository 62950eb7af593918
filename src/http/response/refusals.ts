import {
  accountExpired,
  billingIssue,
  chargesNotAccepted,
  Failure,
  forbidden,
  invalidCredentials,
  isFailure,
  notEnoughCredit,
  SignInRefusal,
  tooManyRequests,
  validationError,
} from '../../lib/failure.ts'
import type { EventDraft } from '../../storage/change-set.ts'
import { authorOf, type RequestContext } from '../exchange.ts'

// One log line for each rejected caller. Programs read it (examples/fail2ban): the address comes before all that callers choose.

interface Told {
  message: 'sign-in refused' | 'access denied'
  reason: string
  accountId?: string | undefined
}

/** The disabled account: itself or a parent. */
const disabledIn = (failure: Failure) => {
  const problem = isFailure(failure, validationError) ? failure.details.problems.account?.disabled : undefined
  return typeof problem?.cause === 'string' ? problem.cause : undefined
}

const closedIn = (failure: Failure): Pick<Told, 'reason' | 'accountId'> | undefined => {
  const accountId = disabledIn(failure)
  if (accountId !== undefined) return { reason: 'the account is disabled', accountId }
  if (!isFailure(failure, accountExpired)) return undefined
  return { reason: 'the trial of the account has ended', accountId: failure.details.accountId }
}

const bringsPassword = ({ credential, refusal }: RequestContext, error: unknown) =>
  error === refusal && credential?.kind === 'basic'

const reasonOf = ({ cause, kind }: Failure) =>
  typeof cause === 'string' ? cause : kind.name.replaceAll('_', ' ')

const tellSignIn = (error: Failure): Told | undefined => {
  const message = 'sign-in refused'
  const { cause } = error
  if (cause instanceof SignInRefusal) return { message, reason: cause.message, accountId: cause.accountId }
  const closed = closedIn(error)
  return closed && { message, ...closed }
}

const tellDenial = (error: Failure): Told | undefined => {
  const message = 'access denied'
  const closed = closedIn(error)
  if (closed) return { message, ...closed }
  if (!isFailure(error, invalidCredentials) && !isFailure(error, forbidden)) return undefined
  return { message, reason: reasonOf(error) }
}

/** Undefined for other failures, and for the request for a second factor. */
const refusalLine = (exchange: RequestContext, error: Failure) => {
  const isSignIn = exchange.route?.spec.price?.is === 'signIn' || bringsPassword(exchange, error)
  return isSignIn || error.cause instanceof SignInRefusal ? tellSignIn(error) : tellDenial(error)
}

export const logRefusal = (exchange: RequestContext, error: unknown, status: number) => {
  const { frame, clientAddress, account, actor, route, id } = exchange
  if (!(error instanceof Failure) || !frame.log.enabled('info')) return
  const line = refusalLine(exchange, error)
  if (!line) return
  frame.log.write('info', line.message, {
    client_address: clientAddress,
    account_id: line.accountId ?? account?.id ?? actor?.accountId,
    actor: actor?.user?.id,
    reason: line.reason,
    status,
    method: exchange.method,
    route: route?.path,
    request_id: id,
    trace_id: exchange.trace.traceId,
  })
}

interface Said {
  status: number
  message: string
  data?: unknown
}

const paymentRequired = 402
const longestTold = 16_384

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
  // A single wrong password is not an event; too many are.
  return isFailure(error, tooManyRequests) ? refusedSignIn(exchange, error) : undefined
}

/** Sends an event about a rejected charge or sign-in. */
export const reportRefusal = (exchange: RequestContext, error: Failure, said: Said) => {
  const happening = happeningIn(exchange, error, said)
  if (happening) exchange.frame.refusals.tell(authorOf(exchange), happening)
}
