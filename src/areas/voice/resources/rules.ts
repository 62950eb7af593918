import { type Address, isInCidr, parseAddress, parseNetwork } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { joinProblems, type Problems, requiredField, wrongFormat } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'
import type { Place } from '../../../lib/removal.ts'
import { hostOf, shapeProblem, type WrittenDestination } from './hosts.rules.ts'
import type { Classifier, Gateway, Resource } from './schema.ts'

export type ResourceDoc = Resource & { readonly [custom: string]: unknown }

export interface CarrierCallQuery {
  /** E.164 with a plus, or a short code as dialled. */
  number: string
  classification?: string | undefined
  emergency: boolean
  /** Flags that a carrier must have. */
  flags: readonly string[]
  /** Absent: carriers with rules for callers do not fit. */
  callerNumber?: string | undefined
}

export interface Choice {
  carrier: Carrier
  gateway: Readonly<Gateway>
  /** In the format of the carrier. */
  number: string
}

const standardWeight = 50

// Codes after which another carrier may succeed. 480 and 486 come from the called phone, which the next carrier
// would ring again.
const standardFailoverCodes = [408, 500, 502, 503, 504]

export const failoverCodesOf = ({ failover_codes: codes }: Readonly<Resource>): number[] =>
  codes ?? standardFailoverCodes

const compiled = (texts: readonly string[] | undefined): Pattern[] =>
  (texts ?? []).flatMap((text) => compilePattern(text).pattern ?? [])

const networksOf = ({ enabled, gateways, inbound_ips: others = [] }: Readonly<Resource>) => {
  if (enabled === false) return []
  const written = [
    ...gateways
      .filter((gateway) => isOn(gateway) && parseAddress(gateway.server))
      .map(({ server, port = 5060, force_port }) => ({ text: server, port: force_port ? port : undefined })),
    ...others.map((text) => ({ text, port: undefined })),
  ]
  return written.flatMap(({ text, port }) => {
    const cidr = parseNetwork(text)
    return cidr ? [{ cidr, port }] : []
  })
}

const isOn = ({ enabled }: { enabled?: boolean }) => enabled !== false

/** A resource with its patterns and networks compiled. */
export type Carrier = ReturnType<typeof compileCarrier>

export const compileCarrier = (id: string, doc: Readonly<Resource>) => ({
  id,
  doc,
  rules: compiled(doc.rules),
  callerRules: compiled(doc.cid_rules),
  /** Only classes that have their own rule. */
  classRules: new Map(
    Object.entries(doc.classifiers ?? {}).flatMap(([name, { regex }]) =>
      regex === undefined ? [] : [[name, compiled([regex])] as const],
    ),
  ),
  /** With a `port` calls come only from there. */
  networks: networksOf(doc),
  /** Names whose addresses its calls come from as well. */
  hosts: doc.enabled === false ? [] : doc.gateways.filter(isOn).flatMap(hostOf),
})

const offers = ({ flags = [], require_flags, ignore_flags }: Resource, wanted: readonly string[]) =>
  ignore_flags || (wanted.length === 0 ? !require_flags : wanted.every((flag) => flags.includes(flag)))

const callerFits = ({ callerRules, doc }: Carrier, caller: string | undefined) =>
  !doc.cid_rules?.length || (caller !== undefined && callerRules.some((rule) => rule.matches(caller)))

/** The first group of the first matching rule, or the whole number if the rule has no group. */
const dialled = (rules: readonly Pattern[], number: string): string | undefined => {
  const rule = rules.find((one) => one.matches(number))
  return rule && (rule.firstGroup(number) ?? number)
}

/** Undefined: the resource is not for this class. */
const classOf = ({ doc: { classifiers } }: Carrier, name: string | undefined): Classifier | undefined => {
  if (!classifiers) return {}
  const found = name !== undefined && Object.hasOwn(classifiers, name) ? classifiers[name] : undefined
  return found && isOn(found) ? found : undefined
}

/** `any`: a resource that lists the class and has no rules takes every number of it. */
const rulesFor = ({ doc, rules, classRules }: Carrier, name = ''): readonly Pattern[] | 'any' =>
  classRules.get(name) ?? (doc.classifiers && !doc.rules?.length ? 'any' : rules)

type Fit = NonNullable<ReturnType<typeof fitOf>>

/** `digits`: the number after the rules of the carrier. Undefined: the call is not for it. */
const fitOf = (carrier: Carrier, question: CarrierCallQuery) => {
  const { doc } = carrier
  const { number, classification, emergency, flags, callerNumber } = question
  const around = isOn(doc) ? classOf(carrier, classification) : undefined
  if (!around || !offers(doc, flags) || !callerFits(carrier, callerNumber)) return undefined
  if (emergency && !(around.emergency ?? doc.emergency)) return undefined
  const rules = rulesFor(carrier, classification)
  const digits = rules === 'any' ? number : dialled(rules, number)
  if (digits === undefined) return undefined
  return { carrier, digits, around, weight: around.weight_cost ?? doc.weight_cost ?? standardWeight }
}

/** Lower weight first, then older first. */
const compareFits = (a: Fit, b: Fit) => a.weight - b.weight || (a.carrier.id < b.carrier.id ? -1 : 1)

/** How numbers are written, by format. `national`: its group is a number of the North American plan. */
export const numberFormats = (national: RegExp) => ({
  e164: normalizeNumber,
  npan: (number: string) => number.replace(national, '$1'),
  '1npan': (number: string) => number.replace(national, '1$1'),
  strip_plus: (number: string) => number.replace(/^\+/, ''),
})

