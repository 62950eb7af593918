import { invalid, type Problems } from '../../../lib/failure.ts'
import { searchKey } from '../../../lib/search-key.ts'

const lowerCase = (text: string) => text.toLowerCase().replaceAll('\0', '').toWellFormed().slice(0, 256)

export const searchTypes = ['account', 'user', 'device'] as const

export type SearchType = (typeof searchTypes)[number]

/** Fields by type, with the function that makes a text comparable with the index. */
const fields: Readonly<Record<SearchType, Readonly<Record<string, (text: string) => string>>>> = {
  account: { name: searchKey, realm: searchKey, id: searchKey },
  user: { name: searchKey, username: lowerCase },
  device: { name: searchKey },
}

export interface SearchQuery {
  type: SearchType
  field: string
  prefix: string
}

const fieldsOf = (type: SearchType) => Object.keys(fields[type])

const missing = (target: readonly string[] | string) => ({
  required: { message: 'Field is required but missing', target },
})

const unknown = (cause: unknown, target: readonly string[]) => {
  const message = 'Value not found in enumerated list of values'
  return { enum: { message, target, cause: String(cause).slice(0, 100) } }
}

const isType = (type: unknown): type is SearchType => typeof type === 'string' && Object.hasOwn(fields, type)

const typeProblems = (type: unknown): Problems =>
  isType(type) ? {} : { t: type === undefined ? missing(searchTypes) : unknown(type, searchTypes) }

const fieldProblems = (type: unknown, field: unknown): Problems => {
  const known = isType(type) ? fieldsOf(type) : ['name']
  if (field === undefined) return { q: missing(known) }
  return !isType(type) || known.includes(String(field)) ? {} : { q: unknown(field, known) }
}

// An empty `v` arrives as empty text, or as `true` from clients of the older server.
const wantedText = (value: unknown) => (value === true || value === 'true' ? '' : String(value))

const prefixOf = (type: SearchType, field: string, value: unknown) =>
  fields[type][field]?.(wantedText(value)) ?? ''

export const readSearchQuery = (value: (name: string) => unknown): SearchQuery => {
  const type = value('t')
  const field = value('q')
  const wanted = value('v')
  const problems = {
    ...typeProblems(type),
    ...fieldProblems(type, field),
    ...(wanted === undefined ? { v: missing('text') } : {}),
  }
  if (!isType(type) || Object.keys(problems).length > 0) throw invalid(problems)
  return { type, field: String(field), prefix: prefixOf(type, String(field), wanted) }
}

export const readSearchQueries = (value: (name: string) => unknown): SearchQuery[] => {
  const type = value('t')
  if (!isType(type)) throw invalid(typeProblems(type))
  const asked = fieldsOf(type).filter((field) => value(`by_${field}`) !== undefined)
  if (asked.length === 0) {
    const target = fieldsOf(type).map((field) => `by_${field}`)
    throw invalid({ multi: { enum: { message: 'At least one of these is required', target } } })
  }
  return asked.map((field) => ({ type, field, prefix: prefixOf(type, field, value(`by_${field}`)) }))
}
