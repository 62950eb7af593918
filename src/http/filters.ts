import { failure } from '../lib/failure.ts'

// Filters see the stored record with `id`, `created` and `modified`, never its private part:
// a filter on a hidden value would tell it letter by letter.

type StoredRecord = Record<string, unknown>
type Query = Iterable<readonly [string, string]>
type Judge = (value: unknown) => boolean
type Path = readonly string[]

export type Filter = (record: StoredRecord) => boolean

const isPrivate = (key: string) => key.startsWith('_') || key.startsWith('pvt_')

const pathOf = (dotted: string): Path => dotted.split('.')

/** What stands under a key of an object or at a position of an array; inherited and private things do not count. */
const memberOf = (value: unknown, key: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  if (isPrivate(key) || !Object.hasOwn(value, key)) return undefined
  return Array.isArray(value) && key === 'length' ? undefined : (value as StoredRecord)[key]
}

const valueAt = (record: StoredRecord, path: Path): unknown => {
  let value: unknown = record
  for (const key of path) value = memberOf(value, key)
  return value
}

/** The text that scalars are compared as; a missing value is the empty text, a list or an object has none. */
const textOf = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? undefined : String(value)
}

/** Elements of lists may be objects: those are compared as JSON text. */
const elementText = (value: unknown) => textOf(value) ?? JSON.stringify(value)

const textsOf = (values: readonly unknown[]) =>
  new Set(values.map(textOf).filter((text) => text !== undefined))

const parseList = (text: string): unknown[] | undefined => {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : undefined
  } catch {
    return undefined
  }
}

const never: Judge = () => false

const isOneOf = (texts: ReadonlySet<string>): Judge => {
  return (value) => {
    const text = textOf(value)
    return text !== undefined && texts.has(text)
  }
}

const equals = (wanted: string) => isOneOf(textsOf(parseList(wanted) ?? [wanted]))

const differs = (wanted: string): Judge => {
  const isEqual = equals(wanted)
  return (value) => !isEqual(value)
}

const isAny = (wanted: string): Judge => {
  const list = parseList(wanted)
  return list ? isOneOf(textsOf(list)) : never
}

const isNone = (wanted: string): Judge => {
  const list = parseList(wanted)
  if (!list) return never
  const texts = textsOf(list)
  return (value) => {
    const text = textOf(value)
    return text !== undefined && !texts.has(text)
  }
}

/** Judges the texts of an array (a missing one is empty) against the wanted list. */
const intersection = (judge: (present: ReadonlySet<string>, wanted: readonly string[]) => boolean) => {
  return (wanted: string): Judge => {
    const list = parseList(wanted)
    if (!list) return never
    const texts = list.map(elementText)
    return (value) => {
      const array = value ?? []
      return Array.isArray(array) && judge(new Set(array.map(elementText)), texts)
    }
  }
}

// Longer prefixes first: `filter_not_x` is no question about a key `not_x`.
const byPrefix: readonly (readonly [string, (wanted: string) => Judge])[] = [
  [
    'filter_array_intersect_all_',
    intersection((present, wanted) => wanted.every((text) => present.has(text))),
  ],
  [
    'filter_array_intersect_any_',
    intersection((present, wanted) => wanted.some((text) => present.has(text))),
  ],
  // As documented: none of the list is contained.
  [
    'filter_array_intersect_none_',
    intersection((present, wanted) => !wanted.some((text) => present.has(text))),
  ],
  ['filter_not_', differs],
  ['filter_any_', isAny],
  ['filter_none_', isNone],
  ['filter_', equals],
]

const isPresent: Judge = (value) => value !== undefined && value !== null
const isAbsent: Judge = (value) => !isPresent(value)

const hasValue: Judge = (value) => {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return isPresent(value) && value !== ''
}
const lacksValue: Judge = (value) => !hasValue(value)

/** Parameters whose value is the key that they ask for. */
const byKeyName = new Map<string, Judge>([
  ['has_key', isPresent],
  ['key_missing', isAbsent],
  ['has_value', hasValue],
  ['value_missing', lacksValue],
  ['missing_value', lacksValue],
])

