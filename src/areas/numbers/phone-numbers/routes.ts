import type { Static } from 'typebox'
import { isSuperduper } from '../../../auth/identity.ts'
import { accountMember } from '../../../auth/policies.ts'
import { type ApiResponse, answer, ListResponse, one } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import { failure } from '../../../lib/failure.ts'
import { isObject, isTrue, type Json } from '../../../lib/json.ts'
import { isPrivateKey } from '../../../lib/json-merge.ts'
import { memberOf } from '../../../lib/member.ts'
import { either, list, open } from '../../../lib/schema.ts'
import type { NumberCollections, PlanNumber } from './collections.operations.ts'
import {
  invalidStateTransition,
  noChangeRequired,
  notReconcilable,
  numberExists,
  numberFault,
  numberForbidden,
  numberInvalid,
  numberNotFound,
  numberUnassigned,
} from './failures.ts'
import type { NumberPlanning } from './numbering.ts'
import type { NumberIdentity, NumberPlan, Numbers, Performed } from './operations.ts'
import {
  Classification,
  Classifiers,
  CollectionOutcome,
  NumberCollection,
  NumberList,
  NumberOwner,
  numberListProblems,
  PhoneNumber,
  PhoneNumberRecord,
} from './schema.ts'
import { FoundNumber } from './search/schema.ts'
import type { NumberRecord } from './store.ts'
import type { NumberUpkeep } from './upkeep.operations.ts'
import { numberListing, numberMetadata, readOnlyOf } from './views.ts'

const numbersPath = '/v2/accounts/{account_id}/phone_numbers'
const oneNumber = `${numbersPath}/{phone_number}` as const

interface Deps {
  numbers: Numbers
  identity: NumberIdentity
  upkeep: NumberUpkeep
  /** Billable numbers of the account and its sub-accounts. */
  cascadeQuantity(accountId: string): Promise<number>
  search(call: Call): Promise<unknown>
  searchQuery: Readonly<Record<string, string>>
}

type NumberCall = Pick<Call, 'account' | 'actor' | 'author' | 'request'> & {
  path: { phone_number: string }
}

const stateFailures = [
  numberNotFound,
  notReconcilable,
  numberForbidden,
  invalidStateTransition,
  numberInvalid,
]
const carrierFailures = [numberFault, noChangeRequired]

