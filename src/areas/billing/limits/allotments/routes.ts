import { accountMember, ownReseller } from '../../../../auth/policies.ts'
import { movingBounds, openTimeWindow } from '../../../../http/answer/time-window.ts'
import { type Call, get, post, type Route } from '../../../../http/route.ts'
import { Allotments } from '../../../../lib/limit-shapes.ts'
import { anyText, integer, keyed, must, open } from '../../../../lib/schema.ts'
import { allotmentsNotConfigured } from '../failures.ts'
import type { LimitsOfAccounts } from '../operations.ts'
import type { Allotments as AllotmentOperations } from './operations.ts'
import { minuteOf, type Stretch } from './rules.ts'

const base = '/v2/accounts/{account_id}/allotments'

const Consumed = keyed(
  open({
    cycle: must(anyText({ description: 'Or `manual` for a time that was asked for' })),
    consumed_from: must(integer({ description: 'Gregorian seconds' })),
    consumed_to: must(integer({ description: 'Gregorian seconds' })),
    consumed: must(integer({ description: 'Seconds' })),
  }),
)

interface RouteDeps {
  allotments: AllotmentOperations
  limits: LimitsOfAccounts
}

/** The requested time, to the minute; undefined: the current cycles. */
const stretchIn = (query: URLSearchParams, now: number): Stretch | undefined => {
  if (movingBounds(query).start) return undefined
  const { from, to } = openTimeWindow(query, now, Number.MAX_SAFE_INTEGER)
  return { from: minuteOf(from), to }
}

export const allotmentRoutes = ({ allotments, limits }: RouteDeps): Route[] => {
  const subject = async ({ account }: Pick<Call, 'account'>) => {
    const record = await limits.operatorRecord(account)
    return { record, ...(record ? { revision: record.revision } : {}) }
  }

  return [
    get(base, {
      summary: 'Read how many seconds of calls are included for an account',
      allow: accountMember,
      answers: Allotments,
      run: ({ account }) => allotments.of(account),
    }),
    post(base, {
      summary: 'Replace what is included, beside what the plans of the account say',
      allow: ownReseller,
      subject,
      body: Allotments,
      answers: Allotments,
      run: ({ author, account, subject: { record }, data }) =>
        allotments.replace(author, account, record, data),
    }),
    get(`${base}/consumed`, {
      summary: 'Read how much of what is included is used',
      allow: accountMember,
      query: {
        created_from: 'Gregorian seconds, instead of the current cycles',
        created_to: 'Gregorian seconds; now unless given',
      },
      answers: Consumed,
      fails: [allotmentsNotConfigured],
      run: ({ account, query }) => allotments.consumed(account, stretchIn(query, allotments.now())),
    }),
  ]
}
