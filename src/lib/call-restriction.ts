import { isObject, type Json } from './json.ts'

export const restrictionKey = 'call_restriction'

// Kazoo's switch for groups that call only each other. It is no class of numbers.
const closedGroups = 'closed_groups'

/** The classes of numbers that the data restricts, known or not. */
export const restrictedClasses = (data: unknown): string[] => {
  const restriction = isObject(data) ? data[restrictionKey] : undefined
  return isObject(restriction) ? Object.keys(restriction).filter((name) => name !== closedGroups) : []
}

/**
 * The data without restrictions of these classes. Consoles send keys such as `undefined`: the restrictions next to them
 * must not be lost with the request.
 */
export const withoutClasses = (data: Json, names: readonly string[]): Json => {
  const restriction = data[restrictionKey]
  if (names.length === 0 || !isObject(restriction)) return data
  const dropped = new Set(names)
  const kept = Object.entries(restriction).filter(([name]) => !dropped.has(name))
  return { ...data, [restrictionKey]: Object.fromEntries(kept) }
}
