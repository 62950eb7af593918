import { isObject, type Json, maxDepth } from './json.ts'

// Below `maxDepth` these leave a document as it is: validation refuses it anyway.

const withoutNulls = (value: unknown, depth: number): unknown => {
  if (typeof value !== 'object' || value === null || depth >= maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  const kept: Json = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null && key !== '__proto__') kept[key] = withoutNulls(inner, depth + 1)
  }
  return kept
}

/** The data without keys whose value is null, at any depth. A null in a list stays: positions carry meaning. */
export const dropNulls = (data: unknown) => withoutNulls(data, 0)

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

/** `current` with a PATCH applied (RFC 7396): objects merge, lists are replaced, null removes the key. */
export const mergePatch = (current: unknown, patch: unknown) => merged(current, patch, 0)

/** The same of a PATCH that is an object: so is what comes of it. */
export const mergeObject = (current: unknown, patch: Json) => mergedObject(current, patch, 0)

const isPrivateKey = (key: string) => key.startsWith('_') || key.startsWith('pvt_')

/** The data without top-level keys that belong to the server. Keys inside custom data are the client's. */
export const dropPrivateKeys = (data: unknown) => {
  if (!isObject(data)) return data
  const kept: Json = {}
  for (const key of Object.keys(data)) if (!isPrivateKey(key)) kept[key] = data[key]
  return kept
}
