import {
  createResource,
  createSystemResource,
  deleteResource,
  deleteSystemResource,
  getResource,
  getSystemResource,
  listResources,
  listSystemResources,
  updateResource,
  updateSystemResource,
} from '@crosspoint/client'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import type { JsonObject } from '../../lib/json.ts'
import { listOf } from '../../lib/list-source.ts'
import type { IfMatch } from '../../parts/record-form.tsx'

export const kind = 'resource'

/** The carriers of the whole system, or those of the open account. */
export type ScopeName = 'system' | 'account'

/** The requests for carriers, which differ only in their paths. */
export const useScope = (name: ScopeName) => {
  const { accountId: account_id } = usePlace()
  if (name === 'system') {
    return {
      name,
      key: [kind, name],
      apiPath: '/v2/resources',
      screen: 'carriers/system',
      list: listOf(listSystemResources, {}),
      get: (resource_id: string, signal: AbortSignal) =>
        getSystemResource({ ...api, path: { resource_id }, signal }),
      create: (record: JsonObject) =>
        createSystemResource({ ...api, body: { data: { name: '', gateways: [], ...record } } }),
      update: (resource_id: string, data: JsonObject, more: IfMatch) =>
        updateSystemResource({ ...api, ...more, path: { resource_id }, body: { data } }),
      remove: (resource_id: string) => deleteSystemResource({ ...api, path: { resource_id } }),
    } as const
  }
  return {
    name,
    key: [kind, account_id],
    apiPath: `/v2/accounts/${account_id}/resources`,
    screen: 'carriers',
    list: listOf(listResources, { path: { account_id } }),
    get: (resource_id: string, signal: AbortSignal) =>
      getResource({ ...api, path: { account_id, resource_id }, signal }),
    create: (record: JsonObject) =>
      createResource({ ...api, path: { account_id }, body: { data: { name: '', gateways: [], ...record } } }),
    update: (resource_id: string, data: JsonObject, more: IfMatch) =>
      updateResource({ ...api, ...more, path: { account_id, resource_id }, body: { data } }),
    remove: (resource_id: string) => deleteResource({ ...api, path: { account_id, resource_id } }),
  } as const
}

export type Scope = ReturnType<typeof useScope>

export const useCarrier = ({ key: [first, owner], get }: Scope, id: string) =>
  useAnswer([first, owner, id], (signal) => get(id, signal))
