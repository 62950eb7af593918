import { createKeyedQueue } from '../../../lib/one-at-a-time.ts'

/** How a piece of work ended. */
export type Outcome = 'done' | { error: unknown }

interface Seat<Work> {
  work: Work
  settle(outcome: Outcome): void
}

// So many that a commit costs each of them little, so few that the first does not wait long for the last.
const maxTogether = 32

/**
 * Lets those who price the same accounts, and then write, do so one after the other. Within this process they wait for
 * each other here, and whoever waits for the same accounts goes together, in the order of coming; between processes
 * the turn that is stored decides. `run` answers with an outcome for each.
 */
export const createPayerLock = <Work>(
  run: (ids: readonly string[], works: readonly Work[]) => Promise<readonly Outcome[]>,
) => {
  const holdOne = createKeyedQueue()
  const waiting = new Map<string, Seat<Work>[]>()

  /** Always taken in the order of their ids: no two wait for each other. */
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
      // Whoever comes from here on waits for the next turn.
      if (waiting.get(key) === seats) waiting.delete(key)
      return runSeats(ids, seats)
    })
  }

  return async (accountIds: readonly string[], work: Work): Promise<void> => {
    const ids = [...accountIds].sort()
    const key = ids.join()
    const { promise, resolve: settle } = Promise.withResolvers<Outcome>()
    const seat = { work, settle }
    const company = waiting.get(key)
    if (company && company.length < maxTogether) company.push(seat)
    else begin(key, ids, [seat])
    const outcome = await promise
    if (outcome !== 'done') throw outcome.error
  }
}
