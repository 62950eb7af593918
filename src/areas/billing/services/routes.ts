import {
  accountAdmin,
  accountMember,
  anyToken,
  ownReseller,
  type ResellerOf,
  superduper,
} from '../../../auth/policies.ts'
import { csvFile } from '../../../http/response/csv-lists.ts'
import { collectionListing, type Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, type Route } from '../../../http/route.ts'
import {
  datastoreConflict,
  failure,
  forbidden,
  hasProblems,
  invalid,
  joinProblems,
  type Problems,
} from '../../../lib/failure.ts'
import { isTrue, type Json } from '../../../lib/json.ts'
import { anyObject } from '../../../lib/schema.ts'
import { recordRoutes } from '../../record-routes.ts'
import { invalidBillingId, planIsNotAssigned } from './failures.ts'
import type { ChangeMode, Services } from './operations.ts'
import type { Plans } from './plans/operations.ts'
import { itemWarnings, overridesProblems } from './plans/rules.ts'
import { PlanOverrides, PlanRow } from './plans/schema.ts'
import { countedCategories, editable } from './rules.ts'
import {
  PlanAssignment,
  Quantities,
  ServicesAnswer,
  ServicesChange,
  StandingAnswer,
  StandingChange,
  Summary,
} from './schema.ts'
import type { Synchronization } from './synchronization/operations.ts'

const base = '/v2/accounts/{account_id}/services'
const plansBase = '/v2/accounts/{account_id}/service_plans'

const mannerOf = ({ envelope }: Pick<Call, 'envelope'>): ChangeMode =>
  isTrue(envelope.merge) ? 'merge' : 'replace'

/** The account chooses who pays; its reseller what it is sold. */
const assertMaySell = async (
  { actor, account, data }: Call<string, ServicesChange>,
  resellerOf: ResellerOf,
) => {
  const keys = ['add', 'plans', 'delete', 'overrides', 'bookkeeper', 'ratedeck', 'tax'] as const
  const isSold = keys.some((key) => key in data)
  if (isSold && !(await ownReseller.allows(actor, account, {}, resellerOf))) {
    throw failure(forbidden, { cause: 'only the reseller of an account may change its services' })
  }
}

interface Given {
  overrides?: Json | undefined
  contract?: object | undefined
}

/** Nothing reads contracts. */
const contractProblems = (contract: object | undefined, path: string): Problems => {
  if (Object.keys(contract ?? {}).length === 0) return {}
  const message = 'Plans are assigned without contracts: use overrides'
  return { [path]: { forbidden: { message } } }
}

const givenProblems = ({ overrides, contract }: Given, prefix = ''): Problems => ({
  ...overridesProblems(overrides, `${prefix}overrides.`),
  ...contractProblems(contract, `${prefix}contract`),
})

const judgeAssignment = async ({ data }: { data: Given }) => givenProblems(data)

const judgeChange = async ({ data }: { data: ServicesChange }) => {
  const added = (['add', 'plans'] as const).flatMap((key) =>
    (data[key] ?? []).map((one, index) =>
      typeof one === 'string' ? {} : givenProblems(one, `${key}.${index}.`),
    ),
  )
  return joinProblems(givenProblems({ overrides: data.overrides }), ...added)
}

const overridesWarnings = (overrides: { plan?: unknown } | undefined, path = '') =>
  itemWarnings(overrides?.plan, countedCategories, `${path}plan`)

const assertSound = (overrides: Json) => {
  const problems = overridesProblems(overrides)
  if (hasProblems(problems)) throw invalid(problems)
}

