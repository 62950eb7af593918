// Which carriers take a call, in which order, and how they are asked; and which of them an address belongs to.
import { type Address, type Cidr, isInCidr, parseAddress, parseNetwork } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { joinProblems, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'
import type { Place } from '../../../lib/removal.ts'
import { isSipHost } from '../../../lib/sip-host.ts'
import { type CarrierHost, hostOf } from './hosts.rules.ts'
import type { Classifier, Gateway, Resource } from './schema.ts'

/** What is stored of a resource. */
export type ResourceDoc = Resource & { readonly [custom: string]: unknown }

/** A call that is to leave. */
export interface CarrierCallQuery {
  /** E.164 with its plus, or a short code as it is dialled. */
  number: string
  /** The name of the classifier that fits the number. */
  classification?: string | undefined
  emergency: boolean
  /** What a carrier has to offer. */
  flags: readonly string[]
  /** Who calls; without it carriers that have rules for callers take no call. */
  callerNumber?: string | undefined
}

/** A network that a carrier's calls come from. */
interface Network {
  cidr: Cidr
  /** The only port that they come from. */
  port?: number | undefined
}

/** A resource as it is asked many times. */
export interface Carrier {
  id: string
  doc: Readonly<Resource>
  rules: readonly Pattern[]
  callerRules: readonly Pattern[]
  /** By class, where a class has a rule of its own. */
  classRules: ReadonlyMap<string, readonly Pattern[]>
  networks: readonly Network[]
  /** Names behind which its calls come from as well. */
  hosts: readonly CarrierHost[]
}

/** A gateway that a call may be sent to. */
export interface Choice {
  carrier: Carrier
  gateway: Readonly<Gateway>
  /** As the carrier wants it. */
  number: string
}

const standardWeight = 50

// What says that the carrier itself cannot, now. 480 and 486 come from whoever is called: the next carrier would ring
// the same telephone once more.
const standardFailoverCodes: readonly number[] = [408, 500, 502, 503, 504]

/** The SIP answers after which a call is sent to the next gateway. */
export const failoverCodesOf = ({ failover_codes: codes }: Readonly<Resource>): readonly number[] =>
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

/** Reads the patterns and networks of a resource, once for all calls. */
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

/** What the first rule that fits leaves of a number: its first group, or the whole where it has none. */
const dialled = (rules: readonly Pattern[], number: string): string | undefined => {
  for (const rule of rules) if (rule.matches(number)) return rule.firstGroup(number) ?? number
  return undefined
}

/** What a resource says of the class of a number; undefined where it is not for that class. */
const classOf = ({ doc: { classifiers } }: Carrier, name: string | undefined): Classifier | undefined => {
  if (!classifiers) return {}
  const found = name !== undefined && Object.hasOwn(classifiers, name) ? classifiers[name] : undefined
  return found && isOn(found) ? found : undefined
}

/** A class without a rule of its own, of a resource that has no rules either, takes every number. */
const rulesFor = ({ doc, rules, classRules }: Carrier, name = ''): readonly Pattern[] | 'any' => {
  const own = classRules.get(name)
  if (own) return own
  return doc.classifiers && !doc.rules?.length ? 'any' : rules
}

/** A resource that takes a call. */
interface Fit {
  carrier: Carrier
  weight: number
  /** What its rules leave of the number. */
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

/** The lower weight first; equal ones in the order in which they were made. */
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

/**
 * The gateways that a call is sent to, one after the other until one takes it. `tiers` are the carriers of each owner, the
 * owner whose come first in front.
 */
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

/** Where a call comes from. */
export interface Origin {
  address: Address
  /** Undefined: nobody has looked, which is no port at all. */
  port?: number | undefined
}

/** The first carrier that an address belongs to. */
export const carrierOf = (carriers: readonly Carrier[], { address, port }: Origin): Carrier | undefined =>
  carriers.find(({ networks }) =>
    networks.some(({ cidr, port: only }) => isInCidr(address, cidr) && (only === undefined || only === port)),
  )

/** Whether an address is one of theirs, whatever the port. */
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

/** Each host that a resource names, and where. */
export const hostsOf = ({ gateways = [] }: Partial<Resource>): { path: string; host: string }[] =>
  gateways.flatMap((gateway, index) =>
    hostFields.flatMap((field) => {
      const host = gateway[field]
      return host === undefined ? [] : [{ path: `gateways.${index}.${field}`, host }]
    }),
  )

/** Every host and network of a carrier, also of a disabled one: its machines trust the edges all the same. */
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

// Headers that whoever sends a call writes by himself: others would break the message, or lead it astray.
const ownHeaders = new Set(
  (
    'from to via contact call-id cseq max-forwards route record-route content-length content-type authorization ' +
    'proxy-authorization require proxy-require f t v m i l c'
  ).split(' '),
)

/** Headers among these that the edge writes itself. */
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

// A mistyped length would let half of the world in.
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

/** What the schema cannot say of a resource. */
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

/** A carrier that lost a rule would take calls that were not for it: it is disabled until a person has looked at it. */
export const withoutWiderUse = (doc: Json, removed: readonly Place[]): Json =>
  removed.some(([key]) => narrowing.includes(key)) ? { ...doc, enabled: false } : doc
