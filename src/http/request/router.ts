import type { Route } from '../route.ts'

// Features of Kazoo that are not part of Crosspoint: the 404 names them.
const unbuilt = new Set(
  (
    'acdc_call_stats agents apps_link blacklists braintree bulk cccps ' +
    'clicktocall conferences contact_list dialplans directories domain_hosts external_numbers faxboxes faxes ' +
    'global_provisioner_templates global_resources hotdesks ip_auth ips jobs lists ' +
    'local_provisioner_templates local_resources media menus messages metaflows onboard parked_calls phonebook pivot ' +
    'port_requests presence privacy provisioner_templates queues resource_selectors resource_templates ' +
    'shared_auth signup simple_authz skels sms storage sup system_status temporal_rules temporal_rules_sets ' +
    'templates trunkstore ubiquiti_auth vmboxes'
  ).split(' '),
)

export const unbuiltIn = (segments: readonly string[]): string | undefined =>
  segments.find((segment) => unbuilt.has(segment))

interface Node {
  literals: Map<string, Node>
  variable: Node | undefined
  routes: Map<string, { route: Route; names: readonly string[] }>
}

export interface Match {
  node: Node
  values: string[]
}

const emptyNode = (): Node => ({ literals: new Map(), variable: undefined, routes: new Map() })

const isVariable = (segment: string) => segment.startsWith('{')

/** Decoded segments without empty ones; undefined if the encoding is broken. */
export const segmentsOf = (path: string): string[] | undefined => {
  const raw = path.split('/').filter((segment) => segment !== '')
  if (!path.includes('%')) return raw
  try {
    return raw.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

export type Router = ReturnType<typeof createRouter>

/** A tree of path segments. A literal takes precedence over a variable. */
export const createRouter = (routes: readonly Route[]) => {
  const root = emptyNode()

  const add = (route: Route) => {
    let node = root
    const names: string[] = []
    for (const segment of route.path.split('/').filter(Boolean)) {
      if (isVariable(segment)) {
        names.push(segment.slice(1, -1))
        node.variable ??= emptyNode()
        node = node.variable
      } else {
        const next = node.literals.get(segment) ?? emptyNode()
        node.literals.set(segment, next)
        node = next
      }
    }
    if (node.routes.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`)
    node.routes.set(route.method, { route, names })
  }

  const search = (
    node: Node,
    segments: readonly string[],
    depth: number,
    values: string[],
  ): Match | undefined => {
    const segment = segments[depth]
    if (segment === undefined) return node.routes.size > 0 ? { node, values } : undefined
    const literal = node.literals.get(segment)
    const found = literal && search(literal, segments, depth + 1, values)
    if (found) return found
    return node.variable && search(node.variable, segments, depth + 1, [...values, segment])
  }

  for (const route of routes) add(route)

  return {
    find: (segments: readonly string[]) => search(root, segments, 0, []),
    knows: (segment: string) => root.literals.get('v2')?.literals.has(segment) ?? false,
  }
}

const startsCall = ({ spec }: Route) => spec.price?.is === 'call'

export const routeOf = ({ node, values }: Match, method: string) => {
  const found = node.routes.get(method === 'HEAD' ? 'GET' : method)
  if (!found || (method === 'HEAD' && startsCall(found.route))) return undefined
  const path: Record<string, string> = {}
  for (const [index, name] of found.names.entries()) path[name] = values[index] ?? ''
  return { route: found.route, path }
}

export const methodsOf = ({ node }: Match): string[] => {
  const methods = [...node.routes.keys()]
  const reads = node.routes.get('GET')
  return [...methods, ...(reads && !startsCall(reads.route) ? ['HEAD'] : []), 'OPTIONS'].sort()
}
