import { hash } from 'node:crypto'
import type { AccountRecord } from '../../auth/identity.ts'
import { accountMember } from '../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { collectionListing, keptListing, type Listing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import type { Json } from '../../lib/json.ts'
import type { Question } from '../../lib/question.ts'
import type { ListRow } from '../../storage/records.ts'
import type { CallflowRecord, Callflows } from './operations.ts'
import { Callflow, CallflowRecord as CallflowAnswer, CallflowRow } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/callflows'
const oneCallflow = `${onAccount}/{callflow_id}` as const

/** Records that are at hand in the order of their list, a page of them. */
const pageOf =
  (records: readonly CallflowRecord[]) =>
  async ({
    after,
    limit,
    descending,
  }: {
    after?: readonly [string, string]
    limit: number
    descending: boolean
  }) => {
    const ordered = descending ? records.toReversed() : records
    const isBehind = ({ sortKey, id }: CallflowRecord) => {
      if (!after) return true
      const order = sortKey === after[0] ? [id, after[1]] : [sortKey, after[0]]
      const [own = '', place = ''] = order
      return descending ? own < place : own > place
    }
    return ordered.filter(isBehind).slice(0, limit)
  }

/** Of questions for the numbers of a callflow: those of which it has to list one. */
const wantedIn = ({ key, test }: Question) =>
  key === 'numbers' && test.is === 'oneOf' ? test.texts : undefined

export const callflowRoutes = (callflows: Callflows): Route[] => {
  const subject = ({ path }: { path: { account_id: string; callflow_id: string } }) =>
    callflows.get(path.account_id, path.callflow_id)

  const listed = (account: AccountRecord): Listing<ListRow> => ({
    ...keptListing(callflows, account.id),
    // What lists a number is found by it, not by looking through all.
    narrowed(questions) {
      const [texts] = questions.flatMap((question) => wantedIn(question) ?? [])
      if (!texts) return { listing: listed(account), left: questions }
      const found = callflows.listing(account, texts)
      const page = async (query: Parameters<ReturnType<typeof pageOf>>[0]) => pageOf(await found)(query)
      const fitting = async ({ limit }: { limit: number }) => limit
      return {
        listing: collectionListing({ page, rows: page, fitting }, account.id),
        left: questions.filter((question) => wantedIn(question) !== texts),
      }
    },
  })

  /** Names in the flow change without the callflow: the answer is another one then. */
  const shown = async (callflow: CallflowRecord) => {
    const metadata = await callflows.namesIn(callflow)
    const etag = `${callflow.revision}-${hash('md5', JSON.stringify(metadata), 'hex')}`
    return { readOnly: { metadata }, etag }
  }

  const change = async ({
    author,
    account,
    data,
    subject: callflow,
  }: Call<typeof oneCallflow, Json, CallflowRecord>) => {
    const after = await callflows.replace(author, account, callflow, data)
    return one(after, await shown(after))
  }

  const judge = ({ account, data, subject: own }: Call<typeof oneCallflow, Json, CallflowRecord>) =>
    callflows.judge({ account, data, own })

  const writing = { allow: accountMember, body: Callflow, answers: CallflowAnswer }

  return [
    get(onAccount, {
      summary: 'List the callflows of an account',
      allow: accountMember,
      query: { filter_numbers: 'Only the callflow that lists this number, or one of a JSON list of them' },
      answers: CallflowRow,
      list: true,
      run: ({ account }) => new ListAnswer(listed(account)),
    }),
    put(onAccount, {
      summary: 'Create a callflow',
      ...writing,
      judge: ({ account, data }) => callflows.judge({ account, data }),
      run: async ({ author, account, data }) => {
        const callflow = await callflows.create(author, account, data)
        return made(callflow, await shown(callflow))
      },
    }),
    get(oneCallflow, {
      summary: 'Read a callflow, and what the ids in its flow are called',
      record: { kind: 'callflow' },
      allow: accountMember,
      subject,
      answers: CallflowAnswer,
      run: async ({ subject: callflow }) => one(callflow, await shown(callflow)),
    }),
    post(oneCallflow, { summary: 'Replace a callflow', ...writing, subject, judge, run: change }),
    patch(oneCallflow, { summary: 'Change fields of a callflow', ...writing, subject, judge, run: change }),
    del(oneCallflow, {
      summary: 'Delete a callflow: its numbers lead nowhere then',
      allow: accountMember,
      subject,
      answers: CallflowAnswer,
      run: async ({ author, subject: callflow }) => {
        const extras = await shown(callflow)
        await callflows.remove(author, callflow)
        return removed(callflow, extras)
      },
    }),
  ]
}
