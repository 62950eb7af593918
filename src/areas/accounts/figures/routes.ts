import { accountAdmin } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import { timeWindow } from '../../../http/response/time-window.ts'
import { get, type Route } from '../../../http/route.ts'
import { invalid } from '../../../lib/failure.ts'
import { daySeconds, gregorianNow, monthBefore } from '../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import { monthNumber } from '../../../lib/time-key.ts'
import type { Store } from '../../../storage/store.ts'
import type { Child, Figures } from './operations.ts'
import { countedDays, daysIn, type Sorting, sortings } from './rules.ts'
import { ChildFigures, DescendantFigures } from './schema.ts'

const base = '/v2/accounts/{account_id}/figures'

const usualSeconds = (countedDays - 1) * daySeconds
const maxSeconds = 366 * daySeconds
const shownMonths = 6

const sortingIn = (query: URLSearchParams): Sorting => {
  const value = query.get('sort') ?? 'name'
  const found = sortings.find((one) => one === value)
  if (found) return found
  const message = 'Value not found in enumerated list of values'
  throw invalid({ sort: { enum: { message, target: sortings, value } } })
}

const rowOf = ({ account, balance, calls, alerts }: Child) => ({
  id: account.id,
  name: account.doc.name,
  realm: account.doc.realm,
  enabled: account.hidden.enabled,
  is_reseller: account.hidden.isReseller,
  descendants_count: account.tally,
  balance: dollarsOfUnits(balance),
  calls,
  alerts,
})

export const figureRoutes = (figures: Figures, { clock }: Pick<Store, 'clock'>): Route[] => [
  get(`${base}/children`, {
    summary: 'List sub-accounts with balance, calls and alerts',
    allow: accountAdmin,
    query: { sort: `${sortings.join(', ')}; name unless given` },
    answers: ChildFigures,
    list: true,
    isLong: true,
    run({ account, query }) {
      const sort = sortingIn(query)
      const now = gregorianNow(clock)
      const order = { sort, days: daysIn({ from: now - usualSeconds, to: now }) }
      const listing: Listing<Child> = {
        page: (request) => figures.children(account, order, request),
        cursor: ({ account: { sortKey, id }, ...child }) => [
          sort === 'name' ? sortKey : String(child[sort]),
          id,
        ],
        row: (child) => JSON.stringify(rowOf(child)),
        record: rowOf,
      }
      return new ListResponse(listing)
    },
  }),
  get(`${base}/descendants`, {
    summary: 'Sum up all accounts below',
    allow: accountAdmin,
    query: {
      created_from: `Gregorian seconds of the first day of calls; ${countedDays} days unless given`,
      created_to: 'Gregorian seconds of the last one; now unless given',
    },
    isLong: true,
    answers: DescendantFigures,
    run: ({ account, query }) =>
      figures.descendants(
        account,
        daysIn(timeWindow(query, gregorianNow(clock), maxSeconds, usualSeconds)),
        monthBefore(monthNumber(clock.now()), shownMonths - 1),
      ),
  }),
]
