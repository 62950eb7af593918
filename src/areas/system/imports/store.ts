import type { ChangeSet } from '../../../storage/change-set.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Store } from '../../../storage/store.ts'
import { beingUndone, type ImportState } from './rules.ts'

const recordId = 'state'

export const createImportState = (store: Store) => {
  const states = createCollection<ImportState, object>(store, {
    kind: 'kazoo_import',
    sortKey: () => '',
    row: () => ({}),
  })

  // Cached, also if there has never been an import.
  const read = async (): Promise<Readonly<ImportState> | undefined> =>
    (await states.find(systemScope, recordId))?.doc

  return {
    read,
    isUnderWay: async () => {
      const status = (await read())?.status
      return status === 'under_way' || status === 'being_undone'
    },

    /** Undefined: nothing to report. */
    async warning(): Promise<string | undefined> {
      return (await read())?.status === 'being_undone' ? beingUndone : undefined
    },

    async write(set: ChangeSet, doc: ImportState) {
      const before = await states.find(systemScope, recordId)
      if (before) states.replace(set, before, states.revise(before, { doc }))
      else states.insert(set, states.draft(systemScope, { doc, hidden: {} }, recordId))
    },

    /** Deletes the preserved documents of a deleted account. */
    removeWith: (set: ChangeSet, { id }: { id: string }) =>
      void set.run('DELETE FROM kazoo_kept WHERE account_id = $1', [id]),
  }
}

export type ImportStates = ReturnType<typeof createImportState>
