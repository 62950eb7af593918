import { accountAdmin } from '../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { collectionListing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import type { ConnectivityRecord, Trunks } from './operations.ts'
import { Connectivity, ConnectivityRecord as ConnectivityAnswer, ConnectivityId } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/connectivity'
const oneTrunk = `${onAccount}/{connectivity_id}` as const

type OneTrunk = Call<typeof oneTrunk, Connectivity, ConnectivityRecord>
type Judged = Call<string, Partial<Connectivity>, ConnectivityRecord>

export const connectivityRoutes = (trunks: Trunks): Route[] => {
  const subject = ({ path }: Pick<OneTrunk, 'path'>) => trunks.get(path.account_id, path.connectivity_id)

  const judge = ({ account, data, subject: own }: Judged) => trunks.judge({ account, data, own })

  const change = async ({ author, account, subject: trunk, data }: OneTrunk) =>
    one(await trunks.replace(author, account, trunk, data))

  const writing = { allow: accountAdmin, body: Connectivity, answers: ConnectivityAnswer }

  return [
    get(onAccount, {
      summary: 'List the ids of the trunks of an account',
      allow: accountAdmin,
      answers: ConnectivityId,
      list: true,
      run: ({ path }) =>
        new ListAnswer({
          ...collectionListing(trunks, path.account_id),
          row: ({ id }) => JSON.stringify(id),
        }),
    }),
    put(onAccount, {
      summary: 'Create trunks of an account',
      ...writing,
      judge: ({ account, data }) => trunks.judge({ account, data }),
      run: async ({ author, account, data }) => made(await trunks.create(author, account, data)),
    }),
    get(oneTrunk, {
      summary: 'Read trunks of an account',
      record: { kind: 'connectivity' },
      allow: accountAdmin,
      subject,
      answers: ConnectivityAnswer,
      run: ({ subject: trunk }) => one(trunk),
    }),
    post(oneTrunk, { summary: 'Replace trunks of an account', ...writing, subject, judge, run: change }),
    patch(oneTrunk, { summary: 'Change trunks of an account', ...writing, subject, judge, run: change }),
    del(oneTrunk, {
      summary: 'Delete trunks of an account: their numbers lead nowhere then',
      allow: accountAdmin,
      subject,
      answers: ConnectivityAnswer,
      run: async ({ author, subject: trunk }) => {
        await trunks.remove(author, trunk)
        return removed(trunk)
      },
    }),
  ]
}
