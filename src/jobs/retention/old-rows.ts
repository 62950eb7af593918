import { expireRows } from '../../storage/forgetting.ts'
import type { Store } from '../../storage/store.ts'
import type { ScheduledJob } from '../rounds.ts'

interface OldRows {
  /** Of the job. */
  name: string
  everySeconds?: number
  table: string
  /** The columns of its primary key. */
  key: readonly string[]
  /** Which rows are old, by an index: `at < $1`. */
  where: string
  /** What $1 is now, in the unit of the column; undefined: nothing is deleted now. */
  before(): Promise<number | undefined> | number | undefined
}

/** A job that deletes old rows in transactions of bounded size; once an hour unless it says otherwise. */
export const deleteOldRows = (
  store: Pick<Store, 'all' | 'writeUnrecorded'>,
  { name, everySeconds = 3600, before, ...rows }: OldRows,
): ScheduledJob => ({
  name,
  everySeconds,
  async run(signal) {
    const moment = await before()
    if (moment !== undefined) await expireRows(store, { ...rows, params: [moment] }, signal)
  },
})
