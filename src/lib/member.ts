/** What stands under a key of an object, and under further keys of that; undefined where there is no such place. */
export const memberOf = (value: unknown, ...path: readonly string[]): unknown => {
  let found = value
  for (const key of path) found = hasMembers(found) && Object.hasOwn(found, key) ? found[key] : undefined
  return found
}

const hasMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
