import { joinProblems, type Problems } from '../../../lib/failure.ts'
import { createCollection } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { smartPbxFeatures } from '../../accounts/users/rules.ts'
import { records } from '../../records.ts'
import { hasMusicOnHold } from '../devices/rules.ts'
import { type GroupDoc, groupShape } from './schema.ts'

type GroupRecord = StoredRecord<GroupDoc, object>

export type Groups = ReturnType<typeof createGroups>

export const createGroups = (store: Store) => {
  const collection = createCollection<GroupDoc, object>(store, {
    kind: 'group',
    sortKey: (doc) => sortKeyOf(doc.name),
    row: (doc) => ({
      name: doc.name,
      endpoints: Object.keys(doc.endpoints).length,
      features: [...smartPbxFeatures(doc), ...(hasMusicOnHold(doc) ? ['music_on_hold'] : [])],
      flags: doc.flags ?? [],
    }),
  })

  /** Whether a group contains another one, at any depth. */
  const contains = async (accountId: string, outerId: string, id: string): Promise<boolean> => {
    const seen = new Set([outerId])
    // The loop also visits items that it adds to the set.
    for (const next of seen) {
      if (next === id) return true
      const group = await collection.find(accountId, next)
      for (const [inner, { type }] of Object.entries(group?.doc.endpoints ?? {}))
        if (type === 'group') seen.add(inner)
    }
    return false
  }

  /** Endpoints that were deleted since may stay in the group. */
  const endpointProblems = async (
    accountId: string,
    [id, { type }]: [id: string, endpoint: GroupDoc['endpoints'][string]],
    before: GroupRecord | undefined,
  ): Promise<Problems> => {
    const path = `endpoints.${id}`
    const isNew = before?.doc.endpoints[id]?.type !== type
    if (isNew && !(await store.records.find(accountId, type, id)))
      return { [path]: { not_found: { message: `The account has no such ${type}`, cause: id } } }
    if (before && type === 'group' && (await contains(accountId, id, before.id)))
      return { [path]: { circular: { message: 'The group cannot contain itself', cause: id } } }
    return {}
  }

  return records(store, {
    collection,
    shape: groupShape,
    async problems({ account, data, before }) {
      const { endpoints = {} }: Partial<GroupDoc> = data
      const found = Object.entries(endpoints).map((one) => endpointProblems(account.id, one, before))
      return joinProblems(...(await Promise.all(found)))
    },
    adopted: ({ id, doc }) => ({ doc: { name: id, endpoints: {}, ...doc }, hidden: {} }),
  })
}
