import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { failure, tooManyRequests } from '../../lib/failure.ts'

// Who may work next, when work costs more than the moment that any request costs. Turns go round by payer, so that
// one with a hundred requests and one with a single request get the same.

type Release = () => void

export interface FairQueue {
  /** Waits for a turn of the payer; whoever gets it gives it back. Fails when too many of the payer wait already. */
  take(payer: string): Promise<Release>
}

interface TurnSettings {
  /** Turns at once, of all together and of one payer. */
  most: number
  mostOfOne: number
}

// Turns that begin in one round of the event loop share so much of it: then it looks for requests again.
const sliceMs = 4
const maxOfOneRound = 8
// Whoever asks for more at once is refused: they would wait for seconds.
const maxWaitingOfOne = 2000

// Each keeps a processor busy, here or at the database: more would only take them from what is asked for a moment.
const longReads = () => Math.min(4, Math.max(2, availableParallelism()))

export const createFairQueue = ({ most, mostOfOne }: TurnSettings): FairQueue => {
  // Its order is the order of turns.
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

/**
 * Reads of one page are many and short. Long ones are few at a time: they share the threads and connections for long
 * reads, where whoever asks next waits for those that have begun. `threads`: so many of the process answer requests.
 */
export const createReadQueue = (threads = 1) => {
  const long = Math.max(1, Math.floor(longReads() / threads))
  return {
    short: createFairQueue({ most: 24, mostOfOne: 12 }),
    long: createFairQueue({ most: long, mostOfOne: Math.ceil(long / 2) }),
  }
}
