// The order of key derivations. Strangers can request them, so frequent requests gain nothing: the network and
// account with the least recent use comes first. Callers who signed in before get every second turn, however
// many strangers wait.
import type { Clock } from '../../lib/clock.ts'
import { evictOldest } from '../../lib/forget-oldest.ts'

/** Signed-in users, known networks, others, and background work. The first two are trusted. */
export type Lane = 'member' | 'known' | 'stranger' | 'background'

type QueueGroup = 'trusted' | 'stranger' | 'background'

const groupOf = (lane: Lane): QueueGroup => (lane === 'member' || lane === 'known' ? 'trusted' : lane)

export interface Caller {
  /** Empty: the server itself. */
  network: string
  /** The account that the caller wants to sign in to, or is signed in to. */
  accountId: string
  lane: Lane
}

interface QueueBounds {
  /** Waiting at once, of a network or for an account. */
  mostOfEach: number
  most: number
}

interface Waiting<Job> extends Caller {
  job: Job
}

const halfLifeMs = 10_000
const maxServedNetworks = 20_000
/** Background work gets one turn in this number, and all unused turns. */
const backgroundEvery = 8

const compared = (one: readonly number[], other: readonly number[]) =>
  one.map((value, index) => value - (other[index] ?? 0)).find((difference) => difference !== 0) ?? 0

/** The first entry with the smallest rank. */
const firstBy = <T>(entries: readonly T[], rankOf: (entry: T) => readonly number[]): T | undefined => {
  let best: { entry: T; rank: readonly number[] } | undefined
  for (const entry of entries) {
    const rank = rankOf(entry)
    if (!best || compared(rank, best.rank) < 0) best = { entry, rank }
  }
  return best?.entry
}

export const createHashQueue = <Job>(clock: Clock) => {
  let waiting: Waiting<Job>[] = []
  let taken = 0
  const served = new Map<string, { count: number; at: number }>()

  const loadOf = (key: string) => {
    const known = served.get(key)
    if (!known) return 0
    return known.count * 2 ** (-Math.max(0, clock.now() - known.at) / halfLifeMs)
  }

  const countServed = (key: string) => {
    const count = loadOf(key) + 1
    served.delete(key)
    served.set(key, { count, at: clock.now() })
    evictOldest(served, maxServedNetworks)
  }

  const networkKey = ({ network }: Caller) => `network ${network}`
  const accountKey = ({ accountId }: Caller) => `account ${accountId}`

  /** The known are served by their network: strangers who ask for an account do not hold its people up. */
  const rankOf = (caller: Caller) => {
    const [network, account] = [loadOf(networkKey(caller)), loadOf(accountKey(caller))]
    if (caller.lane === 'known') return [network, account]
    return [Math.max(network, account), Math.min(network, account)]
  }

  const first = (group: QueueGroup): Waiting<Job> | undefined => {
    const entries = waiting.filter(({ lane }) => groupOf(lane) === group)
    // Background work needs no fairness: what began first ends first, and its result is used.
    return group === 'background' ? entries[0] : firstBy(entries, rankOf)
  }

  /** The entry to remove if there are too many: the last one of the network with the most entries. */
  const worst = (entries: readonly Waiting<Job>[]) => {
    const counts = Map.groupBy(entries, ({ network }) => network)
    return firstBy(entries.toReversed(), (entry) => [
      groupOf(entry.lane) === 'trusted' ? 0 : -1,
      -(counts.get(entry.network)?.length ?? 0),
      -loadOf(networkKey(entry)),
    ])
  }

  const overflow = (caller: Caller, { mostOfEach, most }: QueueBounds) => {
    const peers = waiting.filter(({ lane }) => groupOf(lane) === groupOf(caller.lane))
    const ofNetwork = peers.filter(({ network }) => network === caller.network)
    if (ofNetwork.length > mostOfEach) return ofNetwork
    const ofAccount = peers.filter(({ accountId }) => accountId === caller.accountId)
    if (ofAccount.length > mostOfEach) return ofAccount
    const foreground = waiting.filter(({ lane }) => lane !== 'background')
    return foreground.length > most ? foreground : []
  }

  return {
    get size() {
      return waiting.length
    },

    /** Lets a job wait. Answers with the one that has to go because too many wait: it may be this one. */
    add(caller: Caller, job: Job, bounds: QueueBounds): Job | undefined {
      const { network, accountId, lane } = caller
      waiting.push({ network, accountId, lane, job })
      if (lane === 'background') return undefined
      const surplus = worst(overflow(caller, bounds))
      if (!surplus) return undefined
      waiting = waiting.filter((entry) => entry !== surplus)
      return surplus.job
    },

    remove(isOne: (lane: Lane) => boolean): Job[] {
      const removed = waiting.filter(({ lane }) => isOne(lane))
      waiting = waiting.filter(({ lane }) => !isOne(lane))
      return removed.map(({ job }) => job)
    },

    next(): Job | undefined {
      taken += 1
      const order: QueueGroup[] = taken % 2 === 0 ? ['trusted', 'stranger'] : ['stranger', 'trusted']
      if (taken % backgroundEvery === 0) order.unshift('background')
      else order.push('background')
      const [entry] = order
        .values()
        .map(first)
        .filter((found) => found !== undefined)
      if (!entry) return undefined
      waiting = waiting.filter((other) => other !== entry)
      countServed(networkKey(entry))
      countServed(accountKey(entry))
      return entry.job
    },
  }
}