export const phoneNumberRoutes = (tools: Deps): Route[] => {
  const { numbers, identity, upkeep, cascadeQuantity, search, searchQuery } = tools
  const { plan, features } = numbers

  const requestOf = ({ account, actor, author, path }: NumberCall) => ({
    by: actor,
    author,
    account,
    number: path.phone_number,
  })

  const subject = async ({ account, path }: NumberCall) => {
    const number = await numbers.reconcile(path.phone_number)
    const found = await numbers.find(account.id, number)
    if (!found) throw failure(numberNotFound, { number })
    return found
  }

  /** Operators also read and remove numbers without owner. */
  const ownOrFree = async (call: NumberCall) => {
    if (!isSuperduper(call.actor)) return subject(call)
    const found = await numbers.findAnywhere(await numbers.reconcile(call.path.phone_number))
    return found?.accountId === '' ? found : subject(call)
  }

  const shown = async (
    number: NumberRecord,
    { actor }: NumberCall,
    more: Json = {},
  ): Promise<ApiResponse> => {
    const metadata = await numberMetadata(features, number, isSuperduper(actor))
    return one(number, { readOnly: readOnlyOf(number), metadata: { ...metadata, ...more } })
  }

  const carryOut = async (call: NumberCall, planned: NumberPlan) => {
    const [done = planned]: Performed[] = await numbers.perform(planned)
    if (done.refusal) throw done.refusal
    return shown(done.number, call, done.deleted ? { deleted: true } : {})
  }

  const listed = async ({ account, actor }: Pick<Call, 'account' | 'actor'>) =>
    new ListResponse(
      numberListing(numbers, account.id, {
        isOperator: isSuperduper(actor),
        cascadeQuantity: await cascadeQuantity(account.id),
      }),
    )

  const createBy = (make: typeof plan.create) => async (call: NumberCall & { data: Json }) =>
    carryOut(call, await make(numbers.view(), { ...requestOf(call), fields: call.data }))

  const changing = { allow: accountMember, body: PhoneNumber, answers: PhoneNumberRecord }
  const updating = {
    ...changing,
    subject,
    fails: stateFailures,
    run: async (call: NumberCall & { data: Json }) => {
      const request = { ...requestOf(call), fields: call.data, how: 'replace' as const }
      return carryOut(call, await plan.update(numbers.view(), request))
    },
  }
  const creating = {
    ...changing,
    fails: [numberExists, ...stateFailures, ...carrierFailures],
    again: async (call: NumberCall) => shown(await ownOrFree(call), call),
  }

  return [
    get(numbersPath, {
      summary: 'List the phone numbers of an account; with `prefix`, search for numbers',
      allow: accountMember,
      query: {
        ...searchQuery,
        filter_state: 'A state, or a JSON array of states',
        include_ports: 'Accepted and ignored: this server has no port requests',
      },
      answers: either([NumberList, list(FoundNumber)]),
      list: 'keyed',
      run: (call) => (call.query.has('prefix') ? search(call) : listed(call)),
    }),
    post(`${numbersPath}/fix`, {
      summary: 'Repair the stored data of the numbers of an account',
      allow: accountMember,
      answers: NumberList,
      list: 'keyed',
      run: async (call) => {
        await upkeep.fix(call.author, call.account)
        return listed(call)
      },
    }),
    post(`${numbersPath}/fix/{phone_number}`, {
      summary: 'Repair the stored data of a number',
      allow: accountMember,
      answers: open({}),
      fails: stateFailures,
      run: async (call) => {
        await upkeep.fixOne(call.author, call.account, call.path.phone_number)
        return {}
      },
    }),
    get(oneNumber, {
      summary: 'Read a phone number',
      record: { kind: 'number', id: async ({ path }) => numbers.reconcile(path.phone_number) },
      allow: accountMember,
      subject,
      answers: PhoneNumberRecord,
      fails: stateFailures,
      run: (call) => shown(call.subject, call),
    }),
    put(oneNumber, {
      summary: 'Create a phone number',
      ...creating,
      run: createBy(plan.create),
    }),
    post(oneNumber, { summary: 'Replace the public fields of a phone number', ...updating }),
    patch(oneNumber, { summary: 'Change public fields of a phone number', ...updating }),
    del(oneNumber, {
      summary: 'Release a phone number; `hard` removes it, for operators',
      allow: accountMember,
      query: { hard: { flag: 'true removes the number from the inventory; operators only' } },
      subject: ownOrFree,
      answers: PhoneNumberRecord,
      fails: [...stateFailures, ...carrierFailures],
      run: async (call) => {
        const isHard = isTrue(call.request.value('hard')) && isSuperduper(call.actor)
        const perform = isHard ? plan.remove : plan.release
        return carryOut(call, await perform(numbers.view(), requestOf(call)))
      },
    }),
    put(`${oneNumber}/activate`, {
      summary: 'Activate a phone number for the account',
      resource: 'phone_numbers',
      ...creating,
      price: { is: 'twice', bucket: 'crossbar.phone_numbers' },
      run: createBy(plan.activate),
    }),
    put(`${oneNumber}/reserve`, {
      summary: 'Reserve a phone number for the account',
      resource: 'phone_numbers',
      ...creating,
      run: createBy(plan.reserve),
    }),
    put(`${oneNumber}/port`, {
      summary: 'Create a phone number that is being ported in',
      resource: 'phone_numbers',
      ...creating,
      run: createBy(plan.port),
    }),
    get(`${oneNumber}/identify`, {
      summary: 'Read which account a phone number belongs to',
      resource: 'phone_numbers',
      allow: accountMember,
      answers: NumberOwner,
      fails: [numberNotFound, notReconcilable, numberUnassigned],
      run: ({ actor, path }) => identity.identify(actor, path.phone_number),
    }),
  ]
}

