import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { ListAnswer, made, one, removed } from '../../../http/answer/answers.ts'
import { keptListing } from '../../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import { countedCategories } from '../rules.ts'
import type { Plans } from './operations.ts'
import { itemProblems, itemWarnings } from './rules.ts'
import { PlanRow, ServicePlan } from './schema.ts'

const all = '/v2/accounts/{account_id}/service_plans'
const onePlan = '/v2/accounts/{account_id}/service_plans/{service_plan_id}'

type OnPlan = Pick<Call<typeof onePlan>, 'path'>

export const planRoutes = (plans: Plans): Route[] => {
  const subject = ({ path }: OnPlan) => plans.get(path.account_id, path.service_plan_id)

  const judge = async ({ data }: { data: { plan?: unknown } }) => itemProblems(data.plan)

  const warns = ({ data }: { data: { plan?: unknown } }) => itemWarnings(data.plan, countedCategories)

  const changing = {
    allow: accountAdmin,
    subject,
    body: ServicePlan,
    judge,
    warns,
    answers: ServicePlan,
  }

  return [
    get(all, {
      summary: 'List the service plans that an account sells by',
      allow: accountMember,
      answers: PlanRow,
      list: true,
      run: ({ path }) => new ListAnswer(keptListing(plans, path.account_id)),
    }),
    put(all, {
      summary: 'Make a service plan',
      allow: accountAdmin,
      body: ServicePlan,
      judge,
      warns,
      answers: ServicePlan,
      run: async ({ author, account, data }) => made(await plans.create(author, account, data)),
    }),
    get(onePlan, {
      summary: 'Read a service plan',
      record: { kind: 'service_plan' },
      allow: accountMember,
      answers: ServicePlan,
      run: async (call) => one(await subject(call)),
    }),
    post(onePlan, {
      summary: 'Replace a service plan: the next bill of every account that has it follows',
      ...changing,
      run: async ({ author, account, subject: before, data: doc }) =>
        one(await plans.replace(author, account, { before, doc })),
    }),
    patch(onePlan, {
      summary: 'Change parts of a service plan',
      ...changing,
      run: async ({ author, account, subject: before, data: doc }) =>
        one(await plans.replace(author, account, { before, doc })),
    }),
    del(onePlan, {
      summary: 'Remove a service plan that no account has',
      allow: accountAdmin,
      subject,
      answers: ServicePlan,
      fails: ['datastore_conflict'],
      run: async ({ author, subject: plan }) => removed(await plans.remove(author, plan)),
    }),
  ]
}
