import { userKind } from '../../../auth/identity.ts'
import { accountMember, type ResellerOf, seesCosts, superduper } from '../../../auth/policies.ts'
import { ListResponse, RowsResponse } from '../../../http/response/responses.ts'
import { movingBounds, timeWindow } from '../../../http/response/time-window.ts'
import { type Call, get, put, type Route } from '../../../http/route.ts'
import { badIdentifier, failure, faultyRequest, invalid, missingParameter } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { dropNulls } from '../../../lib/json-merge.ts'
import { anyObject, list, open } from '../../../lib/schema.ts'
import type { DepsOf } from '../../area.ts'
import { callArchiveUnreachable } from './failures.ts'
import { entriesOf } from './intake/ndjson.ts'
import type { Entry, Intake } from './intake/operations.ts'
import { interactionListing, legListing } from './listing.ts'
import type { Cdrs } from './operations.ts'
import { CallStat, Cdr, CdrListRow, CdrRecords, IntakeReport } from './schema.ts'
import type { RowView } from './sheet/columns.ts'
import {
  type Chart,
  groupings,
  intervals,
  maxSpanSeconds,
  quarterSeconds,
  quarterSpanOf,
} from './stats/rules.ts'
import type { CallStats } from './stats/store.ts'

async function* recordsOfList(sent: unknown): AsyncGenerator<Entry[]> {
  if (sent === undefined) throw invalid({ data: { required: { message: 'The body is empty' } } })
  if (!Array.isArray(sent))
    throw invalid({ data: { type: { message: 'Value did not match type(s): array', target: 'array' } } })
  yield sent.map((record, index) => ({ line: index + 1, record: dropNulls(record) }))
}

const recordsOf = ({ stream, sent }: Pick<Call, 'stream' | 'sent'>) =>
  stream ? entriesOf(stream.chunks) : recordsOfList(sent)

export const cdrIntakeRoutes = (intake: Intake): Route[] => [
  put('/v2/cdrs', {
    summary: 'Store call detail records, one JSON object per line or a list; stored records stay unchanged',
    allow: superduper,
    body: CdrRecords,
    judgesItself: true,
    takesMany: true,
    streams: ['application/x-ndjson'],
    answers: IntakeReport,
    fails: [callArchiveUnreachable],
    run: (call) => intake.take(call.author, recordsOf(call)),
  }),
]

const cdrsOfAccount = '/v2/accounts/{account_id}/cdrs'
const cdrsOfUser = '/v2/accounts/{account_id}/users/{user_id}/cdrs'
const cdrsOfDevice = '/v2/accounts/{account_id}/devices/{device_id}/cdrs'

const cdrWindowQuery = {
  created_from: 'Gregorian seconds; default: the maximum range before created_to',
  created_to: 'Gregorian seconds; now unless given',
}
const listQuery = {
  ...cdrWindowQuery,
  utc_offset: 'Seconds to add to the column datetime',
  file_name: 'Name of the CSV file, if the header X-File-Name is missing',
}
const statsQuery = {
  created_from: 'Gregorian seconds; 31 days before created_to unless given. Counted by whole quarter hours',
  created_to: cdrWindowQuery.created_to,
  interval: `${intervals.join(', ')}; day unless given`,
  group_by: groupings.join(', '),
  utc_offset: 'Offset from UTC of hours, days and months, in seconds; a multiple of 900',
}

const offsetIn = (query: URLSearchParams) => {
  const given = query.get('utc_offset')
  if (given === null) return 0
  // `+` in a query is decoded as a space.
  if (!/^ ?[+-]?\d{1,9}$/.test(given))
    throw failure(missingParameter, { message: 'utc_offset must be a number' })
  return Number(given)
}

const choiceIn = <T extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly T[],
): T | undefined => {
  const given = query.get(name)
  if (given === null || given === '') return undefined
  const found = values.find((value) => value === given)
  if (found) return found
  throw invalid({
    [name]: {
      enum: { message: 'Value not found in enumerated list of values', target: values, value: given },
    },
  })
}

const quarterOffsetIn = (query: URLSearchParams) => {
  const seconds = offsetIn(query)
  if (seconds % quarterSeconds === 0 && Math.abs(seconds) <= 86_400) return seconds
  const message = 'must be a multiple of 900 seconds between -86400 and 86400'
  throw invalid({ utc_offset: { multipleOf: { message, target: quarterSeconds, value: seconds } } })
}

const lists = [
  { suffix: '', what: 'call detail records', each: '', of: legListing },
  { suffix: '/interaction', what: 'interactions', each: ', each by its first leg', of: interactionListing },
] as const

type CdrRequest = Pick<Call, 'account' | 'actor' | 'query' | 'request'>

interface Deps extends DepsOf<'store'> {
  cdrs: Cdrs
  stats: CallStats
  resellerOf: ResellerOf
}

