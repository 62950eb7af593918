import type { ChangeSet } from '../../../storage/change-set.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Store } from '../../../storage/store.ts'
import { beingUndone, type ImportState } from './rules.ts'

const recordId = 'state'

/** Whether an import runs: every process of the store sees it from its next request on. */
export const createImportState = (store: Store) => {
  const states = createCollection<ImportState, object>(store, {
    kind: 'kazoo_import',
    sortKey: () => '',
    row: () => ({}),
  })

  // The cache of records answers this without a query, also where there has never been an import.
  const read = async (): Promise<Readonly<ImportState> | undefined> =>
    (await states.find(systemScope, recordId))?.doc

  return {
    read,
    isUnderWay: async () => {
      const status = (await read())?.status
      return status === 'under_way' || status === 'being_undone'
    },

    /** What an operator must know when a process opens the store; undefined: nothing. */
    async warning(): Promise<string | undefined> {
      return (await read())?.status === 'being_undone' ? beingUndone : undefined
    },

    async write(set: ChangeSet, doc: ImportState) {
      const before = await states.find(systemScope, recordId)
      if (before) states.replace(set, before, states.revise(before, { doc }))
      else states.insert(set, states.draft(systemScope, { doc, hidden: {} }, recordId))
    },

    /** Adds to the removal of an account that the documents go which an import has only kept. */
    removeWith: (set: ChangeSet, { id }: { id: string }) =>
      void set.run('DELETE FROM kazoo_kept WHERE account_id = $1', [id]),
  }
}

export type ImportStates = ReturnType<typeof createImportState>
