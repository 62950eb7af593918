import { accountAdmin, superduper } from '../../../auth/policies.ts'
import { answer } from '../../../http/response/responses.ts'
import { type AuditedRecord, type Call, get, type Route } from '../../../http/route.ts'
import { badIdentifier, Failure, type FailureKind } from '../../../lib/failure.ts'
import { numberNotFound } from '../../numbers/phone-numbers/failures.ts'
import { auditAnswer, auditQuery } from './listing.ts'
import type { Audit } from './operations.ts'
import { AuditEntry } from './schema.ts'
import { entryJson } from './views.ts'

const base = '/v2/accounts/{account_id}/audit'

export const auditRoutes = (audit: Audit): Route[] => [
  get(base, {
    summary: 'List changes in an account, newest first',
    allow: accountAdmin,
    outlivesAccount: true,
    query: {
      ...auditQuery,
      kind: 'Only records of this kind',
      record_id: 'Only the record with this ID',
    },
    answers: AuditEntry,
    list: true,
    run: ({ path, query }) => auditAnswer(audit, query, { accountId: path.account_id }),
  }),
  get(`${base}/{entry_id}`, {
    summary: 'Read one change: author, time, address, old and new values',
    allow: accountAdmin,
    outlivesAccount: true,
    answers: AuditEntry,
    run: async ({ path }) => answer({ data: entryJson(await audit.get(path.account_id, path.entry_id)) }),
  }),
]

const lastVariable = /\{(\w+)\}$/

type Variables = Readonly<Record<string, string>>

const idIn = ({ path }: Route, variables: Variables) => variables[lastVariable.exec(path)?.[1] ?? ''] ?? ''

const accountIn = (variables: Variables) => variables.account_id

const notFoundFailures = new Set<FailureKind>([badIdentifier, numberNotFound])

const isGone = (error: unknown) => error instanceof Failure && notFoundFailures.has(error.kind)

const ownerOf = ({ owner }: AuditedRecord, { path, actor }: Call) => {
  if (owner === 'nobody') return undefined
  return accountIn(path) ?? (owner === 'actor' ? actor.accountId : undefined)
}

const variable = /\{\w+\}/g

/** A deleted record below another record is not searched: its owner is unknown. */
const hasHolder = ({ path }: Route) => (path.replace('{account_id}', '').match(variable) ?? []).length > 1

/** Admins of the account may read the audit of deleted records. */
const mayAskForGone = (route: Route, { actor, account, path }: Call) =>
  !hasHolder(route) &&
  (accountIn(path) === undefined ? superduper : accountAdmin).allows(actor, account, path)

/** Reads the record as the caller, who must be allowed to see it. */
const assertReads = async (route: Route, call: Call) => {
  const asking: Call = {
    ...call,
    query: new URLSearchParams(),
    request: { ...call.request, accepts: 'application/json' },
  }
  asking.subject = await route.subject?.(asking)
  await route.run(asking)
}

/** The audit of one record, below the path of each record. */
export const auditOfRecords = (audit: Audit, routes: readonly Route[]): Route[] =>
  routes.flatMap((route) => {
    const { spec, path, resourceAt, record } = route
    if (!record) return []
    const resource = path.split('/')[resourceAt + 1]
    if (resource === undefined) throw new Error(`${path} names no resource`)
    return get(`${path}/audit`, {
      summary: 'List changes of a record, newest first',
      // Records that belong to no account are changed by the master account only.
      allow: record.owner === 'nobody' ? superduper : spec.allow,
      ...(spec.namedKeys ? { namedKeys: spec.namedKeys } : {}),
      resource,
      outlivesAccount: true,
      fails: [...new Set<FailureKind>([badIdentifier, ...(spec.fails ?? [])])],
      query: auditQuery,
      answers: AuditEntry,
      list: true,
      async run(call) {
        const place = {
          accountId: ownerOf(record, call) ?? (await audit.sharedAccountId()),
          kind: record.kind,
          recordId: (await record.id?.(call)) ?? idIn(route, call.path),
        }
        try {
          await assertReads(route, call)
        } catch (error) {
          if (!isGone(error) || !mayAskForGone(route, call) || !(await audit.knows(place))) throw error
        }
        return auditAnswer(audit, call.query, place)
      },
    })
  })
