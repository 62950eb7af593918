import { area } from '../../src/areas/area.ts'
import { startAuthor } from '../../src/first-start.ts'
import { failure } from '../../src/lib/failure.ts'
import type { Gate } from '../../src/storage/store.ts'
import { createImportState, type ImportStates } from './state.ts'

/** What a start finds missing it may add: nobody has asked for it. */
const closedDuring =
  (states: ImportStates): Gate =>
  async (sets, write) => {
    const isStart = sets.every(({ author }) => author === startAuthor)
    if (!isStart && (await states.isUnderWay())) throw failure('import_under_way', {})
    await write(sets)
  }

/** Nothing but an import writes while it is under way. It stands above all, so that nothing else is judged before. */
export const importHoldArea = area({
  name: 'importHold',
  create({ store }) {
    const states = createImportState(store)
    return { offers: states, gates: [closedDuring(states)] }
  },
})
