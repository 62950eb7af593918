import { superduper } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import { type Call, get, post, type Route } from '../../../http/route.ts'
import type { Queue } from '../../../jobs/queue.ts'
import { type Work, type WorkState, workStates } from '../../../jobs/store.ts'
import { badIdentifier, failure, invalid } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { anyText, choice, closed, gregorian, integer, must } from '../../../lib/schema.ts'

const WorkRecord = closed(
  {
    id: must(anyText({ description: 'One within its kind' })),
    kind: must(anyText({ description: 'mail, transactions, synchronization and the like' })),
    account_id: must(anyText({ description: 'Its account; system if it has none' })),
    state: must(choice(['waiting', 'done', 'failed'])),
    attempts: must(integer({ description: 'Number of attempts' })),
    due: gregorian('Time of the next attempt; only while it waits'),
    since: must(gregorian('Time of the request')),
    outcome: must(anyText({ description: 'Last result' })),
    finished: gregorian('End time'),
  },
  { title: 'Work' },
)

const jobPath = '/v2/work/{kind}/{id}'

const jobQuery = {
  kind: 'Only this kind',
  state: `Only this state: ${workStates.join(', ')}`,
  account_id: 'Only this account',
}

const stateIn = (text: string): WorkState => {
  const state = workStates.find((known) => known === text)
  if (state) return state
  const message = 'Value not found in enumerated list of values'
  throw invalid({ state: { enum: { message, target: [...workStates], value: text } } })
}

const gregorianOf = (unixMs: number) => gregorianOfUnix(Math.floor(unixMs / 1000))

/** A job for operators, without its payload. */
const workJson = ({ kind, id, accountId, state, attempts, dueAt, since, outcome, finishedAt }: Work) => ({
  id,
  kind,
  account_id: accountId,
  state,
  attempts,
  ...(state === 'waiting' ? { due: gregorianOf(dueAt) } : {}),
  since: gregorianOf(since),
  outcome,
  ...(state === 'waiting' ? {} : { finished: gregorianOf(finishedAt) }),
})

export const workRoutes = (queue: Queue): Route[] => {
  const read = async ({ kind, id }: Pick<Work, 'kind' | 'id'>): Promise<Work> => {
    const work = await queue.find(kind, id)
    if (!work) throw failure(badIdentifier, { cause: id })
    return work
  }

  const listing = ({ query: asked }: Pick<Call, 'query'>): Listing<Work> => {
    const [kind, state, accountId] = ['kind', 'state', 'account_id'].map((name) => asked.get(name))
    const wanted = {
      ...(kind ? { kind } : {}),
      ...(state ? { state: stateIn(state) } : {}),
      ...(accountId ? { accountId } : {}),
    }
    return {
      page: ({ after, limit, descending }) =>
        queue.page({ ...wanted, limit, descending, ...(after ? { after } : {}) }),
      cursor: ({ kind, id }) => [kind, id],
      row: (work) => JSON.stringify(workJson(work)),
      record: workJson,
    }
  }

  return [
    get('/v2/work', {
      summary: 'List background jobs and their results',
      allow: superduper,
      query: jobQuery,
      answers: WorkRecord,
      list: true,
      run: (call) => new ListResponse(listing(call)),
    }),
    get(jobPath, {
      summary: 'Read the state of a job',
      allow: superduper,
      answers: WorkRecord,
      run: async ({ path }) => workJson(await read(path)),
    }),
    post(`${jobPath}/retry`, {
      summary: 'Run a waiting job now; 404 if it is not waiting',
      allow: superduper,
      answers: WorkRecord,
      async run({ author, path }) {
        await queue.retry(author, await read(path))
        return workJson(await read(path))
      },
    }),
  ]
}
