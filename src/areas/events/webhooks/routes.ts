import { accountAdmin, anyone } from '../../../auth/policies.ts'
import { type Listing, shortListing } from '../../../http/response/listing.ts'
import { accepted, answer, ListResponse } from '../../../http/response/responses.ts'
import { timeWindow } from '../../../http/response/time-window.ts'
import { type Call, get, patch, post } from '../../../http/route.ts'
import type { Clock } from '../../../lib/clock.ts'
import { badIdentifier, failure, type Problems } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { anyText } from '../../../lib/schema.ts'
import { timeKey } from '../../../lib/time-key.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { DepsOf } from '../../area.ts'
import { everyOperation, recordRoutes } from '../../record-routes.ts'
import type { AttemptRow, AttemptScope } from './deliveries/store.ts'
import type { Webhooks } from './operations.ts'
import { reEnableProblems } from './rules.ts'
import { sampleNames, samplesOf } from './samples.ts'
import { Attempt, ReEnable, Replay, Sample, SampleNames, WebhookKind, WebhookRow } from './schema.ts'
import type { WebhookRecord } from './store.ts'

const onAccount = '/v2/accounts/{account_id}/webhooks'
const oneHook = `${onAccount}/{webhook_id}` as const

const windowQuery = {
  created_from: 'Gregorian seconds; 31 days before created_to unless given',
  created_to: 'Gregorian seconds; now unless given',
}

const extrasOf = ({ hidden: { disableReason } }: WebhookRecord) =>
  disableReason === undefined ? {} : { metadata: { disable_reason: disableReason } }

const replayProblems = (sent: unknown): Problems => {
  const { attempt_id: attemptId, after }: Json = isObject(sent) ? sent : {}
  if (attemptId === undefined && after === undefined)
    return { attempt_id: { required: { message: 'Field is required but missing', value: 'attempt_id' } } }
  if (attemptId === undefined || after === undefined) return {}
  return { after: { forbidden: { message: 'Either attempt_id or after, not both', value: after } } }
}

interface Deps extends DepsOf<'settings'> {
  webhooks: Webhooks
  clock: Clock
}

export const webhookRoutes = ({ webhooks, settings, clock }: Deps) => {
  const subject = ({ path }: { path: { account_id: string; webhook_id: string } }) =>
    webhooks.get(path.account_id, path.webhook_id)

  const listing = (scope: AttemptScope): Listing<AttemptRow> => ({
    page: (request) => webhooks.attempts(scope, request),
    cursor: ({ at, id }) => [timeKey(at), id],
    row: ({ docText }) => docText,
    // Filters of lists expect the time as `created`.
    record: ({ docText, at }) => ({ ...JSON.parse(docText), created: at }),
  })

  const attempts = async (query: URLSearchParams, place: { accountId: string; hookId?: string }) => {
    const { maximum_range: maximum } = await settings.of(crossbarSettings)
    return new ListResponse(listing({ ...place, ...timeWindow(query, gregorianNow(clock), maximum) }))
  }

  const served = recordRoutes(webhooks, {
    path: onAccount,
    called: ['a webhook', 'webhooks'],
    row: WebhookRow,
    routes: everyOperation(accountAdmin, {
      create: { summary: 'Create a webhook' },
      patch: { summary: 'Change a webhook' },
      delete: { summary: 'Remove a webhook with its pending deliveries' },
    }),
    shown: extrasOf,
    afterChange: async (_call, hook) => webhooks.catchUp(hook),
  })

  const reEnabling = (scope: 'account' | 'subtree') => ({
    allow: accountAdmin,
    body: ReEnable,
    answers: anyText(),
    judge: async ({ data }: { data: Partial<ReEnable> }) => reEnableProblems(data),
    run: async ({ author, account }: Pick<Call, 'author' | 'account'>) => {
      await webhooks.reEnable(author, account, scope)
      return answer({ data: 'hooks updated' })
    },
  })

  const onHook = { allow: accountAdmin, resource: 'webhooks', subject } as const

  const routes = [
    ...served.routes,
    get('/v2/webhooks', {
      summary: 'List the kinds of webhooks',
      allow: anyone,
      answers: WebhookKind,
      list: true,
      run: () => new ListResponse(shortListing(webhooks.kinds())),
    }),
    get('/v2/webhooks/samples', {
      summary: 'List the kinds of webhooks that have samples',
      allow: anyone,
      answers: SampleNames,
      run: () => answer({ data: sampleNames }),
    }),
    get('/v2/webhooks/samples/{sample_id}', {
      summary: 'Read sample events of a kind of webhook',
      allow: anyone,
      answers: Sample,
      list: true,
      run: ({ path }) => {
        const samples = samplesOf(path.sample_id)
        if (!samples) throw failure(badIdentifier, { cause: path.sample_id })
        return new ListResponse(shortListing(samples))
      },
    }),
    patch(onAccount, {
      summary: 'Enable the webhooks of an account that failures disabled',
      ...reEnabling('account'),
    }),
    patch('/v2/accounts/{account_id}/descendants/webhooks', {
      summary: 'Enable the webhooks that failures disabled, in an account and its sub-accounts',
      resource: 'webhooks',
      ...reEnabling('subtree'),
    }),
    get(`${onAccount}/attempts`, {
      summary: 'List the delivery attempts of the webhooks of an account',
      allow: accountAdmin,
      query: windowQuery,
      answers: Attempt,
      list: true,
      run: ({ path, query }) => attempts(query, { accountId: path.account_id }),
    }),
    get(`${oneHook}/attempts`, {
      summary: 'List the delivery attempts of a webhook',
      ...onHook,
      query: windowQuery,
      answers: Attempt,
      list: true,
      run: ({ path, query }) => attempts(query, { accountId: path.account_id, hookId: path.webhook_id }),
    }),
    post(`${oneHook}/test`, {
      summary: 'Send a sample event to a webhook',
      ...onHook,
      answers: Attempt,
      run: async ({ subject: hook }) => answer({ data: await webhooks.test(hook) }),
    }),
    post(`${oneHook}/replay`, {
      summary: 'Send a webhook one event again, or all events after a sequence',
      ...onHook,
      body: Replay,
      status: 202,
      answers: anyText(),
      judge: async ({ sent }) => replayProblems(sent),
      run: async ({ author, subject: hook, data }) => {
        await webhooks.replay(author, hook, data)
        return accepted('the deliveries of the webhook continue')
      },
    }),
  ]
  return { ...served, routes }
}