const collection = '/v2/accounts/{account_id}/phone_numbers/collection'

type CollectionCall = Pick<Call, 'account' | 'actor' | 'author' | 'request' | 'sent'> & {
  data: Static<typeof NumberCollection>
}

export const numberCollectionRoutes = (collections: NumberCollections, { plan }: Numbers): Route[] => {
  const apply = async (
    { data, account, actor, author }: CollectionCall,
    perform: PlanNumber,
    status?: number,
  ) => {
    const { numbers = [] } = data
    const { success, error } = await collections.apply(numbers, perform, { by: actor, author, account })
    const failed = Object.keys(error).length > 0 ? error : []
    return answer({ data: { success, error: failed }, ...(status ? { status } : {}) })
  }

  const createBy = (make: typeof plan.create) => (call: CollectionCall) =>
    apply(call, (view, request) => make(view, { ...request, fields: collectionFields(call) }), 201)

  const update = (call: CollectionCall, fields: Json, how: 'replace' | 'merge') =>
    apply(call, (view, request) => plan.update(view, { ...request, fields, how }))

  // The list has its own errors, and nulls that remove fields must stay.
  const taken = {
    allow: accountMember,
    body: NumberCollection,
    answers: CollectionOutcome,
    judge: async ({ sent }: { sent: unknown }) => numberListProblems(memberOf(sent, 'numbers')),
  }

  return [
    put(collection, { summary: 'Create numbers', ...taken, run: createBy(plan.create) }),
    put(`${collection}/activate`, {
      summary: 'Activate numbers for the account',
      ...taken,
      price: { is: 'twice', bucket: 'crossbar.phone_numbers' },
      run: createBy(plan.activate),
    }),
    post(collection, {
      summary: 'Replace the public fields of numbers',
      ...taken,
      run: (call) => update(call, collectionFields(call), 'replace'),
    }),
    patch(collection, {
      summary: 'Change public fields of numbers',
      ...taken,
      run: (call) => update(call, withNulls(collectionFields(call), call.sent), 'merge'),
    }),
    del(collection, {
      summary: 'Release numbers; `hard` removes them, for operators',
      ...taken,
      query: { hard: { flag: 'true removes numbers from the inventory; operators only' } },
      run: (call) => {
        const isHard = isTrue(call.request.value('hard')) && isSuperduper(call.actor)
        return apply(call, isHard ? plan.remove : plan.release)
      },
    }),
  ]
}

const collectionFields = ({ data: { numbers: _, ...fields } }: CollectionCall): Json => fields

/** A null in the request removes the field. */
const withNulls = (fields: Json, sent: unknown): Json => {
  const kept: Json = { ...fields }
  for (const [key, value] of Object.entries(isObject(sent) ? sent : {})) {
    if (isPrivateKey(key) || key === 'numbers') continue
    if (value === null) kept[key] = null
    else if (isObject(value)) kept[key] = withNulls(isObject(fields[key]) ? fields[key] : {}, value)
  }
  return kept
}

const classifiers = '/v2/accounts/{account_id}/phone_numbers/classifiers'

export const numberPlanningRoutes = (planning: NumberPlanning): Route[] => [
  get(classifiers, {
    summary: 'List the classes of numbers',
    allow: accountMember,
    answers: Classifiers,
    run: () => planning.named(),
  }),
  get(`${classifiers}/{number}`, {
    summary: 'Read the class of a number',
    allow: accountMember,
    answers: Classification,
    run: ({ path }) => planning.classify(path.number),
  }),
]
