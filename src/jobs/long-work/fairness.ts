/** A run that waits for a process. */
export interface Waiting {
  accountId: string
  id: string
  /** Unix milliseconds. */
  since: number
}

/** What fairness goes by. Both by account. */
interface Service {
  running: ReadonlyMap<string, number>
  /** A number that grows: when it was served last; absent: never. */
  lastServed: ReadonlyMap<string, number>
}

/**
 * Each account is served fairly: the one that has the fewest running comes first, then the one that was served
 * longest ago, then the run that waited longest.
 */
export const nextRun = <T extends Waiting>(
  waiting: readonly T[],
  { running, lastServed }: Service,
): T | undefined => {
  const place = ({ accountId, since }: T) =>
    [running.get(accountId) ?? 0, lastServed.get(accountId) ?? 0, since] as const
  const compare = (a: T, b: T) => {
    const [one, other] = [place(a), place(b)]
    const differing = one.findIndex((value, index) => value !== other[index])
    if (differing < 0) return a.id < b.id ? -1 : 1
    return (one[differing] as number) - (other[differing] as number)
  }
  return waiting.toSorted(compare)[0]
}
