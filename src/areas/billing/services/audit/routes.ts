import { accountMember } from '../../../../auth/policies.ts'
import type { Listing } from '../../../../http/response/listing.ts'
import { answer, ListResponse } from '../../../../http/response/responses.ts'
import { movingBounds, openTimeWindow, usualTimeWindow } from '../../../../http/response/time-window.ts'
import { type Call, get, type Route } from '../../../../http/route.ts'
import { gregorianMilliseconds, gregorianNow, unixOfGregorian } from '../../../../lib/gregorian.ts'
import { anyObject, anyText, list, must, open } from '../../../../lib/schema.ts'
import type { TimeWindow } from '../../../../lib/time-bounds.ts'
import { timeKey } from '../../../../lib/time-key.ts'
import type { DepsOf } from '../../../area.ts'
import type { ServiceAudit } from './operations.ts'
import type { AuditEntry } from './rules.ts'

const base = '/v2/accounts/{account_id}/services'

const AuditRow = open({
  id: must(anyText()),
  status: must(anyText()),
  reason: anyText({ description: 'Reason of a status other than completed' }),
  message: anyText({ description: 'The same as text' }),
  type: must(list(anyText())),
  summary: must(anyObject()),
})
const AuditAnswer = open({ id: must(anyText()), status: must(anyText()), invoice: must(anyObject()) })

const boundSummarySeconds = 366 * 86_400
const usualSummarySeconds = 31 * 86_400

const entryTimes = ({ created, madeAt }: Pick<AuditEntry, 'created' | 'madeAt'>) => ({
  created,
  created_ms: gregorianMilliseconds(madeAt),
})

const whole = (entry: AuditEntry) => ({ id: entry.id, ...entryTimes(entry), ...entry.doc })

const auditRowOf = ({ id, doc, ...times }: AuditEntry) => ({
  id,
  status: doc.status,
  reason: doc.reason,
  message: doc.message,
  type: doc.audit.changes.type,
  summary: doc.invoice.summary,
  ...entryTimes(times),
})

const auditListing = (audit: ServiceAudit, accountId: string, window: TimeWindow): Listing<AuditEntry> => ({
  page: (request) => audit.page({ accountId, ...window, ...request }),
  cursor: ({ place, created }) => [timeKey(created), place],
  row: (entry) => JSON.stringify(auditRowOf(entry)),
  record: whole,
})

export const serviceAuditRoutes = (audit: ServiceAudit, deps: DepsOf<'settings' | 'store'>): Route[] => {
  /** `created_to` alone reaches back a year; without any bound the last 31 days count. */
  const daysOf = ({ query }: Pick<Call, 'query'>) => {
    const reach = movingBounds(query).end ? usualSummarySeconds : boundSummarySeconds
    const { from, to } = openTimeWindow(query, gregorianNow(deps.store.clock), reach)
    return { from: unixOfGregorian(from), to: unixOfGregorian(to) }
  }

  const summaries = async (call: Pick<Call, 'account' | 'query'>) => {
    const summary = await audit.summary(call.account.id, daysOf(call))
    return Object.keys(summary).length === 0 ? [] : [summary]
  }

  const summaryOfOne = async (
    call: Pick<Call<`${string}/{service_category}`>, 'account' | 'query' | 'path'>,
  ) => audit.summaryOfOne(call.account.id, daysOf(call), call.path.service_category)

  const windowQuery = {
    created_from: 'Gregorian seconds; no maximum range before created_to',
    created_to: 'Gregorian seconds; now unless given',
  }
  const daysQuery = {
    created_from: `${windowQuery.created_from}. The whole UTC day of that time counts`,
    created_to: `${windowQuery.created_to}. The whole UTC day of that time counts`,
  }
  const common = { allow: accountMember, query: daysQuery, answers: list(anyObject()), isLong: true } as const
  const summing = { ...common, run: summaries }
  const summingOne = { ...common, run: summaryOfOne }

  return [
    get(`${base}/audit`, {
      summary: 'List changes of the invoices of an account',
      allow: accountMember,
      query: windowQuery,
      answers: AuditRow,
      list: true,
      run: async ({ account, query }) =>
        new ListResponse(auditListing(audit, account.id, await usualTimeWindow(deps, query))),
    }),
    get(`${base}/audit/{audit_id}`, {
      summary: 'List changes of an account’s invoice',
      record: { kind: 'service_audit' },
      allow: accountMember,
      answers: AuditAnswer,
      run: async ({ path }) => answer({ data: whole(await audit.get(path.account_id, path.audit_id)) }),
    }),
    get(`${base}/audit/summary`, { summary: 'Read changes of quantities by category and day', ...summing }),
    get(`${base}/audit/summary/{service_category}`, {
      summary: 'Read changes of quantities in a category or of an item, newest day first',
      ...summingOne,
    }),
    get(`${base}/audit_summary`, { summary: 'The same as audit/summary', ...summing }),
    get(`${base}/audit_summary/{service_category}`, { summary: 'The same as audit/summary', ...summingOne }),
  ]
}
