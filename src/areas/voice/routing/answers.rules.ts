import { present, sameJson } from '../../../lib/json.ts'
import type { E911 } from '../../numbers/phone-numbers/schema.ts'
import type { RouteAnswer } from './schema.ts'
import type { CallEnding, Stage } from './stages.ts'

// No flow rings more, whatever leads back to where.
const maxTargets = 100

const sipReasons: Readonly<Record<number, string>> = {
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  480: 'Temporarily Unavailable',
  486: 'Busy Here',
  501: 'Not Implemented',
  503: 'Service Unavailable',
}

/** SIP codes of reasons. The first of several reasons is reported. */
const codes: Readonly<Record<string, number>> = {
  account_disabled: 403,
  user_disabled: 403,
  device_disabled: 403,
  unknown_realm: 403,
  unknown_device: 403,
  forbidden_classifier: 403,
  forbidden_destination: 403,
  no_credit: 402,
  limit_reached: 503,
  no_carrier: 503,
  needs_media_server: 501,
  trunk_disabled: 480,
  unknown_number: 404,
  do_not_disturb: 480,
  no_devices: 480,
}

// The caller does not learn that the called party is disabled.
const toldOfCalled = Object.keys(codes).slice(Object.keys(codes).indexOf('forbidden_classifier'))

const strongestOf = ({ leftOut: out }: Stage) =>
  toldOfCalled.find((reason) => out.some((one) => one.reason === reason)) ?? 'no_devices'

const refusalOf = ({ reason, module, sipCode = codes[reason] ?? 480, sipReason }: CallEnding) => ({
  reason,
  ...present({ module }),
  sip_code: sipCode,
  sip_reason: sipReason ?? sipReasons[sipCode] ?? 'Declined',
})

const kindOf = ({ targets }: Stage) => {
  if (targets.some(({ type }) => type !== 'gateway')) return 'ring'
  return targets.some(({ isForwarded }) => isForwarded) ? 'forward' : 'offnet'
}

export const routeResponse = (
  stage: Stage,
  {
    accountId,
    number,
    limits,
    variables,
  }: Pick<RouteAnswer, 'number' | 'limits' | 'variables'> & { accountId: string },
): RouteAnswer => {
  const [first] = stage.targets
  const base = { account_id: accountId, number, limits, variables, left_out: [...stage.leftOut] }
  if (!first) {
    const end = stage.end ?? { reason: strongestOf(stage) }
    return { decision: 'refuse', ...base, targets: [], caller_id: {}, ...refusalOf(end) }
  }
  const targets = stage.targets
    .toSorted((a, b) => a.delay_s - b.delay_s)
    .slice(0, maxTargets)
    .map(({ account_id: owner, caller_id: callerId, isForwarded: _, ...target }) => ({
      ...target,
      ...(owner === undefined || owner === accountId ? {} : { account_id: owner }),
      ...(callerId === undefined || sameJson(callerId, first.caller_id) ? {} : { caller_id: callerId }),
    }))
  return {
    decision: kindOf(stage),
    ...base,
    targets,
    caller_id: first.caller_id ?? {},
    ...(stage.end ? { otherwise: refusalOf(stage.end) } : {}),
  }
}

export const refuseCall = (reason: string, number: string, accountId?: string): RouteAnswer => ({
  decision: 'refuse',
  ...present({ account_id: accountId }),
  number,
  targets: [],
  caller_id: {},
  limits: {},
  variables: {},
  left_out: [],
  ...refusalOf({ reason }),
})

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const xml = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character] ?? '')

const civic = (name: string, text: string | undefined) =>
  text ? `<ca:${name}>${xml(text)}</ca:${name}>` : ''

const pointOf = ({ latitude, longitude }: E911) =>
  latitude && longitude
    ? `<gml:Point srsName="urn:ogc:def:crs:EPSG::4326"><gml:pos>${xml(`${latitude} ${longitude}`)}</gml:pos></gml:Point>`
    : ''

const namespaces = [
  'xmlns="urn:ietf:params:xml:ns:pidf"',
  'xmlns:gp="urn:ietf:params:xml:ns:pidf:geopriv10"',
  'xmlns:ca="urn:ietf:params:xml:ns:pidf:geopriv10:civicAddr"',
  'xmlns:gml="http://www.opengis.net/gml"',
].join(' ')

/** `street_address` contains the house number. */
export const locationOf = (number: string, address: E911): string => {
  const { country = 'US', region, locality, street_address, extended_address, postal_code } = address
  const parts = [
    civic('country', country.toUpperCase()),
    civic('A1', region),
    civic('A3', locality),
    civic('RD', street_address),
    civic('LOC', extended_address),
    civic('NAM', address.caller_name),
    civic('PC', postal_code),
  ]
  const place = `<gp:location-info>${pointOf(address)}<ca:civicAddress>${parts.join('')}</ca:civicAddress></gp:location-info>`
  const status = `<status><gp:geopriv>${place}<gp:usage-rules/></gp:geopriv></status>`
  return `<?xml version="1.0" encoding="UTF-8"?><presence ${namespaces} entity="tel:${xml(number)}"><tuple id="location">${status}</tuple></presence>`
}
