import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { failure, tooManyRequests } from '../../lib/failure.ts'

// A fair queue for work that is longer than a usual request: one task for each payer in turn.

type Release = () => void

export interface FairQueue {
  /** Waits for a slot; the caller must release it. Fails if too many tasks of the payer wait. */
  take(payer: string): Promise<Release>
}

interface TurnSettings {
  most: number
  mostOfOne: number
}

// Tasks that start in one round of the event loop share this time; then it serves requests again.
const sliceMs = 4
const maxOfOneRound = 8
const maxWaitingOfOne = 2000

// Each keeps a processor busy, here or at the database.
const longReads = () => Math.min(4, Math.max(2, availableParallelism()))

export const createFairQueue = ({ most, mostOfOne }: TurnSettings): FairQueue => {
  // In the order of turns.
  const waiting = new Map<string, (() => void)[]>()
  const running = new Map<string, number>()
  let atWork = 0
  let scheduled = 0
  let isRoundAhead = false
  let roundBegan = 0

  const mayWork = (payer: string) => (running.get(payer) ?? 0) < mostOfOne

  const takeNext = (): (() => void) | undefined => {
    for (const [payer, queue] of waiting) {
      if (!mayWork(payer)) continue
      const begin = queue.shift()
      waiting.delete(payer)
      if (queue.length > 0) waiting.set(payer, queue)
      return begin
    }
    return undefined
  }

  const lookAgain = () => {
    const wanted = Math.min(waiting.size === 0 ? 0 : maxOfOneRound, most - atWork)
    while (scheduled < wanted) {
      const isFirst = !isRoundAhead
      isRoundAhead = true
      scheduled += 1
      setImmediate(look, isFirst)
    }
  }

  const look = (isFirst: boolean) => {
    scheduled -= 1
    if (isFirst) {
      isRoundAhead = false
      roundBegan = performance.now()
    }
    if (atWork >= most) return
    if (isFirst || performance.now() - roundBegan < sliceMs) takeNext()?.()
    else lookAgain()
  }

  const begin = (payer: string): Release => {
    atWork += 1
    running.set(payer, (running.get(payer) ?? 0) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      atWork -= 1
      const left = (running.get(payer) ?? 1) - 1
      if (left > 0) running.set(payer, left)
      else running.delete(payer)
      lookAgain()
    }
  }

  return {
    take: (payer) =>
      new Promise((resolve, reject) => {
        const queue = waiting.get(payer) ?? []
        if (queue.length >= maxWaitingOfOne) return reject(failure(tooManyRequests, { retryAfterSeconds: 1 }))
        queue.push(() => resolve(begin(payer)))
        waiting.set(payer, queue)
        lookAgain()
      }),
  }
}

/** Reads of one page are many and short; long reads run a few at a time. `threads` share the long slots. */
export const createReadQueue = (threads = 1) => {
  const long = Math.max(1, Math.floor(longReads() / threads))
  return {
    short: createFairQueue({ most: 24, mostOfOne: 12 }),
    long: createFairQueue({ most: long, mostOfOne: Math.ceil(long / 2) }),
  }
}
