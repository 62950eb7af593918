import { failure, faultyRequest } from '../../lib/failure.ts'
import { isPrivateKey } from '../../lib/json-merge.ts'
import { memberOf as memberIn } from '../../lib/member.ts'
import type { ListQuery, Test } from '../../lib/question.ts'
import { maskUrls } from '../../lib/secrets.ts'
import { timeBoundsIn } from '../../lib/time-bounds.ts'

// Filters see the stored record with `id`, `created` and `modified`, but no private parts and no passwords in URLs:
// a filter could find a hidden value letter by letter.

type StoredRecord = Record<string, unknown>
type Query = Iterable<readonly [string, string]>
type Judge = (value: unknown) => boolean
type Path = readonly string[]

export type Filter = (record: StoredRecord) => boolean

const pathOf = (dotted: string): Path => dotted.split('.')

/** Inherited and private members do not count. */
const memberOf = (value: unknown, key: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  if (isPrivateKey(key) || !Object.hasOwn(value, key)) return undefined
  return Array.isArray(value) && key === 'length' ? undefined : memberIn(value, key)
}

const valueAt = (record: StoredRecord, path: Path): unknown => {
  let value: unknown = record
  for (const key of path) value = memberOf(value, key)
  return value
}

/** A missing value is the empty text; lists and objects have none. */
const comparedText = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? undefined : maskUrls(String(value))
}

const elementText = (value: unknown) => comparedText(value) ?? maskUrls(JSON.stringify(value))

const textsOf = (values: readonly unknown[]) =>
  new Set(values.map(comparedText).filter((text) => text !== undefined))

const parseList = (text: string): unknown[] | undefined => {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : undefined
  } catch {
    return undefined
  }
}

type TestMaker = (wanted: string) => Test

const impossible: Test = { is: 'impossible' }

const wantedOrList = (wanted: string) => textsOf(parseList(wanted) ?? [wanted])

const ofList = (make: (list: readonly unknown[]) => Test): TestMaker => {
  return (wanted) => {
    const list = parseList(wanted)
    return list ? make(list) : impossible
  }
}

const intersection = (is: 'arrayOfAll' | 'arrayOfAny' | 'arrayOfNone') =>
  ofList((list) => ({ is, texts: list.map(elementText) }))

// Longer prefixes first: `filter_not_x` is not a filter for the key `not_x`.
const byPrefix: readonly (readonly [string, TestMaker])[] = [
  ['filter_array_intersect_all_', intersection('arrayOfAll')],
  ['filter_array_intersect_any_', intersection('arrayOfAny')],
  ['filter_array_intersect_none_', intersection('arrayOfNone')],
  ['filter_not_', (wanted) => ({ is: 'notOneOf', texts: wantedOrList(wanted) })],
  ['filter_any_', ofList((list) => ({ is: 'oneOf', texts: textsOf(list) }))],
  ['filter_none_', ofList((list) => ({ is: 'noneOf', texts: textsOf(list) }))],
  ['filter_', (wanted) => ({ is: 'oneOf', texts: wantedOrList(wanted) })],
]

const byKeyName = new Map<string, Test>([
  ['has_key', { is: 'present' }],
  ['key_missing', { is: 'absent' }],
  ['has_value', { is: 'filled' }],
  ['value_missing', { is: 'unfilled' }],
  ['missing_value', { is: 'unfilled' }],
])

const timeQuestions = (query: URLSearchParams): ListQuery[] =>
  (['created', 'modified'] as const).flatMap((key) => {
    const { from, to } = timeBoundsIn(query, key)
    const tests: Test[] = [
      ...(from === undefined ? [] : [{ is: 'notBefore', bound: from } as const]),
      ...(to === undefined ? [] : [{ is: 'notAfter', bound: to } as const]),
    ]
    return tests.map((test) => ({ key, test }))
  })

const questionOf = (name: string, value: string): ListQuery | undefined => {
  const keyTest = byKeyName.get(name)
  if (keyTest) return { key: value, test: keyTest }
  const match = byPrefix.find(([prefix]) => name.startsWith(prefix))
  return match && { key: name.slice(match[0].length), test: match[1](value) }
}

