import { accountAdmin, superduper } from '../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../http/answer/answers.ts'
import { keptListing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import { systemScope } from '../../storage/change-set.ts'
import type { ResourceRecord, Resources } from './operations.ts'
import { Resource, ResourceRecord as ResourceAnswer, ResourceRow } from './schema.ts'

const all = '/v2/resources'
const oneOfAll = `${all}/{resource_id}` as const
const onAccount = '/v2/accounts/{account_id}/resources'
const oneResource = `${onAccount}/{resource_id}` as const

type OneOfAll = Call<typeof oneOfAll, Resource, ResourceRecord>
type OneOfAccount = Call<typeof oneResource, Resource, ResourceRecord>
type Judged = Call<string, Partial<Resource>, ResourceRecord>

export const resourceRoutes = (resources: Resources): Route[] => {
  const subjectOfAll = ({ path }: Pick<OneOfAll, 'path'>) => resources.get(systemScope, path.resource_id)
  const subject = ({ path }: Pick<OneOfAccount, 'path'>) => resources.get(path.account_id, path.resource_id)

  const change = async ({ author, actor, subject: resource, data }: OneOfAll | OneOfAccount) =>
    one(await resources.replace(author, actor, resource, data))

  const remove = async ({ author, subject: resource }: Pick<OneOfAll, 'author' | 'subject'>) => {
    await resources.remove(author, resource)
    return removed(resource)
  }

  const judgeOfAll = ({ actor, data, subject: own }: Judged) =>
    resources.judge({ actor, data, own, account: undefined })
  const judge = ({ actor, account, data, subject: own }: Judged) =>
    resources.judge({ actor, data, own, account })

  const ofAll = { allow: superduper, body: Resource, answers: ResourceAnswer }
  const ofAccount = { allow: accountAdmin, body: Resource, answers: ResourceAnswer }

  return [
    get(all, {
      summary: 'List the carriers of the whole system',
      allow: superduper,
      answers: ResourceRow,
      list: true,
      run: () => new ListAnswer(keptListing(resources, systemScope)),
    }),
    put(all, {
      summary: 'Create a carrier of the whole system',
      ...ofAll,
      judge: ({ actor, data }) => resources.judge({ actor, data, account: undefined }),
      run: async ({ author, actor, data }) => made(await resources.create(author, actor, systemScope, data)),
    }),
    get(oneOfAll, {
      summary: 'Read a carrier of the whole system',
      record: { kind: 'resource' },
      allow: superduper,
      subject: subjectOfAll,
      answers: ResourceAnswer,
      run: ({ subject: resource }) => one(resource),
    }),
    post(oneOfAll, {
      summary: 'Replace a carrier of the whole system',
      ...ofAll,
      subject: subjectOfAll,
      judge: judgeOfAll,
      run: change,
    }),
    patch(oneOfAll, {
      summary: 'Change fields of a carrier of the whole system',
      ...ofAll,
      subject: subjectOfAll,
      judge: judgeOfAll,
      run: change,
    }),
    del(oneOfAll, {
      summary: 'Delete a carrier of the whole system',
      allow: superduper,
      subject: subjectOfAll,
      answers: ResourceAnswer,
      run: remove,
    }),
    get(onAccount, {
      summary: 'List the carriers of an account',
      allow: accountAdmin,
      answers: ResourceRow,
      list: true,
      run: ({ path }) => new ListAnswer(keptListing(resources, path.account_id)),
    }),
    put(onAccount, {
      summary: 'Create a carrier of an account',
      ...ofAccount,
      judge: ({ actor, account, data }) => resources.judge({ actor, data, account }),
      run: async ({ author, actor, account, data }) =>
        made(await resources.create(author, actor, account.id, data)),
    }),
    get(oneResource, {
      summary: 'Read a carrier of an account',
      record: { kind: 'resource' },
      allow: accountAdmin,
      subject,
      answers: ResourceAnswer,
      run: ({ subject: resource }) => one(resource),
    }),
    post(oneResource, {
      summary: 'Replace a carrier of an account',
      ...ofAccount,
      subject,
      judge,
      run: change,
    }),
    patch(oneResource, {
      summary: 'Change fields of a carrier of an account',
      ...ofAccount,
      subject,
      judge,
      run: change,
    }),
    del(oneResource, {
      summary: 'Delete a carrier of an account',
      allow: accountAdmin,
      subject,
      answers: ResourceAnswer,
      run: remove,
    }),
  ]
}
