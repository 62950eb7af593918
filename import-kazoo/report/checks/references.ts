import { recordsNamedIn } from '../../../src/areas/callflows/rules.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'

/** What a record names: a record of a kind, of an account. */
export interface Reference {
  field: string
  kind: string
  accountId: string
  id: string
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

const ownerIn = (accountId: string, { owner_id: owner }: Json): Reference[] =>
  isId(owner) ? [{ field: 'owner_id', kind: 'user', accountId, id: owner }] : []

const inFlow = (accountId: string, { flow }: Json): Reference[] =>
  isObject(flow)
    ? recordsNamedIn(flow).flatMap(({ kind, id }) =>
        isId(id) ? [{ field: 'flow', kind, accountId, id }] : [],
      )
    : []

const inGroup = (accountId: string, { endpoints }: Json): Reference[] =>
  Object.entries(isObject(endpoints) ? endpoints : {}).flatMap(([id, endpoint]) =>
    isObject(endpoint) && typeof endpoint.type === 'string' && isId(id)
      ? [{ field: `endpoints.${id}`, kind: endpoint.type, accountId, id }]
      : [],
  )

const inServices = ({ plans }: Json): Reference[] =>
  Object.entries(isObject(plans) ? plans : {}).flatMap(([id, assigned]) =>
    isObject(assigned) && isId(assigned.vendor_id)
      ? [{ field: `plans.${id}`, kind: 'service_plan', accountId: assigned.vendor_id, id }]
      : [],
  )

/** What a record names of other records. */
export const referencesIn = (kind: string, accountId: string, doc: Json): Reference[] => [
  ...ownerIn(accountId, doc),
  ...(kind === 'callflow' ? inFlow(accountId, doc) : []),
  ...(kind === 'group' ? inGroup(accountId, doc) : []),
  ...(kind === 'services' ? inServices(doc) : []),
]
