import { startAuthor } from '../../../auth/identity.ts'
import { failure, importInProgress } from '../../../lib/failure.ts'
import { on } from '../../../storage/signal.ts'
import type { Gate } from '../../../storage/store.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { createImportState, type ImportStates } from './store.ts'

export type { ImportStates }

/** A start may add missing records during an import. */
const closedDuring =
  (states: ImportStates): Gate =>
  async (sets, write) => {
    const isStart = sets.every(({ author }) => author === startAuthor)
    if (!isStart && (await states.isUnderWay())) throw failure(importInProgress, {})
    await write(sets)
  }

/** While an import of `import-kazoo/` runs, nothing else is written. It is the first area of the list, so that its gate decides first. */
export const importsArea = area({
  name: 'imports',
  kinds: {
    kazoo_document: 'documents that an import from Kazoo keeps',
    kazoo_import: 'progress of an import from Kazoo: one entry for the records of a page',
  },
  create({ store }) {
    const states = createImportState(store)
    return {
      offers: states,
      gates: [closedDuring(states)],
      hears: [on(accountDeleted, states.removeWith)],
    }
  },
})