/** The filters of a query, all of which a record must match. A bound that is not a time, or a reversed window, is a 400. */
export const questionsOf = (query: URLSearchParams): ListQuery[] => {
  const questions = timeQuestions(query)
  for (const [name, value] of query) {
    const question = questionOf(name, value)
    if (question && question.key !== '') questions.push(question)
  }
  return questions
}

export const filterNamesIn = (query: URLSearchParams): string[] =>
  [...new Set(query.keys())].filter((name) => questionOf(name, '') !== undefined)

const isPresent: Judge = (value) => value !== undefined && value !== null

const isFilled: Judge = (value) => {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return isPresent(value) && value !== ''
}

const isOneOf = (value: unknown, texts: ReadonlySet<string>) => {
  const text = comparedText(value)
  return text !== undefined && texts.has(text)
}

/** A missing array is empty. */
const matchesArray = (value: unknown, matches: (texts: ReadonlySet<string>) => boolean) => {
  const array = value ?? []
  return Array.isArray(array) && matches(new Set(array.map(elementText)))
}

const judges: { [T in Test as T['is']]: (value: unknown, test: T) => boolean } = {
  oneOf: (value, { texts }) => isOneOf(value, texts),
  notOneOf: (value, { texts }) => !isOneOf(value, texts),
  noneOf: (value, { texts }) => comparedText(value) !== undefined && !isOneOf(value, texts),
  arrayOfAll: (value, { texts }) => matchesArray(value, (found) => texts.every((text) => found.has(text))),
  arrayOfAny: (value, { texts }) => matchesArray(value, (found) => texts.some((text) => found.has(text))),
  arrayOfNone: (value, { texts }) => matchesArray(value, (found) => !texts.some((text) => found.has(text))),
  present: isPresent,
  absent: (value) => !isPresent(value),
  filled: isFilled,
  unfilled: (value) => !isFilled(value),
  impossible: () => false,
  // A record without such a time, such as an event, is in every window.
  notBefore: (value, { bound }) => value === undefined || (typeof value === 'number' && value >= bound),
  notAfter: (value, { bound }) => value === undefined || (typeof value === 'number' && value <= bound),
}

const isBound = ({ is }: Test) => is === 'notBefore' || is === 'notAfter'

const filterOfOne = ({ key, test }: ListQuery): Filter => {
  const path = pathOf(key)
  const judge = judges[test.is] as (value: unknown, test: Test) => boolean
  // A record that was never edited counts as modified when it was created.
  const checked =
    key === 'modified' && isBound(test)
      ? ({ created, modified = created }: StoredRecord) => modified
      : (record: StoredRecord) => valueAt(record, path)
  return (record) => judge(checked(record), test)
}

/** All filters as one; undefined without filters: then no record is parsed. */
export const filterOf = (questions: readonly ListQuery[]): Filter | undefined => {
  if (questions.length === 0) return undefined
  const filters = questions.map(filterOfOne)
  return (record) => filters.every((filter) => filter(record))
}

export type FieldPicker = (record: StoredRecord) => StoredRecord

const wrongFields = () => failure(faultyRequest, { message: 'invalid fields query string' })

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

const fieldNames = (text: string): string[] => {
  const wanted = parseJson(text)
  if (typeof wanted === 'string') return wanted.split(',').map((name) => name.trim())
  if (Array.isArray(wanted)) return namesInList(wanted)
  if (typeof wanted === 'object' && wanted !== null) return namesInObject(wanted)
  throw wrongFields()
}

/** A key without keys below it is included whole. */
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

/** The fields that `fields` lists, and `id`. Dotted paths become nested objects. */
export const compileFields = (query: Query): FieldPicker | undefined => {
  for (const [name, value] of query) {
    if (name !== 'fields') continue
    const tree: FieldTree = new Map()
    for (const wanted of ['id', ...fieldNames(value)]) addPath(tree, pathOf(wanted))
    return (record) => pick(record, tree)
  }
  return undefined
}
