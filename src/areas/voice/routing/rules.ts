import { invalid } from '../../../lib/failure.ts'
import type { EffectiveLimits } from '../../billing/limits/schema.ts'
import { locationOf, refused, routeResponse, type Said } from './answers.rules.ts'
import {
  disabledPart,
  emergencyName,
  hiddenIf,
  idOf,
  internalId,
  type Party,
  partyAt,
} from './callers.rules.ts'
import {
  type AccountFacts,
  type Asking,
  type CallflowFacts,
  createAsking,
  type Known,
  type RouteQuery,
  type Want,
} from './facts.ts'
import { boundOf } from './offnet.rules.ts'
import type { RouteAnswer } from './schema.ts'
import { ended, type Stage } from './stages.ts'
import { type CallflowQuery, createDecision, type Decision, type Place, type Rules } from './walk.ts'

/** How long an edge may go on without asking again, and so how late it may hear of a change. */
export const maxAgeSeconds = 60

/** An empty parameter counts as one that was not given. */
const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

const longestNumber = 64
const longestName = 64

/** What an edge asks, or a 400. */
export const questionIn = (query: URLSearchParams): RouteQuery => {
  const number = given(query, 'number')
  if (number === undefined)
    throw invalid({ number: { required: { message: 'Field is required but missing', value: 'number' } } })
  if (number.length > longestNumber) {
    const message = `String must not be more than ${longestNumber} characters`
    throw invalid({ number: { maxLength: { message, target: longestNumber, value: number } } })
  }
  return {
    realm: given(query, 'realm'),
    accountId: given(query, 'account_id'),
    number,
    deviceId: given(query, 'from_device'),
    caller: given(query, 'caller'),
    callerName: given(query, 'caller_name')?.slice(0, longestName),
    isWithheld: query.get('privacy') === 'full',
  }
}

const variablesOf = (caller: Party | undefined, question: CallflowQuery) => ({
  ...(question.from === 'carrier' ? { authorizing_type: 'resource' } : {}),
  ...(caller?.device ? { authorizing_id: caller.device.id, authorizing_type: 'device' } : {}),
  ...(caller?.user ? { owner_id: caller.user.id } : {}),
})

const emergencyRoute = (
  decision: Decision,
  caller: Party,
  number: string,
  question: CallflowQuery,
): RouteAnswer => {
  const dialled = decision.dial(caller, number)
  const place: Place = {
    account: caller.account,
    path: [],
    dialled,
    payer: caller,
    callerId: {},
    outsideId: () => ({}),
    isDirect: true,
  }
  const wanted = [...decision.wantedBy(caller, 'emergency'), ...decision.wantedBy(caller, 'external')]
  // An account without numbers here has them elsewhere: emergency services need one to call back.
  const callback = decision.shownNumber(caller.account, wanted) ?? wanted[0]
  const callerId = idOf(emergencyName(caller), callback)
  const address =
    callback === undefined ? undefined : decision.ask('emergencyAddress', caller.account.id, callback)
  const stage = decision.gateways(place, dialled, callerId)
  const variables = { ...variablesOf(caller, question), classification: dialled.classification ?? '' }
  const said = { number: dialled.text, variables, limits: {}, accountId: caller.account.id }
  return {
    ...routeResponse(stage, said),
    emergency: true,
    ...(address && callback !== undefined ? { location: locationOf(callback, address) } : {}),
  }
}

const callsOf = (limits: EffectiveLimits | undefined) => (limits?.enabled ? boundOf(limits.calls) : undefined)

/** What is known of the call when it is decided where it goes. */
const decided = (decision: Decision, stage: Stage, said: Said & { callflow: CallflowFacts | undefined }) => {
  const { accountId, callflow } = said
  const charge = decision.charges.find(({ account }) => account === accountId)
  const classification = decision.classificationOf()
  const variables = {
    ...said.variables,
    ...(callflow ? { callflow_id: callflow.id } : {}),
    ...(classification === undefined ? {} : { classification }),
  }
  const limits = {
    ...said.limits,
    ...(charge?.calls === undefined ? {} : { carrier_calls: charge.calls }),
  }
  return routeResponse(stage, { ...said, variables, limits })
}

/** A call of somebody of the account. */
const fromAccount = (
  decision: Decision,
  asking: Asking,
  account: AccountFacts,
  question: CallflowQuery,
): RouteAnswer => {
  const { ask } = decision
  const { deviceId, number } = question
  const device = deviceId === undefined ? undefined : ask('device', account.id, deviceId)
  const caller = device ? partyAt(asking, account, device) : { account }
  const dialled = decision.dial(caller, number)
  // No answer yet: it is asked again when it is known who calls.
  if (decision.isOpen()) return refused('unknown_device', number)
  if (dialled.isEmergency) return emergencyRoute(decision, caller, number, question)
  const written = dialled.phone ?? dialled.text
  if (deviceId !== undefined && !device) return refused('unknown_device', written, account.id)
  const disabled = disabledPart(caller)
  if (disabled) return refused(disabled, written, account.id)
  const calls = callsOf(ask('limits', account.id))
  if (calls === 0) return refused('limit_reached', written, account.id)
  const callerId = hiddenIf(question.isWithheld, internalId(caller, question.caller))
  const listing = decision.others(account.id, dialled)
  const place: Place = {
    account,
    path: [],
    dialled,
    payer: caller,
    callerId,
    outsideId: () => hiddenIf(question.isWithheld, decision.outsideIdOf(caller)),
    isDirect: true,
  }
  const trunk = listing ? undefined : decision.overTrunk(dialled, place)
  const callflow = listing ?? (trunk ? undefined : decision.leftOver(account.id))
  const stage = callflow ? decision.enter(callflow, place) : (trunk ?? ended({ reason: 'unknown_number' }))
  const said = {
    number: written,
    variables: variablesOf(caller, question),
    limits: calls === undefined ? {} : { calls },
    accountId: account.id,
    callflow,
  }
  return decided(decision, stage, said)
}

/** A call that a carrier brings for a number of the account: what nothing lists goes nowhere. */
const fromCarrier = (decision: Decision, account: AccountFacts, question: CallflowQuery): RouteAnswer => {
  const dialled = decision.arrived(question.number)
  const written = question.number
  if (account.isDisabled) return refused('account_disabled', written, account.id)
  const calls = callsOf(decision.ask('limits', account.id))
  if (calls === 0) return refused('limit_reached', written, account.id)
  const { caller, callerName, isWithheld } = question
  const callerId = hiddenIf(isWithheld, idOf(callerName, caller))
  const callflow = decision.others(account.id, dialled)
  const stage = decision.arriving(account, dialled, callerId, [])
  const said = {
    number: written,
    variables: variablesOf(undefined, question),
    limits: calls === undefined ? {} : { calls },
    accountId: account.id,
    callflow,
  }
  return decided(decision, stage, said)
}

/** The decision, or what has to be known before it can be made. */
export const decideRoute = (
  question: CallflowQuery,
  known: Known,
  rules: Rules,
): { answer: RouteAnswer } | { wants: readonly Want[] } => {
  const asking = createAsking(known)
  const account = asking.ask('account', question.accountId)
  if (!account) {
    const wants = [...asking.wants.values()]
    return wants.length > 0 ? { wants } : { answer: refused('unknown_number', question.number) }
  }
  const decision = createDecision(asking, rules, question)
  const answer =
    question.from === 'account'
      ? fromAccount(decision, asking, account, question)
      : fromCarrier(decision, account, question)
  const wants = [...asking.wants.values()]
  return wants.length > 0 ? { wants } : { answer }
}
