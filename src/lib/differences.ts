import { isObject, type Json } from './json.ts'
import { mapLikelySecrets, masked, maskUrls } from './secrets.ts'

/** `from` is absent for an added value, `to` for a removed one. */
export interface Difference {
  /** Dotted; list items by index. */
  path: string
  from?: unknown
  to?: unknown
}

const isSame = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b)

// No stored text contains NUL.
const hiding = '\0'

/** Replaces secrets by distinct placeholders; URLs are unchanged. */
const hidden = (schema: object | undefined, doc: Json) =>
  mapLikelySecrets(schema, doc, (value, mark) =>
    mark === 'url' ? value : `${hiding}${JSON.stringify(value)}`,
  )

const shown = (value: unknown): unknown => {
  if (typeof value === 'string') return value.startsWith(hiding) ? masked : maskUrls(value)
  if (Array.isArray(value)) return value.map(shown)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner)]))
}

const difference = (path: string, from: unknown, to: unknown): Difference => ({
  path,
  ...(from === undefined ? {} : { from: shown(from) }),
  ...(to === undefined ? {} : { to: shown(to) }),
})

/** Lists of equal length are compared item by item, others as one value. */
const membersOf = (value: unknown, other: unknown): Json | undefined => {
  if (isObject(value)) return Object.keys(value).length > 0 || isObject(other) ? value : undefined
  const isList = Array.isArray(value) && Array.isArray(other) && value.length === other.length
  return isList ? { ...value } : undefined
}

const memberOf = (members: Json | undefined, key: string) =>
  members && Object.hasOwn(members, key) ? members[key] : undefined

const isLeaf = (value: unknown) => value !== undefined && !isObject(value)

const walk = (place: string, from: unknown, to: unknown, found: Difference[]) => {
  const had = membersOf(from, to)
  const has = membersOf(to, from)
  if ((!had && !has) || (!had && isLeaf(from)) || (!has && isLeaf(to))) {
    if (!isSame(from, to)) found.push(difference(place, from, to))
    return
  }
  for (const key of new Set([...Object.keys(had ?? {}), ...Object.keys(has ?? {})])) {
    const path = place === '' ? key : `${place}.${key}`
    walk(path, memberOf(had, key), memberOf(has, key), found)
  }
}

/** For documents with masked secrets. */
export const maskedDifferences = (from: Json, to: Json): Difference[] => {
  const found: Difference[] = []
  walk('', from, to, found)
  return found
}

/**
 * Shows that a secret changed, but not its value.
 * @example
 * differencesBetween({ name: 'a', pin: '1' }, { name: 'b', pin: '2', tags: ['x'] })
 * // [{ path: 'name', from: 'a', to: 'b' }, { path: 'pin', from: '***', to: '***' }, { path: 'tags', to: ['x'] }]
 */
export const differencesBetween = (from: Json, to: Json, schema?: object): Difference[] =>
  maskedDifferences(hidden(schema, from), hidden(schema, to))
