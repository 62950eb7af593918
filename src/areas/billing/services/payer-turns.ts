import { createKeyedQueue } from '../../../lib/one-at-a-time.ts'

export type TurnOutcome = 'done' | { error: unknown }

interface Seat<Work> {
  work: Work
  settle(outcome: TurnOutcome): void
}

// Large enough to share the cost of a commit, small enough that the first does not wait long.
const maxTogether = 32

/**
 * Runs work for the same accounts one after the other. Work that waits for the same accounts runs together, in its
 * order. Between processes the stored turn decides. `run` returns an outcome for each.
 */
export const createPayerLock = <Work>(
  run: (ids: readonly string[], works: readonly Work[]) => Promise<readonly TurnOutcome[]>,
) => {
  const holdOne = createKeyedQueue()
  const waiting = new Map<string, Seat<Work>[]>()

  /** Always in the order of their ids, to avoid deadlocks. */
  const hold = <T>(ids: readonly string[], work: () => Promise<T>): Promise<T> => {
    const [first, ...others] = ids
    return first === undefined ? work() : holdOne(first, () => hold(others, work))
  }

  const runSeats = async (ids: readonly string[], seats: readonly Seat<Work>[]) => {
    try {
      const outcomes = await run(
        ids,
        seats.map(({ work }) => work),
      )
      for (const [at, seat] of seats.entries()) seat.settle(outcomes[at] ?? 'done')
    } catch (error) {
      for (const { settle } of seats) settle({ error })
    }
  }

  const begin = (key: string, ids: readonly string[], seats: Seat<Work>[]) => {
    waiting.set(key, seats)
    void hold(ids, () => {
      // Later work waits for the next run.
      if (waiting.get(key) === seats) waiting.delete(key)
      return runSeats(ids, seats)
    })
  }

  return async (accountIds: readonly string[], work: Work): Promise<void> => {
    const ids = [...accountIds].sort()
    const key = ids.join()
    const { promise, resolve: settle } = Promise.withResolvers<TurnOutcome>()
    const seat = { work, settle }
    const company = waiting.get(key)
    if (company && company.length < maxTogether) company.push(seat)
    else begin(key, ids, [seat])
    const outcome = await promise
    if (outcome !== 'done') throw outcome.error
  }
}
