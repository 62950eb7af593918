const keysIn = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + keysIn(item), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + keysIn(inner), 0)
}

const texts = /"(?:[^"\\]|\\.)*"(\s*:)?/gs

const writtenKeys = (json: string) => {
  let count = 0
  for (const [, colon] of json.matchAll(texts)) if (colon !== undefined) count += 1
  return count
}

/** The parsed text; throws where an object has a key twice, which `JSON.parse` alone accepts. */
export const parseStrictly = (json: string): unknown => {
  const value: unknown = JSON.parse(json)
  if (writtenKeys(json) !== keysIn(value)) throw new Error(`An object repeats a key: ${json.slice(0, 4000)}`)
  return value
}
