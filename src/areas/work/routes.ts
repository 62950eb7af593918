import { superduper } from '../../auth/policies.ts'
import { ListAnswer } from '../../http/answer/answers.ts'
import type { Listing } from '../../http/answer/listing.ts'
import { type Call, get, post, type Route } from '../../http/route.ts'
import { type Work, type WorkState, workStates } from '../../jobs/store.ts'
import { invalid } from '../../lib/failure.ts'
import type { WorkDesk } from './operations.ts'
import { workJson } from './rules.ts'
import { WorkRecord } from './schema.ts'

const one = '/v2/work/{kind}/{id}'

const query = {
  kind: 'Only of this kind',
  state: `Only in this state: ${workStates.join(', ')}`,
  account_id: 'Only of this account',
}

const stateIn = (text: string): WorkState => {
  const state = workStates.find((known) => known === text)
  if (state) return state
  const message = 'Value not found in enumerated list of values'
  throw invalid({ state: { enum: { message, target: [...workStates], value: text } } })
}

export const workRoutes = (desk: WorkDesk): Route[] => {
  const listing = ({ query: asked }: Pick<Call, 'query'>): Listing<Work> => {
    const [kind, state, accountId] = ['kind', 'state', 'account_id'].map((name) => asked.get(name))
    const wanted = {
      ...(kind ? { kind } : {}),
      ...(state ? { state: stateIn(state) } : {}),
      ...(accountId ? { accountId } : {}),
    }
    return {
      page: ({ after, limit, descending }) =>
        desk.page({ ...wanted, limit, descending, ...(after ? { after } : {}) }),
      cursor: ({ kind, id }) => [kind, id],
      row: (work) => JSON.stringify(workJson(work)),
      record: workJson,
    }
  }

  return [
    get('/v2/work', {
      summary: 'List what the server has to do after commits, and how it ended',
      allow: superduper,
      query,
      answers: WorkRecord,
      list: true,
      run: (call) => new ListAnswer(listing(call)),
    }),
    get(one, {
      summary: 'Read how an errand stands',
      allow: superduper,
      answers: WorkRecord,
      run: async ({ path }) => workJson(await desk.get(path.kind, path.id)),
    }),
    post(`${one}/retry`, {
      summary: 'Try an errand that waits at once; 404 when it does not wait',
      allow: superduper,
      answers: WorkRecord,
      run: async ({ author, path }) => workJson(await desk.retry(author, path.kind, path.id)),
    }),
  ]
}
