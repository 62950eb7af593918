import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'

/** The position of a reader of the feed; each kind of reader has one. */
export const createMark = ({ all }: Pick<Store, 'all'>, name: string) => ({
  async read(): Promise<number> {
    const [row] = await all('SELECT sequence FROM feed_marks WHERE name = $1', [name])
    return Number(row?.sequence ?? 0)
  },

  /** It never decreases. */
  moveTo: (sequence: number): Statement => ({
    sql: `INSERT INTO feed_marks (name, sequence) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE feed_marks.sequence < excluded.sequence`,
    params: [name, sequence],
  }),
})
