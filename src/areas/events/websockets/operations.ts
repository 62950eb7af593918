import type { Lease } from '../../../jobs/leases.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError } from '../../../lib/log.ts'
import type { Statement } from '../../../storage/db.ts'
import type { DepsOf } from '../../area.ts'
import { createWebSocketStore, type OpenKey, type OpenPage, type OpenRow } from './store.ts'

export const openJson = ({ id, accountId, openedAt, source, destination, said }: OpenRow) => ({
  websocket_session_id: id,
  account_id: accountId,
  timestamp: gregorianOfUnix(openedAt / 1000),
  source,
  destination,
  ...said,
})

export type Directory = ReturnType<typeof createDirectory>

/** Open connections of all processes. Each process stores its own under a lease; rows of dead processes are hidden and removed. */
export const createDirectory = ({ store, leases, log }: DepsOf<'store' | 'leases' | 'log'>) => {
  const rows = createWebSocketStore(store)
  const name = `websockets/${randomHex(8)}`
  /** Pending rows, by connection and account. */
  let changed = new Map<string, Statement>()
  let lease: Lease | undefined
  let writing = Promise.resolve()
  let isWaiting = false

  const write = async () => {
    isWaiting = false
    const batch = changed
    changed = new Map()
    if (batch.size === 0) return
    try {
      if (!lease || lease.lost.aborted) lease = await leases.take(name)
      await store.writeUnrecorded([...batch.values()])
    } catch (error) {
      log.write('warn', 'open WebSockets could not be recorded', { error: describeError(error) })
      // Newer changes of the same connection win.
      changed = new Map([...batch, ...changed])
    }
  }

  /** Resolves when it is written. Changes during a write become one further write. */
  const put = ({ accountId, id }: OpenKey, statement: Statement) => {
    changed.set(`${accountId}/${id}`, statement)
    if (!isWaiting) {
      isWaiting = true
      writing = writing.then(write)
    }
    return writing
  }

  const living = async () => {
    const known = await rows.leases()
    const held = await Promise.all(known.map((one) => leases.isHeld(one)))
    return Map.groupBy(known, (_one, index) => held[index])
  }

  const tidy: ScheduledJob = {
    name: 'websockets',
    everySeconds: 60,
    async run() {
      for (const dead of (await living()).get(false) ?? []) await rows.removeOf(dead)
    },
  }

  return {
    tidy,

    note: (row: Omit<OpenRow, 'lease'>) => put(row, rows.put({ ...row, lease: name })),

    forget: (key: OpenKey) => put(key, rows.remove(key)),

    page: async (question: OpenPage) => rows.page(question, (await living()).get(true) ?? []),

    async get(key: OpenKey): Promise<OpenRow> {
      const row = await rows.find(key)
      if (row && (await leases.isHeld(row.lease))) return row
      throw failure(badIdentifier, { cause: key.id })
    },

    async stop() {
      await writing
      if (changed.size > 0) await write()
      if (lease) await rows.removeOf(name)
    },
  }
}
