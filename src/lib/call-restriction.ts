import { isObject, type Json } from './json.ts'

export const restrictionKey = 'call_restriction'

// Kazoo's switch for groups that call only each other; not a class of numbers.
const closedGroups = 'closed_groups'

/** Known or unknown classes. */
export const restrictedClasses = (data: unknown): string[] => {
  const restriction = isObject(data) ? data[restrictionKey] : undefined
  return isObject(restriction) ? Object.keys(restriction).filter((name) => name !== closedGroups) : []
}

/** Consoles send keys such as `undefined`: the other restrictions must not be lost with the request. */
export const withoutClasses = (data: Json, names: readonly string[]): Json => {
  const restriction = data[restrictionKey]
  if (names.length === 0 || !isObject(restriction)) return data
  const dropped = new Set(names)
  const kept = Object.entries(restriction).filter(([name]) => !dropped.has(name))
  return { ...data, [restrictionKey]: Object.fromEntries(kept) }
}
