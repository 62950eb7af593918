import { type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { modulesOf } from './rules.ts'
import type { CallflowDoc } from './schema.ts'

export type CallflowRecord = StoredRecord<CallflowDoc, object>

const numberClaim = (accountId: string, value: string): Claim => ({
  scope: accountId,
  name: 'callflow_number',
  value,
})

const patternClaim = 'callflow_pattern'

// Not a name that must be unique: those that have patterns are found by it.
const claims = ({ accountId, id, doc }: CallflowRecord): StoredClaim[] => [
  ...(doc.numbers ?? []).map((number) => ({ ...numberClaim(accountId, number), orElse: conflict })),
  ...(doc.patterns?.length ? [{ scope: accountId, name: patternClaim, value: id, orElse: conflict }] : []),
]

const atOnce = 500

export const createCallflowStore = (store: Store) => {
  const { records } = store
  const collection = createCollection<CallflowDoc, object>(store, {
    kind: 'callflow',
    sortKey: (doc) => sortKeyOf(doc.name ?? doc.numbers?.[0]),
    ownerId: (doc) => doc.owner_id ?? '',
    row: (doc) => ({
      name: doc.name,
      type: doc.type,
      numbers: doc.numbers ?? [],
      patterns: doc.patterns ?? [],
      featurecode: doc.featurecode ?? false,
      owner_id: doc.owner_id,
      group_id: doc.group_id,
      modules: modulesOf(doc.flow),
      flags: doc.flags ?? [],
    }),
    claims,
  })

  return {
    ...collection,

    /** The callflow that lists a number. */
    byNumber: (accountId: string, number: string) => collection.holder(numberClaim(accountId, number)),

    /** The ids of those that have patterns, in the order in which they were made. */
    async withPatterns(accountId: string): Promise<string[]> {
      const ids: string[] = []
      for (;;) {
        const found = await records.claimants(accountId, patternClaim, '', atOnce, ids.at(-1))
        ids.push(...found.map(({ id }) => id))
        if (found.length < atOnce) return ids
      }
    },
  }
}
