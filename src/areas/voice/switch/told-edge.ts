import { setTimeout as sleep } from 'node:timers/promises'
import { type Edge, forEachFew } from '../../../switch/kamailio/edges.ts'
import { everyRealm, everyRecord } from './rules.ts'

/** The table of an edge with the generation of each realm. */
const table = 'generations'

// Changes within this time are sent together: a bulk import is a few requests.
const paceMs = 400
const maxConcurrentRequests = 4
// If more realms change at once, everything is stale.
const maxRealms = 200
// If more records change at once or while the edge is away, no earlier answer is used without the server.
const maxRecords = 5000

interface Heard {
  reached(edge: Edge): void
  failed(edge: Edge, error: unknown): void
}

export type EdgeNotifier = ReturnType<typeof createEdgeNotifier>

/**
 * Sends stale keys to one edge: all when the edge is reached first, later by realm. A slow or unreachable edge does not delay
 * others.
 */
export const createEdgeNotifier = (edge: Edge, heard: Heard) => {
  const pending = new Map<string, number>()
  // Kept until the edge has them.
  const revoked = new Map<string, number>()
  // The first notification: something may have been missed.
  let isBehind = true
  let newest = 0
  let running: Promise<void> | undefined
  let isEnded = false

  const tell = async (name: string, generation: number) => {
    await edge.ask('htable.seti', [table, name, generation])
  }

  const revoke = ([record, generation]: [string, number]) =>
    tell(record, generation).then(() => {
      if (revoked.get(record) === generation) revoked.delete(record)
    })

  const tellAll = async () => {
    const realms = [...pending]
    pending.clear()
    // Records that are added during the send follow later, after their realms.
    const records = [...revoked]
    // If all records are revoked, edges have to fetch answers about unchanged realms again, too.
    const isForAll = isBehind || realms.length > maxRealms || revoked.has(everyRecord)
    const stale: [string, number][] = isForAll ? [[everyRealm, newest]] : realms
    await forEachFew(stale, maxConcurrentRequests, ([realm, generation]) => tell(realm, generation))
    await forEachFew(records, maxConcurrentRequests, revoke)
    isBehind = false
  }

  /** Whether the edge was reached. */
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work()
      heard.reached(edge)
      return true
    } catch (error) {
      isBehind = true
      if (!isEnded) heard.failed(edge, error)
      return false
    }
  }

  const run = async () => {
    while (!isEnded && (isBehind || pending.size + revoked.size > 0)) {
      if (!(await attempt(tellAll))) return
      await sleep(paceMs, undefined, { ref: false })
    }
  }

  const wake = () => {
    running ??= run().finally(() => {
      running = undefined
    })
  }

  return {
    edge,
    isReached: () => !isBehind,
    /** It has all changes. */
    isCurrent: () => !isBehind && pending.size + revoked.size === 0,

    /** Answers of realms are stale as of a generation. Those that depend on a revoked record are void. */
    stale(realms: Iterable<string>, generation: number, revokedRecords: Iterable<[string, number]> = []) {
      newest = generation
      for (const realm of realms) pending.set(realm, generation)
      for (const [record, at] of revokedRecords) revoked.set(record, at)
      if (revoked.size > maxRecords) {
        revoked.clear()
        revoked.set(everyRecord, generation)
      }
      wake()
    },

    /** Retries after a failure, and notices an edge that went away. */
    async look() {
      if (isBehind || pending.size > 0) return wake()
      await attempt(() => edge.ask('core.version', []))
    },

    async end() {
      isEnded = true
      await running
    },
  }
}
