import { isObject, type Json, maxDepth } from './json.ts'

// Below `maxDepth` documents stay unchanged: validation rejects them.

const hasNulls = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null || depth >= maxDepth) return false
  if (Array.isArray(value)) return value.some((item) => hasNulls(item, depth + 1))
  for (const key of Object.keys(value)) {
    const inner = (value as Json)[key]
    if (inner === null || key === '__proto__' || hasNulls(inner, depth + 1)) return true
  }
  return false
}

const withoutNulls = (value: unknown, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || depth >= maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  const kept: Json = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null && key !== '__proto__') kept[key] = withoutNulls(inner, depth + 1)
  }
  return kept
}

/** Returns the same object if there is none. Nulls in lists stay, because positions matter. */
export const dropNulls = (data: unknown) => (hasNulls(data, 0) ? withoutNulls(data, 0) : data)

const merged = (current: unknown, patch: unknown, depth: number): unknown =>
  isObject(patch) && depth < maxDepth ? mergedObject(current, patch, depth) : patch

const mergedObject = (current: unknown, patch: Json, depth: number): Json => {
  const result: Json = {}
  if (isObject(current)) {
    for (const key of Object.keys(current)) if (key !== '__proto__') result[key] = current[key]
  }
  for (const key of Object.keys(patch)) {
    if (key === '__proto__') continue
    if (patch[key] === null) delete result[key]
    else result[key] = merged(Object.hasOwn(result, key) ? result[key] : undefined, patch[key], depth + 1)
  }
  return result
}

/** RFC 7396: objects merge, lists are replaced, null removes a key. */
export const mergePatch = (current: unknown, patch: unknown) => merged(current, patch, 0)

export const mergeObject = (current: unknown, patch: Json) => mergedObject(current, patch, 0)

const difference = (from: Json, to: Json, depth: number): Json => {
  const patch: Json = {}
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) patch[key] = null
  for (const [key, value] of Object.entries(to)) {
    const had = Object.hasOwn(from, key) ? from[key] : undefined
    if (JSON.stringify(had) === JSON.stringify(value)) continue
    patch[key] =
      isObject(had) && isObject(value) && depth < maxDepth ? difference(had, value, depth + 1) : value
  }
  return patch
}

/** Undefined if `to` has nulls in objects, which no PATCH can write. */
export const patchBetween = (from: Json, to: Json): Json | undefined =>
  hasNulls(to, 0) ? undefined : difference(from, to, 1)

/** Never shown, and ignored in requests. */
export const isPrivateKey = (key: string) => key.startsWith('_') || key.startsWith('pvt_')

/** Only at the top level: keys inside custom data belong to the client. Returns the same object if there is none. */
export const dropPrivateKeys = (data: unknown) => {
  if (!isObject(data)) return data
  const keys = Object.keys(data)
  if (!keys.some(isPrivateKey)) return data
  const kept: Json = {}
  for (const key of keys) if (!isPrivateKey(key)) kept[key] = data[key]
  return kept
}