export const cdrRoutes = ({ cdrs, stats, store, resellerOf }: Deps): Route[] => {
  const owner = async ({ path }: { path: { account_id: string; user_id: string } }) => {
    const user = await store.records.find(path.account_id, userKind, path.user_id)
    if (!user) throw failure(badIdentifier, { cause: path.user_id })
    return { id: user.id }
  }

  const scopeOf = async ({ account, query }: CdrRequest, ownerId?: string) => {
    const { maximumRange } = await cdrs.rules()
    const window = timeWindow(query, gregorianNow(store.clock), maximumRange)
    return { accountId: account.id, ...window, questions: [], ...(ownerId === undefined ? {} : { ownerId }) }
  }

  const costViewOf = async ({ actor, account }: Pick<Call, 'actor' | 'account'>) => ({
    forReseller: await seesCosts(actor, account, resellerOf),
  })

  const viewOf = async (call: CdrRequest): Promise<RowView> => {
    const { omitsEmpty } = await cdrs.rules()
    return { utcOffset: offsetIn(call.query), ...(await costViewOf(call)), omitsEmpty }
  }

  const listed = async (listing: typeof legListing, call: CdrRequest, ownerId?: string) => {
    const view = await viewOf(call)
    return new ListResponse(
      listing(cdrs, await scopeOf(call, ownerId), { view, moving: movingBounds(call.query) }),
    )
  }

  const chartIn = async ({ query }: CdrRequest): Promise<Chart> => {
    const interval = choiceIn(query, 'interval', intervals) ?? 'day'
    const groupBy = choiceIn(query, 'group_by', groupings)
    const { maximumRange } = await cdrs.rules()
    const window = timeWindow(query, gregorianNow(store.clock), maxSpanSeconds[interval], maximumRange)
    return { span: quarterSpanOf(window), interval, groupBy, utcOffset: quarterOffsetIn(query) }
  }

  const isOldestFirst = ({ request }: CdrRequest) => {
    const is = (name: string, value: boolean) =>
      [value, String(value)].some((one) => one === request.value(name))
    return !is('descending', true) && (is('descending', false) || is('ascending', true))
  }

  const listing = {
    allow: accountMember,
    query: listQuery,
    answers: CdrListRow,
    list: true,
    module: 'cb_cdrs',
    fails: [missingParameter, callArchiveUnreachable],
  } as const
  const charting = {
    allow: accountMember,
    query: statsQuery,
    answers: list(CallStat),
    isLong: true,
    fails: [missingParameter, callArchiveUnreachable],
  } as const

  return [
    ...lists.flatMap(({ suffix, what, each, of }) => [
      get(`${cdrsOfAccount}${suffix}`, {
        summary: `List the ${what} of an account${each}`,
        ...listing,
        run: (call) => listed(of, call),
      }),
      get(`${cdrsOfUser}${suffix}`, {
        summary: `List the ${what} of a user${each}`,
        ...listing,
        subject: owner,
        run: (call) => listed(of, call, call.subject.id),
      }),
    ]),
    get(`${cdrsOfAccount}/stats`, {
      summary: 'Count and sum up the calls of an account',
      ...charting,
      run: async (call) => stats.chart({ accountId: call.account.id }, await chartIn(call)),
    }),
    get(`${cdrsOfUser}/stats`, {
      summary: 'Count and sum up the calls of a user',
      ...charting,
      subject: owner,
      run: async (call) =>
        stats.chart({ accountId: call.account.id, ownerId: call.subject.id }, await chartIn(call)),
    }),
    get(`${cdrsOfAccount}/summary`, {
      summary: 'Sum up the seconds of calls by direction, domain and class of number',
      allow: accountMember,
      query: cdrWindowQuery,
      answers: open({ inbound: anyObject(), outbound: anyObject() }),
      isLong: true,
      fails: [callArchiveUnreachable],
      run: async (call) => cdrs.summary(await scopeOf(call)),
    }),
    get(`${cdrsOfAccount}/legs/{interaction_id}`, {
      summary: 'Read all legs of an interaction by its ID or the ID of a leg',
      allow: accountMember,
      answers: list(Cdr),
      fails: [missingParameter, callArchiveUnreachable],
      run: async (call) =>
        new RowsResponse(
          cdrs.legDocuments(call.account.id, call.path.interaction_id, {
            order: isOldestFirst(call) ? 'oldest first' : 'newest first',
            ...(await costViewOf(call)),
          }),
        ),
    }),
    get(`${cdrsOfAccount}/{cdr_id}`, {
      summary: 'Read a call detail record',
      allow: accountMember,
      answers: Cdr,
      fails: [missingParameter, callArchiveUnreachable],
      run: async (call) => cdrs.document(call.account.id, call.path.cdr_id, await costViewOf(call)),
    }),
    get(cdrsOfDevice, {
      summary: 'Refused: use filter_custom_channel_vars.authorizing_id on the list of the account',
      allow: accountMember,
      answers: open({}),
      run: () => {
        throw failure(faultyRequest, {
          message: 'use filter_custom_channel_vars.authorizing_id on the records of the account',
        })
      },
    }),
  ]
}
