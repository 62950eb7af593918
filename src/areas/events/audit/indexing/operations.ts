import type { ScheduledJob } from '../../../../jobs/rounds.ts'
import type { Store } from '../../../../storage/store.ts'
import { createAuditIndexStore } from './store.ts'

// So many rows are indexed by one write, and as many may wait: what is not in the index is looked through.
const atOnce = 1000

/** Keeps the index of records and actors behind the entries. */
export const createAuditIndexing = ({ store }: { store: Store }) => {
  const rows = createAuditIndexStore(store)

  const nextEnd = async () => {
    const begin = await rows.indexed()
    const end = await rows.endOf(begin, atOnce)
    return end === undefined ? undefined : { begin, end }
  }

  const round: ScheduledJob = {
    name: 'audit index',
    everySeconds: 2,
    due: async () => (await nextEnd()) !== undefined,
    async run(signal, guard) {
      for (let next = await nextEnd(); next && !signal.aborted; next = await nextEnd())
        await rows.add(next.begin, next.end, guard)
    },
  }

  return { round }
}
