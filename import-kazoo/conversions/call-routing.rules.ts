import { flowProblems, patternProblems, tidyNumbers } from '../../src/areas/voice/callflows/rules.ts'
import { callflowReadOnly } from '../../src/areas/voice/callflows/schema.ts'
import { storedTrunks } from '../../src/areas/voice/connectivity/rules.ts'
import { connectivityReadOnly } from '../../src/areas/voice/connectivity/schema.ts'
import { groupReadOnly } from '../../src/areas/voice/groups/schema.ts'
import { resourceReadOnly } from '../../src/areas/voice/resources/schema.ts'
import { isE164, normalizeNumber } from '../../src/lib/e164.ts'
import { hasProblems } from '../../src/lib/failure.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { createRemoval } from '../../src/lib/removal.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import {
  inOrderOfAge,
  isGone,
  listIn,
  publicPart,
  rejectedOf,
  textIn,
  withRejected,
} from '../documents/fields.ts'
import { type Conversion, conversionOf } from './findings.ts'
import { createNames } from './people-context.rules.ts'
import { preserveDocument, preserveOrCount } from './preserved.rules.ts'

// Callflows, groups, resources and trunks. Documents that are not valid records are preserved.

interface CallContext {
  accountId: string
  realm: string
  /** Completes dialled numbers. */
  dialPlan?: unknown
}

type CallConversion = Conversion<CallContext>

type Read = (doc: Json, conversion: CallConversion) => Json

const numbering = { normalize: normalizeNumber, isReconcilable: isE164 }
const longestNumber = 36

const isListable = (number: unknown) =>
  (typeof number === 'string' || typeof number === 'number') &&
  String(number).trim() !== '' &&
  String(number).length <= longestNumber

/** Patterns may be written for another regex engine. */
const isReadable = (pattern: unknown) =>
  typeof pattern !== 'string' || !hasProblems(patternProblems({ patterns: [pattern] }))

const placesOf = (doc: Json, field: string, isGood: (item: unknown) => boolean) => {
  const items = listIn(doc[field])
  return [...items.keys()].filter((index) => !isGood(items[index])).map((index) => [field, String(index)])
}

/** Replaces a value of the wrong type by an empty one and stores it as rejected. */
const shaped = (doc: Json, field: string, isValid: (value: unknown) => boolean, empty: unknown): Json => {
  const value = doc[field]
  if (isValid(value)) return doc
  return withRejected({ ...doc, [field]: empty }, value === undefined ? {} : { [field]: value })
}

const readCallflow: Read = (doc, { dialPlan, needsHand, repaired }) => {
  const given = shaped(doc, 'numbers', Array.isArray, [])
  const { rest, removed, remove } = createRemoval(given)
  remove([...placesOf(given, 'numbers', isListable), ...placesOf(given, 'patterns', isReadable)])
  for (const { place, value } of removed) {
    if (place[0] === 'patterns') needsHand('pattern_unreadable', { field: 'patterns', old: String(value) })
    else repaired('set_aside', { field: pathOf(place) })
  }
  const listed = (rest.numbers as readonly unknown[]).map(String)
  const numbers = tidyNumbers(listed, { plans: [dialPlan], numbering })
  return withRejected({ ...rest, numbers }, rejectedOf(removed))
}

/** The first path that keeps a callflow from being a record, never its value. */
const flowProblem = (fields: Json) =>
  textIn(fields, 'flow', 'module') === undefined ? 'flow' : Object.keys(flowProblems(fields.flow))[0]

const readNamed =
  (field: string, isValid: (value: unknown) => boolean, empty: unknown): Read =>
  (doc, { id }) =>
    shaped({ ...doc, name: textIn(doc, 'name') ?? id }, field, isValid, empty)

/** The part as it is stored; the check against the schema handles parts of another form. */
const tidyPart = (part: Json, realm: string): Json => {
  try {
    return storedTrunks(part, { realm, normalize: normalizeNumber })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return part
  }
}

const readTrunks: Read = (doc, { realm }) => {
  const { servers, ...others } = shaped(doc, 'servers', Array.isArray, [])
  const tidy = (servers as unknown[]).flatMap((server) => tidyPart({ servers: [server] }, realm).servers)
  return { ...tidyPart(others, realm), servers: tidy }
}

interface CallKind {
  as: string
  computed: readonly string[]
  read: Read
  problemOf?(fields: Json): string | undefined
  /** Names that an account may use once: the oldest record keeps them. */
  unique?: {
    field: string
    code: string
    keep(doc: Json, isFree: (name: string) => boolean): Json
  }
}

const kinds: Readonly<Record<string, CallKind>> = {
  callflow: {
    as: 'callflow',
    computed: callflowReadOnly,
    read: readCallflow,
    problemOf: flowProblem,
    unique: {
      field: 'numbers',
      code: 'callflow_number_taken',
      keep: (doc, isFree) => ({ ...doc, numbers: listIn(doc.numbers).map(String).filter(isFree) }),
    },
  },
  group: { as: 'group', computed: groupReadOnly, read: readNamed('endpoints', isObject, {}) },
  resource: { as: 'resource', computed: resourceReadOnly, read: readNamed('gateways', Array.isArray, []) },
  sys_info: {
    as: 'connectivity',
    computed: connectivityReadOnly,
    read: readTrunks,
    unique: {
      field: 'DIDs',
      code: 'trunk_number_taken',
      keep: (doc, isFree) => ({
        ...doc,
        servers: listIn(doc.servers).map((server) => {
          if (!isObject(server) || !isObject(server.DIDs)) return server
          const free = Object.entries(server.DIDs).filter(([did]) => isFree(did))
          return { ...server, DIDs: Object.fromEntries(free) }
        }),
      }),
    },
  },
}

export const isAboutCalls = (type: string) => Object.hasOwn(kinds, type)

const convertOne = (
  document: KazooDocument,
  context: CallContext,
  hold: ReturnType<typeof createNames>,
): Converted => {
  const { type, fields } = document
  const { accountId } = context
  const kind = kinds[type]
  if (!kind || isGone(fields)) return preserveOrCount(document, accountId)
  const conversion = conversionOf(document, context)
  const { findings, needsHand, imported } = conversion
  const doc = kind.read(publicPart(fields, kind.computed), conversion)
  const problem = kind.problemOf?.(fields)
  if (problem !== undefined) {
    needsHand('record_not_taken', { field: problem })
    return preserveDocument(document, accountId, { findings })
  }
  const { unique } = kind
  const isFree = (name: string) => {
    const wasFree = hold(type, name)
    if (!wasFree && unique) needsHand(unique.code, { field: unique.field, old: name, new: '' })
    return wasFree
  }
  return imported(kind.as, accountId, { doc: unique ? unique.keep(doc, isFree) : doc })
}

export const convertCalls = (
  documents: readonly KazooDocument[],
  context: CallContext,
): readonly Converted[] => {
  const hold = createNames()
  return inOrderOfAge(documents).map((document) => convertOne(document, context, hold))
}
