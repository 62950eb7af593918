import { accountAdmin, accountMember, ownReseller } from '../../../auth/policies.ts'
import { answer, RawJson } from '../../../http/response/responses.ts'
import { movingBounds, openTimeWindow } from '../../../http/response/time-window.ts'
import { type Call, get, patch, post, type Route } from '../../../http/route.ts'
import { failure, forbidden } from '../../../lib/failure.ts'
import { Allotments, OperatorLimits } from '../../../lib/limit-shapes.ts'
import { anyText, integer, keyed, must, open } from '../../../lib/schema.ts'
import type { Allotments as AllotmentOperations } from './allotments/operations.ts'
import { minuteOf, type UseWindow } from './allotments/rules.ts'
import { allotmentsNotConfigured } from './failures.ts'
import type { LimitsOfAccounts, LimitsStored, OperatorLimitsStored } from './operations.ts'
import { amountProblems, restrictionWarnings, withDefaults, withoutOperatorKeys } from './rules.ts'
import { Limits, LimitsRecord } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/limits'
const ofOperator = `${onAccount}/operator` as const

const limitsSubjectOf = <R extends LimitsStored | OperatorLimitsStored>(record: R | undefined) => ({
  record,
  doc: record?.doc ?? {},
  ...(record ? { revision: record.revision } : {}),
})

type OperatorSubject = ReturnType<typeof limitsSubjectOf<OperatorLimitsStored>>

const limitsRefusal = 'Please contact your phone provider to add limits.'

export const limitRoutes = (limits: LimitsOfAccounts): Route[] => {
  const place = async ({ account }: Pick<Call, 'account'>) => limitsSubjectOf(await limits.of(account))

  const placeToChange = async ({ actor, account }: Pick<Call, 'actor' | 'account'>) => {
    if (!(await limits.mayChange(actor, account))) throw failure(forbidden, { message: limitsRefusal })
    return place({ account })
  }

  const operatorPlace = async ({ account }: Pick<Call, 'account'>) =>
    limitsSubjectOf(await limits.operatorRecord(account))

  const shown = async ({ account }: Pick<Call, 'account'>, record: LimitsStored | undefined) => {
    const effective = await limits.inForce(account)
    const { allow_postpay, max_postpay_amount } = effective
    return answer({
      data: { id: 'limits', ...withDefaults(record?.doc) },
      metadata: {
        id: 'limits',
        ...(record ? { created: record.created, modified: record.modified } : {}),
        allow_postpay,
        max_postpay_amount,
        effective,
      },
      ...(record ? { revision: record.revision } : {}),
    })
  }

  const shownOperator = (record: OperatorLimitsStored) =>
    answer({
      data: new RawJson(record.docText),
      metadata: { created: record.created, modified: record.modified },
      revision: record.revision,
    })

  const replaceOperator = async (call: Call<typeof ofOperator, OperatorLimits, OperatorSubject>) => {
    const { author, account, subject, data } = call
    return shownOperator(await limits.replaceOperator(author, account, subject.record, data))
  }

  const judge = async ({ data }: { data: OperatorLimits }) => amountProblems(data)
  const operating = { allow: ownReseller, subject: operatorPlace, answers: OperatorLimits }

  return [
    get(onAccount, {
      summary: 'Read the limits of an account; the metadata has the effective limits',
      allow: accountMember,
      subject: place,
      answers: LimitsRecord,
      run: (call) => shown(call, call.subject.record),
    }),
    post(onAccount, {
      summary: 'Replace the limits of an account',
      allow: accountAdmin,
      subject: placeToChange,
      body: Limits,
      prepare: withoutOperatorKeys,
      warns: ({ data }) => restrictionWarnings(data),
      answers: LimitsRecord,
      run: async (call) =>
        shown(call, await limits.replace(call.author, call.account, call.subject.record, call.data)),
    }),
    get(ofOperator, {
      summary: 'Read the operator limits of an account',
      ...operating,
      run: ({ subject: { record } }) => (record ? shownOperator(record) : {}),
    }),
    post(ofOperator, {
      summary: 'Replace the operator limits of an account',
      ...operating,
      body: OperatorLimits,
      judge,
      run: replaceOperator,
    }),
    patch(ofOperator, {
      summary: 'Change operator limits of an account; null removes one',
      ...operating,
      body: OperatorLimits,
      judge,
      run: replaceOperator,
    }),
  ]
}

const base = '/v2/accounts/{account_id}/allotments'

const Consumed = keyed(
  open({
    cycle: must(anyText({ description: 'Or `manual` for a requested time' })),
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
const stretchIn = (query: URLSearchParams, now: number): UseWindow | undefined => {
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
      summary: 'Read the included call seconds of an account',
      allow: accountMember,
      answers: Allotments,
      run: ({ account }) => allotments.of(account),
    }),
    post(base, {
      summary: 'Replace the allotments of an account, in addition to those of its plans',
      allow: ownReseller,
      subject,
      body: Allotments,
      answers: Allotments,
      run: ({ author, account, subject: { record }, data }) =>
        allotments.replace(author, account, record, data),
    }),
    get(`${base}/consumed`, {
      summary: 'Read how many of the included seconds are used',
      allow: accountMember,
      query: {
        created_from: 'Gregorian seconds; default: now',
        created_to: 'Gregorian seconds; now unless given',
      },
      answers: Consumed,
      fails: [allotmentsNotConfigured],
      run: ({ account, query }) => allotments.consumed(account, stretchIn(query, allotments.now())),
    }),
  ]
}
