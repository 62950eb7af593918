import { type Address, type Cidr, isInCidr, parseAddress, parseNetwork } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { joinProblems, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'
import type { Place } from '../../../lib/removal.ts'
import { isSipHost } from '../../../lib/sip-host.ts'
import { type CarrierHost, hostOf } from './hosts.rules.ts'
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

interface Network {
  cidr: Cidr
  /** Calls come only from this port. */
  port?: number | undefined
}

/** A resource with its patterns and networks compiled. */
export interface Carrier {
  id: string
  doc: Readonly<Resource>
  rules: readonly Pattern[]
  callerRules: readonly Pattern[]
  /** Only classes that have their own rule. */
  classRules: ReadonlyMap<string, readonly Pattern[]>
  networks: readonly Network[]
  /** Names whose addresses its calls come from as well. */
  hosts: readonly CarrierHost[]
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

const networkOfGateway = ({ server, port, force_port: isForced }: Readonly<Gateway>): Network[] => {
  const cidr = parseAddress(server) && parseNetwork(server)
  return cidr ? [{ cidr, port: isForced ? (port ?? 5060) : undefined }] : []
}

const networksOf = ({ enabled, gateways, inbound_ips: others = [] }: Readonly<Resource>): Network[] => {
  if (enabled === false) return []
  return [
    ...gateways.filter(isOn).flatMap(networkOfGateway),
    ...others.flatMap((text) => {
      const cidr = parseNetwork(text)
      return cidr ? [{ cidr }] : []
    }),
  ]
}

const isOn = ({ enabled }: { enabled?: boolean }) => enabled !== false

export const compileCarrier = (id: string, doc: Readonly<Resource>): Carrier => ({
  id,
  doc,
  rules: compiled(doc.rules),
  callerRules: compiled(doc.cid_rules),
  classRules: new Map(
    Object.entries(doc.classifiers ?? {}).flatMap(([name, { regex }]) =>
      regex === undefined ? [] : [[name, compiled([regex])]],
    ),
  ),
  networks: networksOf(doc),
  hosts: doc.enabled === false ? [] : doc.gateways.filter(isOn).flatMap(hostOf),
})

const offers = (
  { flags = [], require_flags: requires, ignore_flags: ignores }: Resource,
  wanted: readonly string[],
) => {
  if (ignores) return true
  if (wanted.length === 0) return !requires
  return wanted.every((flag) => flags.includes(flag))
}

const callerFits = ({ callerRules, doc }: Carrier, caller: string | undefined) => {
  if (!doc.cid_rules?.length) return true
  return caller !== undefined && callerRules.some((rule) => rule.matches(caller))
}

/** The first group of the first matching rule, or the whole number if the rule has no group. */
const dialled = (rules: readonly Pattern[], number: string): string | undefined => {
  for (const rule of rules) if (rule.matches(number)) return rule.firstGroup(number) ?? number
  return undefined
}

/** Undefined: the resource is not for this class. */
const classOf = ({ doc: { classifiers } }: Carrier, name: string | undefined): Classifier | undefined => {
  if (!classifiers) return {}
  const found = name !== undefined && Object.hasOwn(classifiers, name) ? classifiers[name] : undefined
  return found && isOn(found) ? found : undefined
}

/** `any`: a resource that lists the class and has no rules takes every number of it. */
const rulesFor = ({ doc, rules, classRules }: Carrier, name = ''): readonly Pattern[] | 'any' => {
  const own = classRules.get(name)
  if (own) return own
  return doc.classifiers && !doc.rules?.length ? 'any' : rules
}

interface Fit {
  carrier: Carrier
  weight: number
  /** The number after its rules. */
  digits: string
  around: Classifier
}

const fitOf = (carrier: Carrier, question: CarrierCallQuery): Fit | undefined => {
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

const national = /^\+?1?([2-9]\d{2}[2-9]\d{6})$/

const formats: Readonly<
  Record<NonNullable<Gateway['invite_format']>, (digits: string, gateway: Gateway) => string>
> = {
  route: (digits) => digits,
  username: (digits, { username }) => username ?? digits,
  e164: (digits) => normalizeNumber(digits),
  npan: (digits) => digits.replace(national, '$1'),
  '1npan': (digits) => digits.replace(national, '1$1'),
  strip_plus: (digits) => digits.replace(/^\+/, ''),
}

const written = (gateway: Readonly<Gateway>, { digits, around }: Fit) => {
  const { invite_format: format = 'route' } = gateway
  const number = formats[format](digits, gateway)
  if (format === 'username') return number
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

const patternProblems = (path: string, texts: readonly string[] = []): Problems =>
  Object.fromEntries(
    texts.flatMap((text, index) => {
      const { problem } = compilePattern(text)
      return problem
        ? [[`${path}.${index}`, { pattern: { message: `The pattern ${problem}`, value: text } }]]
        : []
    }),
  )

const classifierProblems = (classifiers: Resource['classifiers'] = {}): Problems =>
  Object.fromEntries(
    Object.entries(classifiers).flatMap(([name, { regex }]) => {
      const problem = regex === undefined ? undefined : compilePattern(regex).problem
      const told = { pattern: { message: `The pattern ${problem}`, value: regex } }
      return problem === undefined ? [] : [[`classifiers.${name}.regex`, told]]
    }),
  )

const wrongHost = (path: string, value: string): Problems => ({
  [path]: { wrong_format: { message: 'Must be a host name or an address', format: 'hostname', value } },
})

const hostFields = ['server', 'proxy'] as const

export const hostsOf = ({ gateways = [] }: Partial<Resource>): { path: string; host: string }[] =>
  gateways.flatMap((gateway, index) =>
    hostFields.flatMap((field) => {
      const host = gateway[field]
      return host === undefined ? [] : [{ path: `gateways.${index}.${field}`, host }]
    }),
  )

/** All hosts and networks of a carrier, also of a disabled one, because its machines still trust the edges. */
export const carrierHosts = (resource: Partial<Resource>): string[] => [
  ...hostsOf(resource).map(({ host }) => host),
  ...(resource.inbound_ips ?? []),
]

const hostProblems = (resource: Partial<Resource>): Problems => {
  const { from_uri_realm: realm } = resource
  const shown = realm === undefined ? [] : [{ path: 'from_uri_realm', host: realm }]
  const hosts = [...hostsOf(resource), ...shown]
  return joinProblems(...hosts.map(({ path, host }) => (isSipHost(host) ? {} : wrongHost(path, host))))
}

const gatewayProblems = ({ gateways = [] }: Partial<Resource>): Problems =>
  joinProblems(
    ...gateways.map(({ invite_format: format, username, password }, index) =>
      (format === 'username' || password !== undefined) && username === undefined
        ? {
            [`gateways.${index}.username`]: {
              required: { message: 'Field is required but missing', value: 'username' },
            },
          }
        : {},
    ),
  )

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
        { forbidden: { message: 'Headers of this name are written by the edge itself', value: name } },
      ]),
  )

const allHeaderProblems = ({ gateways = [] }: Partial<Resource>): Problems =>
  joinProblems(
    ...gateways.map(({ custom_sip_headers: headers }, index) =>
      headerProblems(`gateways.${index}.custom_sip_headers`, headers),
    ),
  )

// A mistyped length would let in half of the world.
const shortestPrefix = { 4: 8, 6: 16 } as const

const networkProblem = (text: string) => {
  const network = parseNetwork(text)
  if (!network)
    return { wrong_format: { message: 'Must be an address or a CIDR', format: 'cidr', value: text } }
  const target = shortestPrefix[network.family]
  return network.prefixLength < target
    ? { minimum: { message: `The prefix must have at least ${target} bits`, target, value: text } }
    : undefined
}

const inboundProblems = ({ inbound_ips: networks = [] }: Partial<Resource>): Problems =>
  Object.fromEntries(
    networks.flatMap((text, index) => {
      const problem = networkProblem(text)
      return problem ? [[`inbound_ips.${index}`, problem]] : []
    }),
  )

export const resourceProblems = (resource: Partial<Resource>): Problems =>
  joinProblems(
    patternProblems('rules', resource.rules),
    patternProblems('cid_rules', resource.cid_rules),
    classifierProblems(resource.classifiers),
    hostProblems(resource),
    gatewayProblems(resource),
    allHeaderProblems(resource),
    inboundProblems(resource),
  )

const narrowing: readonly (string | undefined)[] = ['rules', 'cid_rules', 'classifiers']

/** A carrier without one of its rules would take other calls: it is disabled until an admin has checked it. */
export const withoutWiderUse = (doc: Json, removed: readonly Place[]): Json =>
  removed.some(([key]) => narrowing.includes(key)) ? { ...doc, enabled: false } : doc
