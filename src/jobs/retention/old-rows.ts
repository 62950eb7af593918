import { expireRows } from '../../storage/forgetting.ts'
import type { Store } from '../../storage/store.ts'
import type { ScheduledJob } from '../rounds.ts'

interface OldRows {
  /** Of the job. */
  name: string
  everySeconds?: number
  table: string
  /** The primary key. */
  key: readonly string[]
  /** A condition with an index: `at < $1`. */
  where: string
  /** The value of $1; undefined: nothing is deleted now. */
  before(): Promise<number | undefined> | number | undefined
}

/** A job that deletes old rows in transactions of bounded size, hourly by default. */
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
