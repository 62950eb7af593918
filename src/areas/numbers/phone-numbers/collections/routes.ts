import type { Static } from 'typebox'
import { isSuperduper } from '../../../../auth/identity.ts'
import { accountMember } from '../../../../auth/policies.ts'
import { answer } from '../../../../http/answer/answers.ts'
import { type Call, del, patch, post, put, type Route } from '../../../../http/route.ts'
import { isObject, isTrue, type Json } from '../../../../lib/json.ts'
import { isPrivateKey } from '../../../../lib/json-merge.ts'
import { memberOf } from '../../../../lib/member.ts'
import type { Numbers } from '../operations.ts'
import { CollectionOutcome, NumberCollection, numberListProblems } from '../schema.ts'
import type { NumberCollections, Plan } from './operations.ts'

const collection = '/v2/accounts/{account_id}/phone_numbers/collection'

type CollectionCall = Pick<Call, 'account' | 'actor' | 'author' | 'request' | 'sent'> & {
  data: Static<typeof NumberCollection>
}

export const numberCollectionRoutes = (collections: NumberCollections, { plan }: Numbers): Route[] => {
  const apply = async ({ data, account, actor, author }: CollectionCall, perform: Plan, status?: number) => {
    const { numbers = [] } = data
    const { success, error } = await collections.apply(numbers, perform, { by: actor, author, account })
    const failed = Object.keys(error).length > 0 ? error : []
    return answer({ data: { success, error: failed }, ...(status ? { status } : {}) })
  }

  // The list has errors of its own, and nulls that remove fields must get through.
  const taken = {
    allow: accountMember,
    body: NumberCollection,
    answers: CollectionOutcome,
    judge: async ({ sent }: { sent: unknown }) => numberListProblems(memberOf(sent, 'numbers')),
  }

  return [
    put(collection, {
      summary: 'Create numbers',
      ...taken,
      run: (call) =>
        apply(call, (view, request) => plan.create(view, { ...request, fields: fieldsOf(call) }), 201),
    }),
    put(`${collection}/activate`, {
      summary: 'Put numbers into service for the account',
      ...taken,
      price: { is: 'twice', bucket: 'crossbar.phone_numbers' },
      run: (call) =>
        apply(call, (view, request) => plan.activate(view, { ...request, fields: fieldsOf(call) }), 201),
    }),
    post(collection, {
      summary: 'Replace the public fields of numbers',
      ...taken,
      run: (call) =>
        apply(call, (view, request) =>
          plan.update(view, { ...request, fields: fieldsOf(call), how: 'replace' }),
        ),
    }),
    patch(collection, {
      summary: 'Change public fields of numbers',
      ...taken,
      run: (call) =>
        apply(call, (view, request) =>
          plan.update(view, { ...request, fields: mergedFields(call), how: 'merge' }),
        ),
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

/** Fields that are null in the request remove what stands there. */
const mergedFields = (call: CollectionCall): Json => withNulls(fieldsOf(call), call.sent)

const fieldsOf = ({ data: { numbers: _, ...fields } }: CollectionCall): Json => fields

const withNulls = (fields: Json, sent: unknown): Json => {
  const kept: Json = { ...fields }
  for (const [key, value] of Object.entries(isObject(sent) ? sent : {})) {
    if (isPrivateKey(key) || key === 'numbers') continue
    if (value === null) kept[key] = null
    else if (isObject(value)) kept[key] = withNulls(isObject(fields[key]) ? fields[key] : {}, value)
  }
  return kept
}
