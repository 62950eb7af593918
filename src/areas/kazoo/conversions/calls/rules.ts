// What happens to calls, and who takes them outside: callflows, groups, resources and trunks of an account. What our
// records can hold becomes one; anything else is kept as it is.
import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { hasProblems, type Problems } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { flowProblems, patternProblems, tidyNumbers } from '../../../callflows/rules.ts'
import { callflowReadOnly } from '../../../callflows/schema.ts'
import { connectivityProblems, storedHalf } from '../../../connectivity/rules.ts'
import type { Connectivity } from '../../../connectivity/schema.ts'
import { groupReadOnly } from '../../../groups/schema.ts'
import { resourceProblems } from '../../../resources/rules.ts'
import { type Resource, resourceReadOnly } from '../../../resources/schema.ts'
import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { isGone, publicPart, textIn, timesOf } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { keepDocument, keepOrList } from '../kept/rules.ts'
import { draftOf } from '../owners.ts'

export interface CallContext {
  accountId: string
  realm: string
  /** How the account completes what is dialled. */
  dialPlan?: unknown
}

/** What a document comes to before it is held against others of its account. */
interface Reading {
  doc: Json
  /** What keeps it from being a record: the first place, and nothing of what stands there. */
  problem: string | undefined
  findings: readonly Finding[]
}

const firstOf = (problems: Problems) => (hasProblems(problems) ? Object.keys(problems)[0] : undefined)

const numbering = { normalize: normalizeNumber, isReconcilable: isE164 }
const longestNumber = 36

const isListable = (text: string) => text !== '' && text.length <= longestNumber

/** Patterns are written for another engine of regular expressions: those that this one does not read are left out. */
const readablePatterns = (document: KazooDocument) => {
  const { patterns } = document.fields
  const texts = Array.isArray(patterns)
    ? patterns.filter((one): one is string => typeof one === 'string')
    : []
  const unreadable = texts.filter((pattern) => hasProblems(patternProblems({ patterns: [pattern] })))
  return {
    patterns: texts.filter((pattern) => !unreadable.includes(pattern)),
    findings: unreadable.map((old) =>
      finding(document, 'needs_hand', 'pattern_unreadable', { field: 'patterns', old }),
    ),
  }
}

const readCallflow = (document: KazooDocument, { dialPlan }: CallContext): Reading => {
  const { fields } = document
  const { patterns, findings } = readablePatterns(document)
  const numbers = tidyNumbers(fields.numbers, { plans: [dialPlan], numbering }).filter(isListable)
  const doc = {
    ...publicPart(fields, callflowReadOnly),
    numbers,
    ...(fields.patterns === undefined ? {} : { patterns }),
  }
  const hasFlow = textIn(fields, 'flow', 'module') !== undefined
  return { doc, findings, problem: hasFlow ? firstOf(flowProblems(fields.flow)) : 'flow' }
}

const endpointTypes: readonly unknown[] = ['user', 'device', 'group']

const endpointProblem = ([id, endpoint]: [string, unknown]) =>
  /^[0-9a-f]{32}$/.test(id) && isObject(endpoint) && endpointTypes.includes(endpoint.type)
    ? undefined
    : `endpoints.${id}`

const readGroup = ({ id, fields }: KazooDocument): Reading => {
  const { endpoints = {} } = fields
  const doc = { ...publicPart(fields, groupReadOnly), name: textIn(fields, 'name') ?? id, endpoints }
  const problem = isObject(endpoints)
    ? Object.entries(endpoints).map(endpointProblem).find(Boolean)
    : 'endpoints'
  return { doc, findings: [], problem }
}

const gatewayProblem = (gateway: unknown, index: number) =>
  textIn(gateway, 'server') === undefined ? `gateways.${index}.server` : undefined

const readResource = ({ id, fields }: KazooDocument): Reading => {
  const { gateways = [] } = fields
  const doc = { ...publicPart(fields, resourceReadOnly), name: textIn(fields, 'name') ?? id, gateways }
  const shape = Array.isArray(gateways) ? gateways.map(gatewayProblem).find(Boolean) : 'gateways'
  return { doc, findings: [], problem: shape ?? unreadable(() => resourceProblems(doc as Partial<Resource>)) }
}

const serverProblem = (server: unknown, index: number) =>
  isObject(server) && isObject(server.auth) ? undefined : `servers.${index}.auth`

