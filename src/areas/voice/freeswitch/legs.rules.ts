// The dial strings for the targets of a route, and their steps.
import { present } from '../../../lib/json.ts'
import type { RouteAnswer } from '../routing/schema.ts'
import {
  codecText,
  headerNameText,
  isOrder,
  numberText,
  realmText,
  shownText,
  sipAddressIn,
  userText,
  wordText,
} from './texts.rules.ts'

type RouteTarget = RouteAnswer['targets'][number]

/** The SIP profile for phones and servers of customers, and the one for carriers. */
const phoneProfile = 'internal'
const carrierProfile = 'external'

type Variable = readonly [name: string, value: string | number | undefined]

/** Omits headers that FreeSWITCH could interpret, because an escaped header would have another meaning. */
const headersOf = ({ headers = {} }: RouteTarget): Variable[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    headerNameText(name) !== undefined && shownText(value) === value
      ? [[`sip_h_${name}`, value] as const]
      : [],
  )

const codecsOf = ({ codecs = [] }: RouteTarget): Variable[] => {
  const known = codecs.filter((codec) => codecText(codec) !== undefined)
  return [['absolute_codec_string', known.length === 0 ? undefined : `^^:${known.join(':')}`]]
}

const hidden: Readonly<Record<string, string>> = {
  full: 'hide_name:hide_number',
  name: 'hide_name',
  number: 'hide_number',
}

const callerIdOf = ({ caller_id: callerId = {} }: RouteTarget): Variable[] => [
  ['origination_caller_id_name', shownText(callerId.name ?? '')],
  ['origination_caller_id_number', numberText(callerId.number)],
  ['origination_privacy', hidden[callerId.privacy ?? '']],
]

const recordedAs = (
  { type, resource_id: resourceId, account_billing: billing, called }: RouteTarget,
  accountId: string | undefined,
): Variable[] =>
  type === 'device' && billing === undefined
    ? []
    : [
        ['ecallmgr_Account-ID', wordText(accountId)],
        ['ecallmgr_Authorizing-Type', type === 'gateway' ? 'resource' : undefined],
        ['ecallmgr_Resource-ID', wordText(resourceId)],
        ['ecallmgr_Account-Billing', wordText(billing)],
        ['ecallmgr_E164-Destination', billing === undefined ? undefined : numberText(called)],
      ]

const registeredAs = ({ username, realm }: RouteTarget) => {
  const user = userText(username)
  const domain = realmText(realm)
  return user === undefined || domain === undefined ? undefined : `${user}@${domain}`
}

const dialledNumber = (number: string | undefined) => numberText(number)?.replaceAll('#', '%23')

/**
 * Where the call is sent instead of the host in its address. Undefined: the proxy is not valid in a dial
 * string.
 */
const pathOf = ({ proxy }: RouteTarget): string | undefined => {
  if (proxy === undefined) return ''
  const place = sipAddressIn(proxy)?.place
  return place && `;fs_path=${encodeURIComponent(`sip:${place}`)}`
}

const phone = (target: RouteTarget) => {
  if (target.uri === undefined) {
    const registered = registeredAs(target)
    return registered && `user/${registered}`
  }
  const address = sipAddressIn(target.uri)
  const path = pathOf(target)
  if (!address || path === undefined) return undefined
  const user = address.user === undefined ? '' : `${address.user}@`
  return `sofia/${phoneProfile}/sip:${user}${address.place}${path}`
}

/** A server that registers is called where it is, but for the number that it wants. */
const server = (target: RouteTarget) => {
  const number = dialledNumber(target.number)
  if (number === undefined) return undefined
  const address = sipAddressIn(target.uri)
  const path = pathOf(target)
  if (address && path !== undefined) return `sofia/${phoneProfile}/sip:${number}@${address.place}${path}`
  // `%` is a placeholder in `regex`.
  const isPlain = target.uri === undefined && !number.includes('%')
  const registered = isPlain ? registeredAs(target) : undefined
  const contact = `\${sofia_contact(*/${registered})}`
  return registered && `\${regex(${contact}|^[^@]+(.*)|sofia/${phoneProfile}/sip:${number}%1)}`
}

