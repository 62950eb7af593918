import { type Problems, valueShown } from '../../lib/failure.ts'
import { filterNamesIn } from '../answer/filters.ts'
import type { Route } from '../route.ts'

const flagValues = ['', 'true', 'false']

const flagProblems = ({ spec }: Route, query: URLSearchParams): Problems =>
  Object.fromEntries(
    Object.entries({ ...spec.query, ...spec.wishes }).flatMap(([name, described]) => {
      const sent = query.get(name)
      if (typeof described === 'string' || sent === null || flagValues.includes(sent)) return []
      return [[name, { type: { message: 'Must be true or false', target: 'boolean', ...valueShown(sent) } }]]
    }),
  )

/** A sum over a window of time, which is no list. */
const isSum = ({ method, spec }: Route) =>
  method === 'GET' && !spec.list && spec.query !== undefined && 'created_from' in spec.query

const filterProblems = (route: Route, query: URLSearchParams): Problems => {
  if (!isSum(route)) return {}
  const message = 'A sum supports no filter but created_from and created_to. Remove this one.'
  return Object.fromEntries(filterNamesIn(query).map((name) => [name, { forbidden: { message } }]))
}

/** Query values that a route would not honour: flags that are neither true nor false, and filters of a sum. */
export const queryProblems = (route: Route, query: URLSearchParams): Problems =>
  query.size === 0 ? {} : { ...flagProblems(route, query), ...filterProblems(route, query) }