const readTrunks = ({ fields }: KazooDocument, { realm }: CallContext): Reading => {
  const doc = publicPart(fields, ['id', 'created', 'modified'])
  const { servers = [] } = doc
  const shape = Array.isArray(servers) ? servers.map(serverProblem).find(Boolean) : 'servers'
  if (shape !== undefined) return { doc, findings: [], problem: shape }
  const problem = unreadable(() => connectivityProblems(doc as Partial<Connectivity>, normalizeNumber))
  const stored = problem === undefined ? storedHalf(doc, { realm, normalize: normalizeNumber }) : doc
  return { doc: stored, findings: [], problem }
}

/** The first problem that the rules of an area find; what they stumble over is one as well. */
const unreadable = (judge: () => Problems): string | undefined => {
  try {
    return firstOf(judge())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return 'form'
  }
}

type Read = (document: KazooDocument, context: CallContext) => Reading

/** What becomes a record here, by the type of its document. */
const readings: Readonly<Record<string, { as: string; read: Read }>> = {
  callflow: { as: 'callflow', read: readCallflow },
  group: { as: 'group', read: readGroup },
  resource: { as: 'resource', read: readResource },
  sys_info: { as: 'connectivity', read: readTrunks },
}

/** Whether documents of a type are read here. */
export const isAboutCalls = (type: string) => Object.hasOwn(readings, type)

const convertOne = (document: KazooDocument, context: CallContext): Converted => {
  const reading = readings[document.type]
  if (!reading || isGone(document.fields)) return keepOrList(document, context.accountId)
  const { doc, problem, findings } = reading.read(document, context)
  if (problem !== undefined) {
    const told = finding(document, 'needs_hand', 'record_not_taken', { field: problem })
    return keepDocument(document, context.accountId, { findings: [...findings, told] })
  }
  const draft = draftOf(document, reading.as, context.accountId, { doc })
  return converted(document, 'imported', { drafts: [draft], findings })
}

const isOlder = (a: Converted, b: Converted) => {
  const [one, other] = [timesOf(a.document.fields).created, timesOf(b.document.fields).created]
  return one - other || (a.document.id < b.document.id ? -1 : 1)
}

/** What a record lists that only one of an account may: the older ones first, the younger lose what is taken. */
const withoutTaken = (
  one: Converted,
  { field, code }: { field: string; code: string },
  keep: (doc: Json, isFree: (name: string) => boolean) => Json,
  taken: Set<string>,
): Converted => {
  const lost: string[] = []
  const isFree = (name: string) => {
    const free = !taken.has(name)
    if (free) taken.add(name)
    else lost.push(name)
    return free
  }
  const drafts = one.drafts.map((draft) => ({ ...draft, doc: keep(draft.doc, isFree) }))
  const findings = lost.map((old) => finding(one.document, 'needs_hand', code, { field, old, new: '' }))
  return { ...one, drafts, findings: [...one.findings, ...findings] }
}

const listed = (doc: Json, isFree: (name: string) => boolean): Json => ({
  ...doc,
  numbers: Array.isArray(doc.numbers) ? doc.numbers.filter((number) => isFree(String(number))) : [],
})

const trunked = (doc: Json, isFree: (name: string) => boolean): Json => ({
  ...doc,
  servers: (Array.isArray(doc.servers) ? doc.servers : []).map((server: Json) =>
    isObject(server.DIDs)
      ? { ...server, DIDs: Object.fromEntries(Object.entries(server.DIDs).filter(([did]) => isFree(did))) }
      : server,
  ),
})

const isDraftOf = (as: string) => (one: Converted) => one.drafts.some((draft) => draft.as === as)

/** The documents of one account that say what happens to its calls, held against each other. */
export const convertCalls = (
  documents: readonly KazooDocument[],
  context: CallContext,
): readonly Converted[] => {
  const all = documents.map((document) => convertOne(document, context)).toSorted(isOlder)
  const [flows, trunks] = [new Set<string>(), new Set<string>()]
  return all.map((one) => {
    if (isDraftOf('callflow')(one))
      return withoutTaken(one, { field: 'numbers', code: 'callflow_number_taken' }, listed, flows)
    if (isDraftOf('connectivity')(one))
      return withoutTaken(one, { field: 'DIDs', code: 'trunk_number_taken' }, trunked, trunks)
    return one
  })
}
