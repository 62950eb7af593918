import type { Route } from '../route.ts'
import names from './operation-names.json' with { type: 'json' }

// Operations are grouped by the first word of their path after the account.

const partOf: Readonly<Record<string, string>> = {
  children: 'accounts',
  descendants: 'accounts',
  move: 'accounts',
  parents: 'accounts',
  reseller: 'accounts',
  siblings: 'accounts',
  tree: 'accounts',
  api_key: 'api_keys',
}

const afterAccount = /^\/v2\/accounts\/\{account_id\}\/([^/{]+)/

export const wordOf = (path: string) => afterAccount.exec(path)?.[1] ?? path.split('/')[2] ?? ''

export const tagOf = (path: string) => {
  const word = wordOf(path)
  return partOf[word] ?? word
}

// Names of operations, made from method and path.

type Named = Pick<Route, 'method' | 'path' | 'spec'>

/** Names that the rule would make badly. */
const reviewed: Readonly<Record<string, string>> = names

/** Irregular singulars; single resources keep their word. */
const singulars: Readonly<Record<string, string>> = {
  access_lists: 'access_list',
  multi_factor: 'second_factor_provider',
  services: 'service',
  stats: 'stats',
  status: 'status',
}

const unique = new Set(['access_lists'])

/** Paths that continue with parts of the resource, not with items. */
const hasNoItems = new Set(['services', 'ledgers', 'whitelabel'])

/** Verbs at the end of a path. */
const deeds = new Set([
  ...['activate', 'check', 'continue', 'move', 'pay', 'port', 'preview', 'reserve', 'retry', 'stop', 'sync'],
  ...['verify', 'void', 'identify'],
])

/** Prefixes of resources without an account in the path. */
const owners: Readonly<Record<string, string>> = {
  tasks: 'own_',
  whitelabel: 'host_',
  system_configs: '',
}

const plurals: Readonly<Record<string, string>> = { multi_factor: 'second_factor_providers' }

const verbs = { GET: 'get', PUT: 'create', POST: 'replace', PATCH: 'update', DELETE: 'delete' } as const

const isVariable = (segment: string | undefined) => segment?.startsWith('{') === true

const pascal = (words: string) =>
  words
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

const singular = (word: string) => singulars[word] ?? word.replace(/ies$/, 'y').replace(/(?<!s)s$/, '')

const onAccount = '/v2/accounts/{account_id}'

export const operationNames = (
  routes: readonly Named[],
  chosen: Readonly<Record<string, string>> = reviewed,
): ReadonlyMap<string, string> => {
  const paths = new Set(routes.map(({ path }) => path))
  const holdsItems = (path: string) =>
    [...paths].some(
      (other) => other.startsWith(`${path}/{`) && other.split('/').length === path.split('/').length + 1,
    )

  const scopeOf = ({ path }: Named) => {
    if (path.startsWith(`${onAccount}/`)) return path.includes('/system_configs') ? 'account_' : ''
    const owner = owners[path.split('/')[2] ?? '']
    if (owner !== undefined) return owner
    return paths.has(`${onAccount}${path.slice('/v2'.length)}`) ? 'system_' : ''
  }

  /** Containers in the singular; the last word in the plural if it means many. */
  const nounOf = (segments: readonly string[], isOne: boolean) =>
    segments
      .flatMap((segment, at) => {
        if (isVariable(segment)) return isVariable(segments[at - 1]) ? [segment.slice(1, -1)] : []
        const isLast = segments.slice(at + 1).every(isVariable)
        return [isLast && !isOne && !unique.has(segment) ? (plurals[segment] ?? segment) : singular(segment)]
      })
      .join('_')

  const byRule = (route: Named) => {
    const { method, path, spec } = route
    const whole = path.startsWith(`${onAccount}/`) ? path.slice(onAccount.length) : path.slice('/v2'.length)
    const segments = whole.split('/').slice(1)
    const last = segments.at(-1) ?? ''
    const scope = scopeOf(route)
    if (deeds.has(last)) {
      const before = segments.slice(0, -1)
      return `${last}${pascal(scope + nounOf(before, isVariable(before.at(-1))))}`
    }
    const isItem = isVariable(last)
    const isCollection = !isItem && (spec.list !== undefined || (holdsItems(path) && !hasNoItems.has(last)))
    const verb = method === 'GET' && isCollection ? 'list' : verbs[method]
    return `${verb}${pascal(scope + nounOf(segments, isItem || (isCollection && method === 'PUT')))}`
  }

  return new Map(
    routes.map((route) => {
      const key = `${route.method} ${route.path}`
      return [key, chosen[key] ?? byRule(route)]
    }),
  )
}

export const reviewedNames = Object.keys(reviewed)
