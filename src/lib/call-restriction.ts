import { isObject, type Json } from './json.ts'

const field = 'call_restriction'

// Kazoo's switch for groups that call only each other. It is no class of numbers.
const closedGroups = 'closed_groups'

interface Restricted {
  data: Json
  /** Paths of what was dropped. */
  dropped: readonly string[]
}

/**
 * The data without members of `call_restriction` that no class of numbers is called. Consoles write keys such as
 * `undefined` there: the restrictions next to them must not be lost with the request.
 */
export const withKnownClasses = (data: Json, isClass: (name: string) => boolean): Restricted => {
  const restriction = data[field]
  if (!isObject(restriction)) return { data, dropped: [] }
  const isKnown = (name: string) => name === closedGroups || isClass(name)
  const dropped = Object.keys(restriction).filter((name) => !isKnown(name))
  if (dropped.length === 0) return { data, dropped }
  const known = Object.entries(restriction).filter(([name]) => isKnown(name))
  return {
    data: { ...data, [field]: Object.fromEntries(known) },
    dropped: dropped.map((name) => `${field}.${name}`),
  }
}
