// A route as FreeSWITCH applications.
import type { RouteAnswer } from '../routing/schema.ts'
import { dialplanDocument, element } from './directory.rules.ts'
import { type DialStep, dialStringOf, stepsFor } from './legs.rules.ts'
import { numberText, shownText, wordText } from './texts.rules.ts'

export type DialplanAction = readonly [application: string, data: string]

export type Bringer = 'account' | 'carrier'

const set = (name: string, value: string): DialplanAction => ['set', `${name}=${value}`]

/** The name of a record's variable on a channel: `owner_id` is `ecallmgr_Owner-ID`. */
const variableName = (name: string) =>
  `ecallmgr_${name
    .split('_')
    .map((word) => (word === 'id' ? 'ID' : `${word.charAt(0).toUpperCase()}${word.slice(1)}`))
    .join('-')}`

const ofRecord = ({ account_id: accountId, variables }: RouteAnswer): DialplanAction[] => [
  ...(accountId === undefined
    ? []
    : [set('accountcode', accountId), set(variableName('account_id'), accountId)]),
  ...Object.entries(variables)
    .filter(([name, value]) => wordText(name) !== undefined && wordText(value) !== undefined)
    .map(([name, value]) => set(variableName(name), value)),
]

const setOrUnset = (name: string, value: string | undefined): DialplanAction =>
  value === undefined ? ['unset', name] : set(name, value)

/** The directory has set the caller ID for calls within the account: it is replaced or removed. */
const callerId = ({ caller_id: { name, number, privacy } }: RouteAnswer): DialplanAction[] => {
  const shownNumber = numberText(number)
  return [
    setOrUnset('effective_caller_id_name', shownText(name ?? '') || shownNumber),
    setOrUnset('effective_caller_id_number', shownNumber),
    ...(privacy === undefined ? [] : [['privacy', privacy] as const]),
  ]
}

const leavesPlatform = ({ targets }: RouteAnswer) =>
  targets.some(({ type, account_billing: billing }) => type === 'gateway' || billing !== undefined)

const limits = (route: RouteAnswer, from: Bringer): DialplanAction[] => {
  const { calls, carrier_calls: carrierCalls } = route.limits
  const cause = from === 'carrier' ? '!NORMAL_TEMPORARY_FAILURE' : '!USER_BUSY'
  const limit = (what: string, most: number | undefined): DialplanAction[] =>
    most === undefined || route.account_id === undefined
      ? []
      : [['limit', `hash crosspoint ${route.account_id}.${what} ${most} ${cause}`]]
  return [...limit('calls', calls), ...(leavesPlatform(route) ? limit('carrier_calls', carrierCalls) : [])]
}

/** The hangup causes of FreeSWITCH for SIP codes. */
const causes: Readonly<Record<number, string>> = {
  400: 'NORMAL_TEMPORARY_FAILURE',
  402: 'CALL_REJECTED',
  403: 'CALL_REJECTED',
  404: 'UNALLOCATED_NUMBER',
  405: 'SERVICE_UNAVAILABLE',
  406: 'SERVICE_NOT_IMPLEMENTED',
  408: 'RECOVERY_ON_TIMER_EXPIRE',
  410: 'NUMBER_CHANGED',
  415: 'SERVICE_NOT_IMPLEMENTED',
  480: 'NO_USER_RESPONSE',
  481: 'NORMAL_TEMPORARY_FAILURE',
  482: 'EXCHANGE_ROUTING_ERROR',
  483: 'EXCHANGE_ROUTING_ERROR',
  484: 'INVALID_NUMBER_FORMAT',
  485: 'NO_ROUTE_DESTINATION',
  486: 'USER_BUSY',
  488: 'INCOMPATIBLE_DESTINATION',
  500: 'NORMAL_TEMPORARY_FAILURE',
  501: 'SERVICE_NOT_IMPLEMENTED',
  502: 'NETWORK_OUT_OF_ORDER',
  503: 'NORMAL_TEMPORARY_FAILURE',
  504: 'RECOVERY_ON_TIMER_EXPIRE',
  600: 'USER_BUSY',
  603: 'CALL_REJECTED',
  604: 'NO_ROUTE_DESTINATION',
  606: 'INCOMPATIBLE_DESTINATION',
}

/** Causes for a gateway that does not exist or does not ring in time. */
const unreached = ['PROGRESS_TIMEOUT', 'GATEWAY_DOWN', 'INVALID_GATEWAY']

const continuesOn = (codes: readonly number[]) =>
  [...new Set([...unreached, ...codes.map((code) => causes[code] ?? 'NORMAL_UNSPECIFIED')])].join(',')

const respond = (code: number | undefined, reason: string | undefined): DialplanAction => [
  'respond',
  `${code ?? 480} ${shownText(reason ?? '') || 'Temporarily Unavailable'}`,
]

/** `seconds`: maximum ringing time of the step. */
const dialledIn = ({ targets, from, failsOver }: DialStep, accountId: string | undefined) => {
  const legs = targets
    .map((target) => dialStringOf(target, accountId, from))
    .filter((leg) => leg !== undefined)
  const ends = targets.map(({ delay_s: delay, timeout_s: timeout }) => delay + timeout - from)
  return legs.length === 0 ? [] : [{ text: legs.join(','), seconds: Math.max(...ends), failsOver }]
}

/** The last step decides how the call ends, unless the route does. */
const bridges = (dialled: ReturnType<typeof dialledIn>, { otherwise }: RouteAnswer): DialplanAction[] =>
  dialled.flatMap(({ text, seconds, failsOver }, index) => {
    const isLast = index === dialled.length - 1
    const goesOn = String(!isLast || otherwise !== undefined)
    return [
      // FreeSWITCH's default would end everything after a minute.
      set('call_timeout', String(seconds)),
      set('continue_on_fail', failsOver === undefined || isLast ? goesOn : continuesOn(failsOver)),
      ['bridge', text] as const,
    ]
  })

export const actionsFor = (route: RouteAnswer, from: Bringer): DialplanAction[] => {
  const { decision, account_id: accountId, otherwise } = route
  if (decision === 'refuse') return [...ofRecord(route), respond(route.sip_code, route.sip_reason)]
  const dialled = stepsFor(route.targets).flatMap((step) => dialledIn(step, accountId))
  const isEnded = dialled.length === 0 || otherwise !== undefined
  return [
    ...ofRecord(route),
    ...limits(route, from),
    ...callerId(route),
    set('hangup_after_bridge', 'true'),
    ...bridges(dialled, route),
    ...(isEnded ? [respond(otherwise?.sip_code, otherwise?.sip_reason)] : []),
  ]
}

export const refusalActions = (code: number, reason: string): DialplanAction[] => [respond(code, reason)]

/** The dialplan of one call. */
export const callDocument = (context: string, actions: readonly DialplanAction[]) => {
  const children = actions.map(([application, data]) => element('action', { application, data }))
  const extension = element('extension', { name: 'crosspoint' }, [element('condition', {}, children)])
  return dialplanDocument(element('context', { name: context }, [extension]))
}
