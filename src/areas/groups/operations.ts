import { joinProblems, type Problems } from '../../lib/failure.ts'
import { memberOf } from '../../lib/member.ts'
import { createCollection } from '../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { records } from '../records.ts'
import { smartPbxFeatures } from '../users/rules.ts'
import { circleThrough, groupsIn, missingEndpoint, newEndpoints } from './rules.ts'
import { type GroupDoc, groupShape } from './schema.ts'

type GroupRecord = StoredRecord<GroupDoc, object>

export type Groups = ReturnType<typeof createGroups>

/** Users, devices and groups that are rung together. */
export const createGroups = (store: Store) => {
  const collection = createCollection<GroupDoc, object>(store, {
    kind: 'group',
    sortKey: (doc) => sortKeyOf(doc.name),
    row: (doc) => ({
      name: doc.name,
      endpoints: Object.keys(doc.endpoints).length,
      features: [
        ...smartPbxFeatures(doc),
        ...(memberOf(doc.music_on_hold, 'media_id') ? ['music_on_hold'] : []),
      ],
      flags: doc.flags ?? [],
    }),
  })

  const endpointProblems = async (
    accountId: string,
    doc: Partial<GroupDoc>,
    before: GroupRecord | undefined,
  ): Promise<Problems> => {
    const found = await Promise.all(
      newEndpoints(doc, before?.doc).map(async ([id, endpoint]) =>
        (await store.records.find(accountId, endpoint.type, id)) ? {} : missingEndpoint(id, endpoint),
      ),
    )
    return joinProblems(...found)
  }

  /** Whether a group is among another one, or among those in it. */
  const contains = async (accountId: string, outerId: string, id: string): Promise<boolean> => {
    const seen = new Set<string>()
    const waiting = [outerId]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next === id) return true
      if (seen.has(next)) continue
      seen.add(next)
      const group = await collection.find(accountId, next)
      waiting.push(...(group ? groupsIn(group.doc) : []))
    }
    return false
  }

  const circleProblems = async (
    accountId: string,
    doc: Partial<GroupDoc>,
    before: GroupRecord | undefined,
  ): Promise<Problems> => {
    if (!before) return {}
    const found = await Promise.all(
      groupsIn(doc).map(async (id) => ((await contains(accountId, id, before.id)) ? circleThrough(id) : {})),
    )
    return joinProblems(...found)
  }

  return records(store, {
    collection,
    shape: groupShape,
    problems: async ({ account: { id }, data, before }) =>
      joinProblems(await endpointProblems(id, data, before), await circleProblems(id, data, before)),
    adopted: ({ id, doc }) => ({ doc: { name: id, endpoints: {}, ...doc }, hidden: {} }),
  })
}
