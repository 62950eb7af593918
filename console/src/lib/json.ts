export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What came as JSON, whatever its type says of it. */
export const jsonObjectOf = (record: object): JsonObject => (isObject(record) ? record : {})

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The PATCH that turns `before` into `after`: null for removed keys. Lists are replaced as a whole. */
export const changesBetween = (before: JsonObject, after: JsonObject): JsonObject => {
  const changes: Record<string, Json> = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [before[key], after[key]]
    if (isSame(from, to) || (from === undefined && isObject(to) && Object.keys(recordOf(to)).length === 0))
      continue
    if (to === undefined) changes[key] = null
    else if (isObject(from) && isObject(to)) changes[key] = changesBetween(from, to)
    else changes[key] = to
  }
  return changes
}

/**
 * The PATCH that brings an edited record onto another version of it. A key of `whole` is replaced as a whole if it was
 * edited: parts of two trees would make a third one.
 */
export const changesOnto = (
  onto: JsonObject,
  { before, after, whole = [] }: { before: JsonObject; after: JsonObject; whole?: readonly string[] },
): JsonObject => {
  const changes = changesBetween(before, after)
  const replaced = whole.filter((key) => key in changes)
  return {
    ...changes,
    ...Object.fromEntries(
      replaced.map((key) => [key, changesBetween({ value: onto[key] }, { value: after[key] }).value]),
    ),
  }
}

/** A record with changes as PATCH takes them. */
export const withChanges = (record: JsonObject, changes: JsonObject): JsonObject => {
  const changed: Record<string, Json | undefined> = { ...record }
  for (const [key, to] of Object.entries(changes)) {
    const from = changed[key]
    if (to === null) delete changed[key]
    else changed[key] = isObject(to) ? withChanges(isObject(from) ? from : {}, to) : to
  }
  return changed
}

/** The parts of two records that differ, by their dotted paths. */
export const differencesOf = (
  one: Json | undefined,
  other: Json | undefined,
  path = '',
): readonly { path: string; one: Json | undefined; other: Json | undefined }[] => {
  if (isSame(one, other)) return []
  if (!isObject(one) || !isObject(other)) return [{ path, one, other }]
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort()
  return keys.flatMap((key) => differencesOf(one[key], other[key], path === '' ? key : `${path}.${key}`))
}

export const showJson = (value: Json | undefined) =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)

/** The value at a dotted path. */
export const valueAt = (record: Json | undefined, path: string): Json | undefined =>
  path.split('.').reduce<Json | undefined>((value, key) => (isObject(value) ? value[key] : undefined), record)

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

// Items of a list are replaced as a whole: null, which removes a field of a record, is no value there.
const withoutNulls = (item: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(item)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, isObject(value) ? withoutNulls(value) : value]),
  )

const withoutEmpty = (value: Json | undefined): Json | undefined => {
  if (value === '' || value === undefined) return undefined
  if (isList(value)) return value.map((item) => (isObject(item) ? withoutNulls(recordOf(item)) : item))
  if (!isObject(value)) return value
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const left = withoutEmpty(inner)
    return left === undefined ? [] : [[key, left] as const]
  })
  return Object.fromEntries(kept)
}

/** A form's values as a record: what was left empty is not there. */
export const recordOf = (values: JsonObject): JsonObject => {
  const record = withoutEmpty(values)
  return isObject(record) ? record : {}
}