const timeBound = (holds: (time: number, bound: number) => boolean) => {
  return (text: string): Judge => {
    if (!/^\d+$/.test(text)) return never
    const bound = Number(text)
    return (value) => typeof value === 'number' && holds(value, bound)
  }
}

const notBefore = timeBound((time, bound) => time >= bound)
const notAfter = timeBound((time, bound) => time <= bound)

const byTime = new Map<string, readonly [string, (text: string) => Judge]>([
  ['created_from', ['created', notBefore]],
  ['created_to', ['created', notAfter]],
  ['modified_from', ['modified', notBefore]],
  ['modified_to', ['modified', notAfter]],
])

const question = (key: string, judge: Judge): Filter | undefined => {
  if (key === '') return undefined
  const path = pathOf(key)
  return (record) => judge(valueAt(record, path))
}

const compileFilter = (name: string, value: string): Filter | undefined => {
  const keyJudge = byKeyName.get(name)
  if (keyJudge) return question(value, keyJudge)
  const time = byTime.get(name)
  if (time) return question(time[0], time[1](value))
  const match = byPrefix.find(([prefix]) => name.startsWith(prefix))
  return match && question(name.slice(match[0].length), match[1](value))
}

/**
 * All filters of a query as one, or undefined when it has none: then no record needs to be parsed.
 * A filter that cannot be evaluated (broken JSON, text for a time) keeps nothing.
 */
export const compileFilters = (query: Query): Filter | undefined => {
  const filters: Filter[] = []
  for (const [name, value] of query) {
    const filter = compileFilter(name, value)
    if (filter) filters.push(filter)
  }
  if (filters.length === 0) return undefined
  return (record) => filters.every((filter) => filter(record))
}

export type FieldPicker = (record: StoredRecord) => StoredRecord

const wrongFields = () => failure('faulty_request', { message: 'invalid fields query string' })

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw wrongFields()
  }
}

const namesInList = (list: readonly unknown[]) =>
  list.map((name) => {
    if (typeof name !== 'string') throw wrongFields()
    return name
  })

const namesInObject = (wanted: object) =>
  Object.entries(wanted).flatMap(([name, isWanted]) => {
    if (typeof isWanted !== 'boolean') throw wrongFields()
    return isWanted ? [name] : []
  })

/** The three forms: `["a","b.c"]`, `{"a":true}` and `"a,b.c"` (a JSON text with commas). */
const fieldNames = (text: string): string[] => {
  const wanted = parseJson(text)
  if (typeof wanted === 'string') return wanted.split(',').map((name) => name.trim())
  if (Array.isArray(wanted)) return namesInList(wanted)
  if (typeof wanted === 'object' && wanted !== null) return namesInObject(wanted)
  throw wrongFields()
}

/** Wanted keys at each level; a key without keys below it is wanted whole. */
type FieldTree = Map<string, FieldTree>

const addPath = (tree: FieldTree, path: Path) => {
  let place = tree
  for (const [depth, key] of path.entries()) {
    const known = place.get(key)
    const isWhole = known?.size === 0
    if (isWhole) return
    const next = depth === path.length - 1 || !known ? new Map() : known
    place.set(key, next)
    place = next
  }
}

const pick = (value: unknown, tree: FieldTree): StoredRecord => {
  const picked: StoredRecord = {}
  for (const [key, below] of tree) {
    const member = memberOf(value, key)
    if (member === undefined) continue
    if (below.size === 0) picked[key] = member
    else {
      const inner = pick(member, below)
      if (Object.keys(inner).length > 0) picked[key] = inner
    }
  }
  return picked
}

/** What `fields` asks for: those fields and `id`, dotted paths as nested objects. Undefined without `fields`. */
export const compileFields = (query: Query): FieldPicker | undefined => {
  for (const [name, value] of query) {
    if (name !== 'fields') continue
    const tree: FieldTree = new Map()
    for (const wanted of ['id', ...fieldNames(value)]) addPath(tree, pathOf(wanted))
    return (record) => pick(record, tree)
  }
  return undefined
}
