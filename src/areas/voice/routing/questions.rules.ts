import { invalid } from '../../../lib/failure.ts'
import type { RouteQuery } from './facts.ts'

/** How long an edge may go on without asking again, and so how late it may hear of a change. */
export const maxAgeSeconds = 60

/** An empty parameter counts as one that was not given. */
const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

const longestNumber = 64
const longestName = 64

/** What an edge asks, or a 400. */
export const questionIn = (query: URLSearchParams): RouteQuery => {
  const number = given(query, 'number')
  if (number === undefined)
    throw invalid({ number: { required: { message: 'Field is required but missing', value: 'number' } } })
  if (number.length > longestNumber) {
    const message = `String must not be more than ${longestNumber} characters`
    throw invalid({ number: { maxLength: { message, target: longestNumber, value: number } } })
  }
  return {
    realm: given(query, 'realm'),
    accountId: given(query, 'account_id'),
    number,
    deviceId: given(query, 'from_device'),
    caller: given(query, 'caller'),
    callerName: given(query, 'caller_name')?.slice(0, longestName),
    isWithheld: query.get('privacy') === 'full',
  }
}
