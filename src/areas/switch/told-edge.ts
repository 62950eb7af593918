import { setTimeout as sleep } from 'node:timers/promises'
import { type Edge, forEachFew } from '../../switch/kamailio/edges.ts'
import { everyRealm } from './rules.ts'

/** Where an edge keeps what it was told of each realm. */
const table = 'generations'

// What becomes stale within this time is told together: a bulk import is a few words.
const paceMs = 400
const atOnce = 4
// Of so many realms at once nothing is told but that everything is stale.
const mostRealms = 200

interface Heard {
  reached(edge: Edge): void
  failed(edge: Edge, error: unknown): void
}

export type ToldEdge = ReturnType<typeof createToldEdge>

/**
 * One edge that is told what is stale. Whatever is known of it before it is reached counts for nothing: it is told that
 * everything is stale, and from then on realm by realm. One that is slow or away keeps no other one waiting.
 */
export const createToldEdge = (edge: Edge, heard: Heard) => {
  const pending = new Map<string, number>()
  // The first word: something may have been missed.
  let isBehind = true
  let newest = 0
  let running: Promise<void> | undefined
  let isEnded = false

  const tell = (realm: string, generation: number) => edge.ask('htable.seti', [table, realm, generation])

  const tellAll = async () => {
    const realms = [...pending]
    pending.clear()
    if (isBehind || realms.length > mostRealms) await tell(everyRealm, newest)
    else await forEachFew(realms, atOnce, async ([realm, generation]) => void (await tell(realm, generation)))
    isBehind = false
  }

  const run = async () => {
    while (!isEnded && (isBehind || pending.size > 0)) {
      try {
        await tellAll()
        heard.reached(edge)
      } catch (error) {
        isBehind = true
        if (!isEnded) heard.failed(edge, error)
        return
      }
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

    /** Of realms, as of a place in the order of what was committed. */
    stale(realms: Iterable<string>, generation: number) {
      newest = generation
      for (const realm of realms) pending.set(realm, generation)
      wake()
    },

    /** Tries again what has failed, and learns of an edge that went away meanwhile. */
    async look() {
      if (isBehind || pending.size > 0) return wake()
      try {
        await edge.ask('core.version', [])
        heard.reached(edge)
      } catch (error) {
        isBehind = true
        if (!isEnded) heard.failed(edge, error)
      }
    },

    /** Nothing more is told. */
    async end() {
      isEnded = true
      await running
    },
  }
}
