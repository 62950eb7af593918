import { isObject, type Json } from './json.ts'
import { isSecretKey, masked, withoutSecrets } from './secrets.ts'

/** One value of a record that is another one now. `from` is absent for what was added, `to` for what was removed. */
export interface Difference {
  /** Dotted; members of lists by their place. */
  path: string
  from?: unknown
  to?: unknown
}

const isSame = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b)

const told = (path: string, from: unknown, to: unknown, show: (value: unknown) => unknown): Difference => ({
  path,
  ...(from === undefined ? {} : { from: show(from) }),
  ...(to === undefined ? {} : { to: show(to) }),
})

const maskedUnlessNull = (value: unknown) => (value === null ? null : masked)

/** What has members, as an object of them. Lists that keep their length are compared member by member, others as one value. */
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
    if (!isSame(from, to)) found.push(told(place, from, to, withoutSecrets))
    return
  }
  for (const key of new Set([...Object.keys(had ?? {}), ...Object.keys(has ?? {})])) {
    const path = place === '' ? key : `${place}.${key}`
    const [before, after] = [memberOf(had, key), memberOf(has, key)]
    if (!isSecretKey(key)) walk(path, before, after, found)
    else if (!isSame(before, after)) found.push(told(path, before, after, maskedUnlessNull))
  }
}

/**
 * What of a record is another than before, value by value. Of a secret it tells that it changed, and not what it is.
 * @example
 * differencesBetween({ name: 'a', pin: '1' }, { name: 'b', pin: '2', tags: ['x'] })
 * // [{ path: 'name', from: 'a', to: 'b' }, { path: 'pin', from: '***', to: '***' }, { path: 'tags', to: ['x'] }]
 */
export const differencesBetween = (from: Json, to: Json): Difference[] => {
  const found: Difference[] = []
  walk('', from, to, found)
  return found
}
