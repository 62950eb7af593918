// What happens to calls, and who takes them outside: callflows, groups, resources and trunks of an account. What our
// records can hold becomes one; anything else is kept as it is.

import { flowProblems, patternProblems, tidyNumbers } from '../../../src/areas/callflows/rules.ts'
import { callflowReadOnly } from '../../../src/areas/callflows/schema.ts'
import { storedHalf } from '../../../src/areas/connectivity/rules.ts'
import { connectivityReadOnly } from '../../../src/areas/connectivity/schema.ts'
import { groupReadOnly } from '../../../src/areas/groups/schema.ts'
import { resourceReadOnly } from '../../../src/areas/resources/schema.ts'
import { isE164, normalizeNumber } from '../../../src/lib/e164.ts'
import { hasProblems, type Problems } from '../../../src/lib/failure.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import { pathOf } from '../../../src/lib/property-path.ts'
import { createRemoval, type Removed } from '../../../src/lib/removal.ts'
import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { isGone, publicPart, textIn, timesOf } from '../../documents/fields.ts'
import { rejectedOf, withRejected } from '../../documents/rejected.ts'
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

/** A number as text, or as a JSON number of older documents. */
const isListable = (number: unknown) =>
  (typeof number === 'string' || typeof number === 'number') &&
  String(number).trim() !== '' &&
  String(number).length <= longestNumber

/** Patterns are written for another engine of regular expressions than this one. */
const isUnreadable = (pattern: unknown) =>
  typeof pattern === 'string' && hasProblems(patternProblems({ patterns: [pattern] }))

const placesOf = (doc: Json, field: string, isBad: (item: unknown) => boolean) => {
  const items: unknown = doc[field]
  if (!Array.isArray(items)) return []
  return [...items.keys()].filter((index) => isBad(items[index])).map((index) => [field, String(index)])
}

const removalOf = (document: KazooDocument, { place, value }: Removed) =>
  place[0] === 'patterns'
    ? finding(document, 'needs_hand', 'pattern_unreadable', { field: 'patterns', old: String(value) })
    : finding(document, 'repaired', 'set_aside', { field: pathOf(place) })

/** A field of another type than it has to be is empty, and rejected. */
const shaped = (doc: Json, field: string, isValid: (value: unknown) => boolean, empty: unknown): Json => {
  const value = doc[field]
  if (isValid(value)) return doc
  return withRejected({ ...doc, [field]: empty }, value === undefined ? {} : { [field]: value })
}

const readCallflow = (document: KazooDocument, { dialPlan }: CallContext): Reading => {
  const { fields } = document
  const given = shaped(publicPart(fields, callflowReadOnly), 'numbers', Array.isArray, [])
  const { rest, removed, remove } = createRemoval(given)
  remove([
    ...placesOf(given, 'numbers', (number) => !isListable(number)),
    ...placesOf(given, 'patterns', isUnreadable),
  ])
  const listed = (rest.numbers as readonly unknown[]).map(String)
  const numbers = tidyNumbers(listed, { plans: [dialPlan], numbering })
  const hasFlow = textIn(fields, 'flow', 'module') !== undefined
  return {
    doc: withRejected({ ...rest, numbers }, rejectedOf(removed)),
    findings: removed.map((one) => removalOf(document, one)),
    problem: hasFlow ? firstOf(flowProblems(fields.flow)) : 'flow',
  }
}

const readGroup = ({ id, fields }: KazooDocument): Reading => {
  const doc = { ...publicPart(fields, groupReadOnly), name: textIn(fields, 'name') ?? id }
  return { doc: shaped(doc, 'endpoints', isObject, {}), findings: [], problem: undefined }
}

const readResource = ({ id, fields }: KazooDocument): Reading => {
  const doc = { ...publicPart(fields, resourceReadOnly), name: textIn(fields, 'name') ?? id }
  return { doc: shaped(doc, 'gateways', Array.isArray, []), findings: [], problem: undefined }
}

/** The part as it is stored; a part of another form than it has to be stays for the check against the schema. */
const tidyPart = (part: Json, realm: string): Json => {
  try {
    return storedHalf(part, { realm, normalize: normalizeNumber })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return part
  }
}

const readTrunks = ({ fields }: KazooDocument, { realm }: CallContext): Reading => {
  const { servers, ...others } = shaped(
    publicPart(fields, connectivityReadOnly),
    'servers',
    Array.isArray,
    [],
  )
  const tidy = (servers as unknown[]).flatMap((server) => tidyPart({ servers: [server] }, realm).servers)
  return { doc: { ...tidyPart(others, realm), servers: tidy }, findings: [], problem: undefined }
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
