// What scopes let pass. Asked for each request: nothing here waits.

/** `<area>:read`, `<area>:write`, or `*`. */
export type Scopes = readonly string[]

type Access = 'read' | 'write'

/** How callers with scopes may call a route whatever these name: see RouteSpec. */
export type KeyRule = 'any' | 'unlimited' | 'none'

/** What a request needs: the area is the resource that its route is known by. */
export interface Asked {
  area: string
  access: Access
  rule: KeyRule | undefined
}

export const everything = '*'

const sets = new WeakMap<Scopes, ReadonlySet<string>>()

const setOf = (scopes: Scopes) => {
  const known = sets.get(scopes) ?? new Set(scopes)
  sets.set(scopes, known)
  return known
}

/** Who may write in an area may read there. */
export const covers = (scopes: Scopes, area: string, access: Access) => {
  const words = setOf(scopes)
  return (
    words.has(everything) || words.has(`${area}:write`) || (access === 'read' && words.has(`${area}:read`))
  )
}

/** Whether a token with these scopes may send a request. What no limited key may do needs all of them. */
export const letsPass = (scopes: Scopes, { area, access, rule }: Asked) => {
  if (rule === 'any') return true
  return rule === undefined ? covers(scopes, area, access) : scopes.includes(everything)
}

export const isScopeWithin = (scope: string, of: Scopes) => {
  const [area = '', access] = scope.split(':')
  return scope === everything
    ? of.includes(everything)
    : covers(of, area, access === 'read' ? 'read' : 'write')
}

/** Whether these go nowhere beyond those. Undefined is everything. */
export const areScopesWithin = (scopes: Scopes | undefined, of: Scopes | undefined) =>
  of === undefined || (scopes ?? [everything]).every((scope) => isScopeWithin(scope, of))

/** The scopes that a record or a document sets: an empty list binds nobody. */
export const settingScopes = (list: unknown): Scopes | undefined =>
  Array.isArray(list) && list.length > 0 ? list : undefined

/** What two lists both allow. Undefined is everything. */
export const bothAllow = (one: Scopes | undefined, other: Scopes | undefined): Scopes | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  const within = (scopes: Scopes, of: Scopes) => scopes.filter((scope) => isScopeWithin(scope, of))
  return [...new Set([...within(one, other), ...within(other, one)])]
}
