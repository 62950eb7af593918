/** The value at a path of keys. */
export const memberOf = (value: unknown, ...path: readonly string[]): unknown => {
  let found = value
  for (const key of path) found = hasMembers(found) && Object.hasOwn(found, key) ? found[key] : undefined
  return found
}

const hasMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
