import { type Problems, valueShown } from '../../lib/failure.ts'
import { type Warning, warningsAt } from '../../settings/unknown-keys.ts'
import { filterNamesIn } from '../answer/filters.ts'
import type { RequestContext } from '../exchange.ts'
import type { Route } from '../route.ts'

const flagValues: readonly unknown[] = [undefined, null, '', true, false, 'true', 'false']

/** Flags stand in the query or beside the data of the body. */
const flagProblems = ({ spec }: Route, exchange: RequestContext): Problems =>
  Object.fromEntries(
    Object.entries({ ...spec.query, ...spec.wishes }).flatMap(([name, described]) => {
      if (typeof described === 'string') return []
      const sent = exchange.value(name)
      if (flagValues.includes(sent)) return []
      return [[name, { type: { message: 'Must be true or false', target: 'boolean', ...valueShown(sent) } }]]
    }),
  )

const boundNames = ['created_from', 'created_to', 'modified_from', 'modified_to']

/** Routes that add up what is in a window of time have `created_from`, and are no lists. */
const isSum = ({ spec }: Route) => !spec.list && spec.query !== undefined && 'created_from' in spec.query

const boundProblems = (route: Route, query: URLSearchParams): Problems => {
  if (route.method !== 'GET' || !isSum(route)) return {}
  const message = 'Sums are over the time of creation. Send created_from and created_to'
  const sent = ['modified_from', 'modified_to'].filter((name) => query.get(name))
  return Object.fromEntries(sent.map((name) => [name, { forbidden: { message } }]))
}

/** Flags that are neither true nor false, and time bounds that a sum does not have. */
export const queryProblems = (route: Route, exchange: RequestContext): Problems => ({
  ...flagProblems(route, exchange),
  ...boundProblems(route, exchange.query),
})

/** Filters and time bounds that have no effect, because the answer is no list. Web clients send them everywhere: they are no error. */
export const queryWarnings = ({ method, spec }: Route, query: URLSearchParams): Warning[] => {
  if (query.size === 0 || method !== 'GET' || spec.list) return []
  const sent = [...filterNamesIn(query), ...boundNames.filter((name) => query.get(name))]
  const names = sent.filter((name) => !Object.hasOwn(spec.query ?? {}, name))
  return warningsAt(
    names.map((name) => [name]),
    'This has no effect: only lists have filters',
  )
}
