import { sequenceOf, sequenceText } from '../../../events/events.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import type { Test } from '../../../lib/question.ts'
import { timeBoundsIn } from '../../../lib/time-bounds.ts'
import type { Audit } from './operations.ts'
import type { AuditEntry, AuditQuery } from './store.ts'
import { csvHeader, csvLineOf, entryJson, filterable, timeBounds, weightOf } from './views.ts'

export const auditQuery = {
  actor_id: 'ID of a user, named key or task; for the API key of an account, the account ID',
  action: 'created, edited or deleted',
  created_from: 'Gregorian seconds: committed at this time or later',
  created_to: 'Gregorian seconds: committed at this time or earlier',
}

const isTime = ({ is }: Test) => is === 'notBefore' || is === 'notAfter'

const listing = (audit: Audit, wanted: AuditQuery): Listing<AuditEntry> => ({
  async page({ after, limit, descending, long }) {
    const place = { after: after && sequenceOf(after[0]), limit, descending, long }
    const { items, next } = await audit.page(wanted, place)
    return { items, next: next === undefined ? undefined : [sequenceText(next), ''] }
  },
  weight: weightOf,
  cursor: ({ sequence, id }) => [sequenceText(sequence), id],
  row: (entry) => JSON.stringify(entryJson(entry)),
  record: filterable,
  // The SQL query has applied these.
  narrowed: (questions) => ({
    listing: listing(audit, wanted),
    left: questions.filter(({ key, test }) => key !== 'created' || !isTime(test)),
  }),
  sheet: { header: csvHeader, line: csvLineOf },
})

const given = (query: URLSearchParams, name: string) => query.get(name) || undefined

export const auditAnswer = (
  audit: Audit,
  query: URLSearchParams,
  place: Pick<AuditQuery, 'accountId' | 'kind' | 'recordId'>,
) =>
  new ListResponse(
    listing(audit, {
      actorId: given(query, 'actor_id'),
      action: given(query, 'action'),
      kind: given(query, 'kind'),
      recordId: given(query, 'record_id'),
      ...timeBounds(timeBoundsIn(query)),
      ...place,
    }),
  )
