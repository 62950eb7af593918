import type { ChangeSet } from '../../src/storage/change-set.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import { createCollection } from '../../src/storage/collection.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Narrowing } from '../chapters/chapter.ts'

export interface ImportState {
  /**
   * While it is under way, or being undone, nobody else writes; what was finished is not begun again. Once it is being
   * undone some of what had come is gone, and nothing can be done but completing that.
   */
  status: 'under_way' | 'being_undone' | 'finished'
  /** In words, without credentials. */
  source: string
  /** Gregorian seconds. */
  begun: number
  finished?: number
  /** What of the source is left out, as it was said when it began. */
  narrowing?: Narrowing
}

const recordId = 'state'

/** What half of an undone import leads to. */
export const beingUndone =
  'an import from Kazoo is being undone, and nobody writes until it is: crosspoint import kazoo --undo completes it'

/** Whether records are being taken over from Kazoo: every process of the store sees it from its next request on. */
export const createImportState = (store: Store) => {
  const states = createCollection<ImportState, object>(store, {
    kind: 'kazoo_import',
    sortKey: () => '',
    row: () => ({}),
  })

  const read = async (): Promise<Readonly<ImportState> | undefined> =>
    (await states.find(systemScope, recordId))?.doc

  return {
    read,
    isUnderWay: async () => {
      const status = (await read())?.status
      return status === 'under_way' || status === 'being_undone'
    },

    /** What whoever opens the store has to know; undefined where there is nothing. */
    async warning(): Promise<string | undefined> {
      return (await read())?.status === 'being_undone' ? beingUndone : undefined
    },

    async write(set: ChangeSet, doc: ImportState) {
      const before = await states.find(systemScope, recordId)
      if (before) states.replace(set, before, states.revise(before, { doc }))
      else states.insert(set, states.draft(systemScope, { doc, hidden: {} }, recordId))
    },
  }
}

export type ImportStates = ReturnType<typeof createImportState>
