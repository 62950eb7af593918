import { accountMember, superduper } from '../../../auth/policies.ts'
import { shortListing } from '../../../http/response/listing.ts'
import { ListResponse, made, one, removed } from '../../../http/response/responses.ts'
import { del, get, put, type Route } from '../../../http/route.ts'
import type { Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import type { Alerts } from './operations.ts'
import { alertsDisabled, recipientProblems } from './rules.ts'
import { Alert, AlertRecord, AlertRow, alertKeys } from './schema.ts'

const all = '/v2/accounts/{account_id}/alerts'
const oneAlert = `${all}/{alert_id}` as const

const knownKeys = (data: Json): Json =>
  Object.fromEntries(Object.entries(data).filter(([key]) => alertKeys.includes(key)))

const expired = (value: unknown): Problems => ({
  expiration_date: {
    minimum: { message: 'expires must be in the future', value },
  },
})

export const alertRoutes = (alerts: Alerts): Route[] => [
  get(all, {
    summary: 'List the alerts of an account',
    allow: accountMember,
    answers: AlertRow,
    list: true,
    run: async ({ actor, account }) =>
      new ListResponse(shortListing((await alerts.list(actor, account)) as unknown as Json[])),
  }),
  put(all, {
    summary: 'Create an alert for users of this account or of others',
    allow: superduper,
    subject: () => alerts.assertEnabled(),
    body: Alert,
    prepare: knownKeys,
    judge: async ({ data: { to = [], expiration_date: end } }) => ({
      ...recipientProblems(to),
      ...(alerts.isPast(end) ? expired(end) : {}),
    }),
    warns: ({ account, data }) => alerts.recipientWarnings(account, data.to),
    answers: AlertRecord,
    fails: [alertsDisabled],
    run: async ({ author, data }) => made(await alerts.create(author, data)),
  }),
  get(oneAlert, {
    summary: 'Read an alert',
    record: { kind: 'alert', owner: 'nobody' },
    allow: accountMember,
    answers: AlertRecord,
    run: async ({ actor, account, path }) => one(await alerts.get(actor, account, path.alert_id)),
  }),
  del(oneAlert, {
    summary: 'Clear an alert; if others get it too, it is hidden for the caller only',
    allow: accountMember,
    answers: AlertRecord,
    run: async ({ author, actor, account, path }) =>
      removed(await alerts.clear(author, actor, account, path.alert_id)),
  }),
]
