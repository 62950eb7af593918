import { type Problems, valueShown } from '../../lib/failure.ts'
import { filterNamesIn } from '../answer/filters.ts'
import type { Exchange } from '../exchange.ts'
import type { Route } from '../route.ts'

const flagValues: readonly unknown[] = [undefined, null, '', true, false, 'true', 'false']

/** Flags stand in the query or beside the data of the body. */
const flagProblems = ({ spec }: Route, exchange: Exchange): Problems =>
  Object.fromEntries(
    Object.entries({ ...spec.query, ...spec.wishes }).flatMap(([name, described]) => {
      if (typeof described === 'string') return []
      const sent = exchange.value(name)
      if (flagValues.includes(sent)) return []
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

/** Values that a route would not honour: flags that are neither true nor false, and filters of a sum. */
export const queryProblems = (route: Route, exchange: Exchange): Problems => ({
  ...flagProblems(route, exchange),
  ...filterProblems(route, exchange.query),
})
