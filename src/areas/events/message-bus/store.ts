import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'

const name = 'message_bus'

/** Up to where the broker has confirmed the feed. */
export const createCursorStore = ({ all, writeUnrecorded }: Store) => ({
  /** 0: nothing yet. */
  async read(): Promise<number> {
    const [row] = await all('SELECT sequence FROM feed_marks WHERE name = $1', [name])
    return Number(row?.sequence ?? 0)
  },

  write: (sequence: number, guard: Statement) =>
    writeUnrecorded([
      {
        sql: `INSERT INTO feed_marks (name, sequence) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE feed_marks.sequence < excluded.sequence`,
        params: [name, sequence],
      },
      guard,
    ]),
})