export const servicesRoutes = (services: Services): Route[] => {
  const plansFor = async ({ account, request }: Pick<Call, 'account' | 'request'>) => {
    const { seller, plans } = await services.sold(account)
    const listing = collectionListing(plans, seller)
    if (!isTrue(request.value('details'))) return new ListResponse(listing)
    const whole: Listing<never> = {
      ...(listing as Listing<never>),
      page: (page) => listing.page({ ...page, whole: true }) as Promise<never[]>,
      row: (item) => JSON.stringify(listing.record(item)),
    }
    return new ListResponse(whole)
  }

  /** A patch is merged into what is stored. */
  const stored =
    (key: 'manual' | 'overrides') =>
    async ({ account }: Pick<Call, 'account'>) => {
      const before = await services.find(account)
      return { doc: before?.doc[key] ?? {}, before }
    }

  const selling = { allow: ownReseller, answers: ServicesAnswer }

  const current = {
    isLong: true as const,
    allow: accountMember,
    answers: ServicesAnswer,
    run: ({ account }: Pick<Call, 'account'>) => services.read(account),
  }

  const available = {
    allow: accountMember,
    query: { details: { flag: 'Whole plans instead of their names' } },
    answers: PlanRow,
    list: true as const,
    run: plansFor,
  }

  return [
    get(base, {
      summary: 'Read the services of an account: quantities, plans and prices',
      ...current,
    }),
    // Paths of Kazoo 4.
    get(`${plansBase}/current`, {
      summary: 'Read the services of an account; the same as `services`',
      ...current,
    }),
    get(`${plansBase}/available`, {
      summary: 'List the plans that the reseller of an account sells; the same as `services/available`',
      ...available,
    }),
    post(base, {
      summary: 'Assign or remove plans, set overrides, or set the paying account',
      allow: accountAdmin,
      body: ServicesChange,
      judge: judgeChange,
      warns: ({ data }) => overridesWarnings(data.overrides, 'overrides.'),
      answers: ServicesAnswer,
      fails: [invalidBillingId, planIsNotAssigned],
      run: async (call) => {
        await assertMaySell(call, services.sellerOf)
        return services.change(call, call.data, mannerOf(call))
      },
    }),
    get(`${base}/status`, {
      summary: 'Read whether an account is in good standing',
      allow: accountMember,
      answers: StandingAnswer,
      run: ({ account }) => services.standing(account),
    }),
    post(`${base}/status`, {
      summary: 'Set whether an account is in good standing',
      allow: superduper,
      body: StandingChange,
      answers: StandingAnswer,
      run: (call) => services.setStanding(call, call.data),
    }),
    get(`${base}/summary`, {
      summary: 'Read the current invoices of an account',
      isLong: true,
      allow: accountMember,
      produces: ['text/csv'],
      answers: Summary,
      run: async ({ account, request }) => {
        const summary = await services.summary(account)
        return request.accepts === 'text/csv'
          ? csvFile(
              summary.invoices.flatMap(({ items }) => items),
              'services_summary.csv',
            )
          : summary
      },
    }),
    get(`${base}/available`, {
      summary: 'List the plans that the reseller of an account sells',
      ...available,
    }),
    get(`${base}/editable`, {
      summary: 'List the items that plans can price',
      allow: accountMember,
      answers: anyObject(),
      run: editable,
    }),
    get('/v2/services/editable', {
      summary: 'List the items that plans can price',
      allow: anyToken,
      answers: anyObject(),
      run: editable,
    }),
    post(`${base}/quote`, {
      summary: 'Price an account as if exactly these plans were assigned; nothing is saved',
      allow: accountMember,
      body: ServicesChange,
      judge: judgeChange,
      answers: Summary,
      run: ({ account, data }) => services.quote(account, data),
    }),
    post('/v2/services/quote', {
      summary: 'Price plans of the master account for a new account; nothing is saved',
      allow: superduper,
      body: ServicesChange,
      judge: judgeChange,
      answers: Summary,
      run: ({ actor, data }) => services.quoteForNobody(actor.account, data),
    }),
    get(`${base}/manual`, {
      summary: 'Read the manual quantities of an account',
      allow: ownReseller,
      answers: Quantities,
      run: async ({ account }) => (await services.find(account))?.doc.manual ?? {},
    }),
    post(`${base}/manual`, {
      summary: 'Set manual quantities of an account',
      allow: ownReseller,
      body: Quantities,
      answers: Quantities,
      run: (call) => services.setManual(call, call.data, mannerOf(call)),
    }),
    patch(`${base}/manual`, {
      summary: 'Change manual quantities of an account; null removes one',
      allow: ownReseller,
      subject: stored('manual'),
      body: Quantities,
      answers: Quantities,
      run: (call) => services.setManual(call, call.data, 'replace', call.subject),
    }),
    get(`${base}/overrides`, {
      summary: 'Read the price overrides of an account',
      allow: accountMember,
      answers: PlanOverrides,
      run: async ({ account }) => (await services.find(account))?.doc.overrides ?? {},
    }),
    post(`${base}/overrides`, {
      summary: 'Replace the price overrides of an account',
      allow: ownReseller,
      body: PlanOverrides,
      warns: ({ data }) => overridesWarnings(data),
      answers: PlanOverrides,
      run: (call) => {
        assertSound(call.data)
        return services.setOverrides(call, call.data, mannerOf(call))
      },
    }),
    patch(`${base}/overrides`, {
      summary: 'Change price overrides of an account; null removes',
      allow: ownReseller,
      subject: stored('overrides'),
      body: PlanOverrides,
      warns: ({ data }) => overridesWarnings(data),
      answers: PlanOverrides,
      run: (call) => {
        assertSound(call.data)
        return services.setOverrides(call, call.data, 'replace', call.subject)
      },
    }),
    post(`${base}/{plan_id}`, {
      summary: 'Assign a plan, or change its overrides',
      ...selling,
      body: PlanAssignment,
      judge: judgeAssignment,
      warns: ({ data }) => overridesWarnings(data.overrides, 'overrides.'),
      run: (call) => services.assign(call, call.path.plan_id, call.data, mannerOf(call)),
    }),
    del(`${base}/{plan_id}`, {
      summary: 'Remove a plan from an account',
      ...selling,
      run: (call) => services.unassign(call, call.path.plan_id),
    }),
  ]
}

export const synchronizationRoutes = (synchronization: Synchronization): Route[] => [
  post('/v2/accounts/{account_id}/services/synchronization', {
    summary: 'Send the invoices of an account to its billing providers',
    allow: ownReseller,
    answers: anyObject(),
    run: async ({ account }) => {
      await synchronization.now(account)
      return {}
    },
  }),
]

export const planRoutes = (plans: Plans) =>
  recordRoutes(plans, {
    path: '/v2/accounts/{account_id}/service_plans',
    called: ['a service plan', 'service plans'],
    row: PlanRow,
    routes: {
      list: { allow: accountMember, summary: 'List the service plans of an account that sells' },
      create: { allow: accountAdmin, summary: 'Create a service plan' },
      read: { allow: accountMember },
      replace: {
        allow: accountAdmin,
        summary: 'Replace a service plan; it applies from the next bill of each account that has it',
      },
      patch: { allow: accountAdmin, summary: 'Change fields of a service plan' },
      delete: {
        allow: accountAdmin,
        summary: 'Delete a service plan that no account has',
        fails: [datastoreConflict],
      },
    },
    warns: ({ plan }) => itemWarnings(plan, countedCategories),
  })
