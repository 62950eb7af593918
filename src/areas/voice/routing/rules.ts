import { invalid, requiredField } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { locationOf, refuseCall, routeResponse } from './answers.rules.ts'
import {
  type Call,
  type CallflowQuery,
  type CallPlace,
  callflowFor,
  callflowOfOthers,
  dial,
  dialledByCarrier,
  gateways,
  hasOpenFacts,
  numberOf,
  outsideIdOf,
  type Rules,
  shownNumber,
  wantedBy,
} from './call.rules.ts'
import {
  type CallParty,
  callerIdFrom,
  disabledPart,
  emergencyName,
  hiddenIf,
  internalId,
  partyAt,
} from './callers.rules.ts'
import {
  type AccountFacts,
  type CallflowFacts,
  createAsking,
  type KnownFacts,
  type RouteQuery,
  type Want,
} from './facts.ts'
import { boundOf } from './offnet.rules.ts'
import type { RouteAnswer } from './schema.ts'
import { endingStage, type Stage } from './stages.ts'
import { arriving, enter, overTrunk } from './walk.rules.ts'

/** How long an edge may cache a response, and so the maximum delay of a change. */
export const maxAgeSeconds = 60

/** An empty parameter counts as absent. */
export const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

/** Undefined: there is no list of that name. Throws a 400 if the value is not a list. */
export const listAt = (sent: unknown, name: string): readonly unknown[] | undefined => {
  const given = memberOf(sent, name) ?? undefined
  if (given === undefined || Array.isArray(given)) return given
  throw invalid({ [name]: { type: { message: 'Value did not match type(s): array', target: 'array' } } })
}

const maxNumberLength = 64
const maxNameLength = 64

/** The query of an edge. Throws a 400. */
export const routeQueryIn = (query: URLSearchParams): RouteQuery => {
  const number = given(query, 'number')
  if (number === undefined) throw invalid(requiredField('number'))
  if (number.length > maxNumberLength) {
    const message = `String must not be more than ${maxNumberLength} characters`
    throw invalid({ number: { maxLength: { message, target: maxNumberLength, value: number } } })
  }
  return {
    realm: given(query, 'realm'),
    accountId: given(query, 'account_id'),
    number,
    deviceId: given(query, 'from_device'),
    caller: given(query, 'caller'),
    callerName: given(query, 'caller_name')?.slice(0, maxNameLength),
    isWithheld: query.get('privacy') === 'full',
  }
}

const variablesOf = ({ device, user }: CallParty, from: CallflowQuery['from']): Record<string, string> =>
  present({
    authorizing_id: device?.id,
    authorizing_type: device ? 'device' : from === 'carrier' ? 'resource' : undefined,
    owner_id: user?.id,
  })

/** A call of the caller, who pays for what leaves the platform. */
const callPlaceOf = (
  call: Call,
  payer: CallParty,
  more: Pick<CallPlace, 'dialled' | 'callerId'>,
): CallPlace => ({
  call,
  account: payer.account,
  path: [],
  payer,
  outsideId: () => hiddenIf(call.query.isWithheld, outsideIdOf(call, payer)),
  isDirect: true,
  ...more,
})

const emergencyRoute = (call: Call, caller: CallParty): RouteAnswer => {
  const { account } = caller
  const { number, from } = call.query
  const dialled = dial(call, caller, number)
  const wanted = [...wantedBy(call, caller, 'emergency'), ...wantedBy(call, caller, 'external')]
  // An account without numbers on this server has them at another provider: emergency services need a number to call back.
  const callback = shownNumber(call, account, wanted) ?? wanted[0]
  const address = callback === undefined ? undefined : call.ask('emergencyAddress', account.id, callback)
  const place = callPlaceOf(call, caller, { dialled, callerId: {} })
  const stage = gateways(place, dialled, callerIdFrom(emergencyName(caller), callback))
  const variables = { ...variablesOf(caller, from), classification: dialled.classification ?? '' }
  return {
    ...routeResponse(stage, { number: dialled.text, variables, limits: {}, accountId: account.id }),
    emergency: true,
    ...(address && callback !== undefined ? { location: locationOf(callback, address) } : {}),
  }
}

