import type { Lease } from '../../../jobs/leases.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError } from '../../../lib/log.ts'
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
  const changed = new Map<string, { key: OpenKey; row: OpenRow | undefined }>()
  let lease: Lease | undefined
  let writing = Promise.resolve()
  let isWaiting = false

  const assertLease = async () => {
    if (lease && !lease.lost.aborted) return
    lease = await leases.take(name)
  }

  const write = async () => {
    isWaiting = false
    const batch = [...changed.values()]
    changed.clear()
    if (batch.length === 0) return
    try {
      await assertLease()
      await rows.write(batch.map(({ key, row }) => (row ? rows.put(row) : rows.remove(key))))
    } catch (error) {
      log.write('warn', 'open WebSockets could not be written down', { error: describeError(error) })
      // Newer changes of the same connection win.
      for (const one of batch) {
        const at = `${one.key.accountId}/${one.key.id}`
        if (!changed.has(at)) changed.set(at, one)
      }
    }
  }

  /** Changes during a write become one further write. */
  const written = () => {
    if (!isWaiting) {
      isWaiting = true
      writing = writing.then(write)
    }
    return writing
  }

  const living = async () => {
    const known = await rows.leases()
    const held = await Promise.all(known.map((one) => leases.isHeld(one)))
    return {
      alive: known.filter((_one, index) => held[index]),
      dead: known.filter((_one, index) => !held[index]),
    }
  }

  const tidy: ScheduledJob = {
    name: 'websockets',
    everySeconds: 60,
    async run() {
      const { dead } = await living()
      for (const one of dead) await rows.removeOf(one)
    },
  }

  return {
    tidy,

    /** Resolves when the row is stored. */
    note(row: Omit<OpenRow, 'lease'>) {
      changed.set(`${row.accountId}/${row.id}`, { key: row, row: { ...row, lease: name } })
      return written()
    },

    forget(key: OpenKey) {
      changed.set(`${key.accountId}/${key.id}`, { key, row: undefined })
      return written()
    },

    async page(question: OpenPage) {
      return rows.page(question, (await living()).alive)
    },

    async get(key: OpenKey): Promise<OpenRow> {
      const row = await rows.find(key)
      if (row && (await leases.isHeld(row.lease))) return row
      throw failure(badIdentifier, { cause: key.id })
    },

    async stop() {
      await written()
      if (lease) await rows.removeOf(name)
    },
  }
}
