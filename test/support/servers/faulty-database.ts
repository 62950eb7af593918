import { datastoreUnreachable, failure } from '../../../src/lib/failure.ts'
import type { Database, Write } from '../../../src/storage/db.ts'

/**
 * `refused`: nothing happens. `unheard`: it happens without an answer, as when a connection breaks over a
 * COMMIT.
 */
export type Fault = 'refused' | 'unheard' | undefined

const unreachable = () => failure(datastoreUnreachable, {}, new Error('a fault made on purpose'))

export type Faults = ReturnType<typeof createFaults>

/** A database with faults on demand of a test. */
export const createFaults = () => {
  const nothing = (): Fault => undefined
  const state = {
    /** Decides the fate of each write; a promise delays the write. */
    onWrite: nothing as (write: Write) => Fault | Promise<Fault>,
    onRead: nothing as (sql: string) => Fault,
  }

  const read = <A extends [sql: string, ...rest: unknown[]], R>(perform: (...given: A) => Promise<R>) =>
    (async (...given: A) => {
      if (state.onRead(given[0])) throw unreachable()
      return perform(...given)
    }) as typeof perform

  return {
    state,
    /** All is well again. */
    mend() {
      state.onWrite = nothing
      state.onRead = nothing
    },
    over: (db: Database): Database => ({
      ...db,
      all: read(db.all) as Database['all'],
      async write(write) {
        const fault = await state.onWrite(write)
        if (fault !== 'refused') await db.write(write)
        if (fault) throw unreachable()
      },
    }),
  }
}

/** Whether a write has a statement like this. */
export const says = (write: Write, part: string) => write.statements.some(({ sql }) => sql.includes(part))