/** Calls that the account may have at the same time. Undefined: any number. */
const maxCallsOf = ({ ask }: Call, { id }: AccountFacts) => {
  const limits = ask('limits', id)
  return limits?.enabled ? boundOf(limits.calls) : undefined
}

const routeOf = (
  call: Call,
  stage: Stage,
  { number, caller, callflow }: { number: string; caller: CallParty; callflow: CallflowFacts | undefined },
) => {
  const { account } = caller
  const charge = call.charges.find((one) => one.account === account.id)
  return routeResponse(stage, {
    number,
    variables: {
      ...variablesOf(caller, call.query.from),
      ...present({ callflow_id: callflow?.id, classification: call.classification }),
    },
    limits: present({ calls: maxCallsOf(call, account), carrier_calls: charge?.calls }),
    accountId: account.id,
  })
}

/** A call of a user or device of the account. */
const fromAccount = (call: Call, account: AccountFacts): RouteAnswer => {
  const { deviceId, number, isWithheld, caller: stated } = call.query
  const device = deviceId === undefined ? undefined : call.ask('device', account.id, deviceId)
  const caller = device ? partyAt(call, account, device) : { account }
  const dialled = dial(call, caller, number)
  // Not the answer: the caller is not known yet.
  if (hasOpenFacts(call)) return refuseCall('unknown_device', number)
  if (dialled.isEmergency) return emergencyRoute(call, caller)
  const written = numberOf(dialled)
  if (deviceId !== undefined && !device) return refuseCall('unknown_device', written, account.id)
  const disabled = disabledPart(caller)
  if (disabled) return refuseCall(disabled, written, account.id)
  if (maxCallsOf(call, account) === 0) return refuseCall('limit_reached', written, account.id)
  const callerId = hiddenIf(isWithheld, internalId(caller, stated))
  const place = callPlaceOf(call, caller, { dialled, callerId })
  const listing = callflowFor(call, account.id, dialled)
  const trunk = listing ? undefined : overTrunk(place, dialled)
  const callflow = listing ?? (trunk ? undefined : callflowOfOthers(call, account.id))
  const stage = callflow ? enter(place, callflow) : (trunk ?? endingStage({ reason: 'unknown_number' }))
  return routeOf(call, stage, { number: written, caller, callflow })
}

/** A call from a carrier to a number of the account. It fails if no callflow has the number. */
const fromCarrier = (call: Call, account: AccountFacts): RouteAnswer => {
  const { number, caller, callerName, isWithheld } = call.query
  const dialled = dialledByCarrier(call, number)
  if (account.isDisabled) return refuseCall('account_disabled', number, account.id)
  if (maxCallsOf(call, account) === 0) return refuseCall('limit_reached', number, account.id)
  const callflow = callflowFor(call, account.id, dialled)
  const stage = arriving(call, account, dialled, hiddenIf(isWithheld, callerIdFrom(callerName, caller)))
  return routeOf(call, stage, { number, caller: { account }, callflow })
}

/** The decision, or what has to be known before it can be made. */
export const decideRoute = (
  query: CallflowQuery,
  known: KnownFacts,
  rules: Rules,
): { answer: RouteAnswer } | { wants: readonly Want[] } => {
  const call: Call = {
    ...createAsking(known),
    query,
    rules,
    charges: [],
    classification: undefined,
    rung: 0,
  }
  const account = call.ask('account', query.accountId)
  const decide = query.from === 'account' ? fromAccount : fromCarrier
  const answer = account ? decide(call, account) : refuseCall('unknown_number', query.number)
  return hasOpenFacts(call) ? { wants: [...call.wants.values()] } : { answer }
}