const formats = { ...numberFormats(/^\+?1?([2-9]\d{2}[2-9]\d{6})$/), route: (digits: string) => digits }

const written = (gateway: Readonly<Gateway>, { digits, around }: Fit) => {
  const { invite_format: format = 'route' } = gateway
  if (format === 'username') return gateway.username ?? digits
  const number = formats[format](digits)
  return `${around.prefix ?? gateway.prefix ?? ''}${number}${around.suffix ?? gateway.suffix ?? ''}`
}

/** The gateways for a call in order. `tiers`: the carriers of each owner, in order. */
export const chooseGateways = (
  tiers: readonly (readonly Carrier[])[],
  question: CarrierCallQuery,
): readonly Choice[] =>
  tiers.flatMap((carriers) =>
    carriers
      .flatMap((carrier) => fitOf(carrier, question) ?? [])
      .toSorted(compareFits)
      .flatMap((fit) =>
        fit.carrier.doc.gateways
          .filter(isOn)
          .map((gateway) => ({ carrier: fit.carrier, gateway, number: written(gateway, fit) })),
      ),
  )

export interface Origin {
  address: Address
  /** Undefined: unknown, which matches no port. */
  port?: number | undefined
}

export const carrierOf = (carriers: readonly Carrier[], { address, port }: Origin): Carrier | undefined =>
  carriers.find(({ networks }) =>
    networks.some(({ cidr, port: only }) => isInCidr(address, cidr) && (only === undefined || only === port)),
  )

/** Whatever the port. */
export const isAmong = (carriers: readonly Carrier[], address: Address) =>
  carriers.some(({ networks }) => networks.some(({ cidr }) => isInCidr(address, cidr)))

const patternProblem = (path: string, value: string | undefined): Problems => {
  const problem = value === undefined ? undefined : compilePattern(value).problem
  return problem === undefined ? {} : { [path]: { pattern: { message: `The pattern ${problem}`, value } } }
}

const hostFields = ['server', 'proxy'] as const

export const hostsOf = ({ gateways = [] }: Partial<Resource>): WrittenDestination[] =>
  gateways.flatMap((gateway, index) =>
    hostFields.flatMap((field): WrittenDestination[] => {
      const text = gateway[field]
      return text === undefined ? [] : [{ path: `gateways.${index}.${field}`, form: 'host', text }]
    }),
  )

/** All hosts and networks of a carrier, also of a disabled one, because its machines still trust the edges. */
export const carrierHosts = (resource: Partial<Resource>): string[] => [
  ...hostsOf(resource).map(({ text }) => text),
  ...(resource.inbound_ips ?? []),
]

// Headers that the sender of a call writes itself: others would break or divert the message.
const ownHeaders = new Set(
  (
    'from to via contact call-id cseq max-forwards route record-route content-length content-type authorization ' +
    'proxy-authorization require proxy-require f t v m i l c'
  ).split(' '),
)

export const headerProblems = (path: string, headers: Readonly<Record<string, string>> = {}): Problems =>
  Object.fromEntries(
    Object.keys(headers)
      .filter((name) => ownHeaders.has(name.toLowerCase()))
      .map((name) => [
        `${path}.${name}`,
        { forbidden: { message: 'The edge sets this header. Choose another header name', value: name } },
      ]),
  )

const gatewayProblems = (gateway: Gateway, index: number): Problems => {
  const { invite_format: format, username, password, custom_sip_headers: headers } = gateway
  const path = `gateways.${index}`
  const isUserMissing = (format === 'username' || password !== undefined) && username === undefined
  return joinProblems(
    isUserMissing ? requiredField(`${path}.username`, 'username') : {},
    headerProblems(`${path}.custom_sip_headers`, headers),
  )
}

// A mistyped prefix length could allow half of the internet.
const minPrefix = { 4: 8, 6: 16 } as const

const networkProblem = (path: string, value: string): Problems => {
  const network = parseNetwork(value)
  if (!network) return wrongFormat(path, 'cidr', 'Must be an address or a CIDR', value)
  const target = minPrefix[network.family]
  return network.prefixLength < target
    ? { [path]: { minimum: { message: `The prefix must have at least ${target} bits`, target, value } } }
    : {}
}

export const resourceProblems = (resource: Partial<Resource>): Problems => {
  const { rules = [], cid_rules = [], classifiers = {}, gateways = [], inbound_ips = [] } = resource
  const { from_uri_realm: realm } = resource
  return joinProblems(
    ...rules.map((text, index) => patternProblem(`rules.${index}`, text)),
    ...cid_rules.map((text, index) => patternProblem(`cid_rules.${index}`, text)),
    ...Object.entries(classifiers).map(([name, { regex }]) =>
      patternProblem(`classifiers.${name}.regex`, regex),
    ),
    ...hostsOf(resource).map(shapeProblem),
    realm === undefined ? {} : shapeProblem({ path: 'from_uri_realm', form: 'host', text: realm }),
    ...gateways.map(gatewayProblems),
    ...inbound_ips.map((text, index) => networkProblem(`inbound_ips.${index}`, text)),
  )
}

const narrowing: readonly (string | undefined)[] = ['rules', 'cid_rules', 'classifiers']

/** A carrier without one of its rules would take other calls: it is disabled until an admin has checked it. */
export const withoutWiderUse = (doc: Json, removed: readonly Place[]): Json =>
  removed.some(([key]) => narrowing.includes(key)) ? { ...doc, enabled: false } : doc