/** A carrier with a password is a gateway in FreeSWITCH's configuration, which has the password. */
const carrier = (target: RouteTarget) => {
  const number = dialledNumber(target.number)
  const address = sipAddressIn(target.uri)
  const resourceId = wordText(target.resource_id)
  if (number === undefined || !address || resourceId === undefined) return undefined
  if (target.ha1 !== undefined) return `sofia/gateway/${resourceId}-${address.host}/${number}`
  const path = pathOf(target)
  return path === undefined ? undefined : `sofia/${carrierProfile}/sip:${number}@${address.place}${path}`
}

const endpoints = { device: phone, trunk: server, gateway: carrier }

const timingOf = (target: RouteTarget, from: number): Variable[] => [
  ['leg_delay_start', target.delay_s > from ? target.delay_s - from : undefined],
  ['leg_timeout', target.timeout_s],
  ['leg_progress_timeout', target.progress_timeout_s],
]

/**
 * The dial string of a target in a step that begins `from` seconds after the call. Undefined: a part is not
 * valid in a dial string.
 */
export const dialStringOf = (
  target: RouteTarget,
  accountId: string | undefined,
  from: number,
): string | undefined => {
  const endpoint = endpoints[target.type](target)
  if (endpoint === undefined) return undefined
  const variables = [
    ...timingOf(target, from),
    ...callerIdOf(target),
    ...codecsOf(target),
    ...headersOf(target),
    ...recordedAs(target, target.account_id ?? accountId),
  ]
  const said = variables.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${value}`],
  )
  const leg = `[${said.join(',')}]${endpoint}`
  return isOrder(leg) ? undefined : leg
}

export interface DialStep {
  targets: readonly RouteTarget[]
  /** Seconds after the call began. */
  from: number
  /** The next step follows only after these SIP codes. Absent: always. */
  failsOver?: readonly number[]
}

const isGateway = ({ type }: RouteTarget) => type === 'gateway'

const endOf = ({ delay_s: delay, timeout_s: timeout }: RouteTarget) => delay + timeout

/** Groups targets that ring at the same time, in the order of their delays. */
const clustersOf = (targets: readonly RouteTarget[]): RouteTarget[][] => {
  const clusters: RouteTarget[][] = []
  let end = 0
  for (const target of targets) {
    const last = clusters.at(-1)
    if (last && target.delay_s < end) last.push(target)
    else clusters.push([target])
    end = Math.max(end, endOf(target))
  }
  return clusters
}

const nextDelayOf = (target: RouteTarget) => target.delay_s + (target.progress_timeout_s ?? 0)

/** Groups gateways of which each follows if the one before it fails. */
const chainsOf = (gateways: readonly RouteTarget[]): RouteTarget[][] => {
  const chains: RouteTarget[][] = []
  for (const gateway of gateways) {
    const chain = chains.find((one) => one.slice(-1).some((last) => nextDelayOf(last) === gateway.delay_s))
    if (chain) chain.push(gateway)
    else chains.push([gateway])
  }
  return chains
}

/** A single chain of gateways: one step for each. Otherwise one step, with the first gateway of each chain. */
const stepsOf = (cluster: readonly RouteTarget[]): DialStep[] => {
  const [chain, ...others] = chainsOf(cluster.filter(isGateway))
  const phones = cluster.filter((target) => !isGateway(target))
  if (chain && others.length === 0 && phones.length === 0)
    return chain.map((gateway) => ({
      targets: [gateway],
      from: gateway.delay_s,
      ...present({ failsOver: gateway.failover_codes }),
    }))
  // The next gateway of a chain would begin before the phones have rung out.
  const firsts = [chain ?? [], ...others].flatMap((one) => one.slice(0, 1))
  const targets = [...phones, ...firsts].toSorted((a, b) => a.delay_s - b.delay_s)
  return [{ targets, from: Math.min(...cluster.map(({ delay_s: delay }) => delay)) }]
}

export const stepsFor = (targets: readonly RouteTarget[]): DialStep[] => {
  const clusters = clustersOf(targets).map(stepsOf)
  const others = clusters.slice(0, -1).flat()
  // Only the last step may depend on SIP codes: the rest of a flow follows its carriers in any case.
  return [...others.map(({ targets: own, from }) => ({ targets: own, from })), ...(clusters.at(-1) ?? [])]
}
