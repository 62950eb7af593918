import { accountMember } from '../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { keptListing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import type { Json } from '../../lib/json.ts'
import type { GroupRecord, Groups } from './operations.ts'
import { Group, GroupRecord as GroupAnswer, GroupRow } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/groups'
const oneGroup = `${onAccount}/{group_id}` as const

export const groupRoutes = (groups: Groups): Route[] => {
  const subject = ({ path }: { path: { account_id: string; group_id: string } }) =>
    groups.get(path.account_id, path.group_id)

  const judge = ({ account, data, subject: own }: Call<typeof oneGroup, Json, GroupRecord>) =>
    groups.judge({ account, data, own })

  const change = async ({ author, data, subject: group }: Call<typeof oneGroup, Json, GroupRecord>) =>
    one(await groups.replace(author, group, data))

  const writing = { allow: accountMember, body: Group, answers: GroupAnswer }

  return [
    get(onAccount, {
      summary: 'List the groups of an account',
      allow: accountMember,
      answers: GroupRow,
      list: true,
      run: ({ path }) => new ListAnswer(keptListing(groups, path.account_id)),
    }),
    put(onAccount, {
      summary: 'Create a group',
      ...writing,
      judge: ({ account, data }) => groups.judge({ account, data }),
      run: async ({ author, account, data }) => made(await groups.create(author, account, data)),
    }),
    get(oneGroup, {
      summary: 'Read a group',
      record: { kind: 'group' },
      allow: accountMember,
      subject,
      answers: GroupAnswer,
      run: async ({ subject: group }) => one(group),
    }),
    post(oneGroup, { summary: 'Replace a group', ...writing, subject, judge, run: change }),
    patch(oneGroup, { summary: 'Change fields of a group', ...writing, subject, judge, run: change }),
    del(oneGroup, {
      summary: 'Delete a group',
      allow: accountMember,
      subject,
      answers: GroupAnswer,
      run: async ({ author, subject: group }) => {
        await groups.remove(author, group)
        return removed(group)
      },
    }),
  ]
}
