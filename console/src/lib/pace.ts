/** How much was done at a moment, in milliseconds. */
export interface Sample {
  at: number
  done: number
}

const windowMilliseconds = 60_000
const leastGapMilliseconds = 500
const leastSamples = 4
const leastMilliseconds = 3_000

/** The samples of the last minute. Work that begins again is measured again. */
export const withSample = (samples: readonly Sample[], next: Sample): readonly Sample[] => {
  const last = samples.at(-1)
  if (last && next.done < last.done) return [next]
  if (last && (next.done === last.done || next.at - last.at < leastGapMilliseconds)) return samples
  return [...samples.filter(({ at }) => at >= next.at - windowMilliseconds), next]
}

/** The average amount of a second; undefined until there is enough to measure. */
export const measuredRate = (samples: readonly Sample[]) => {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || samples.length < leastSamples) return undefined
  const milliseconds = last.at - first.at
  return milliseconds < leastMilliseconds ? undefined : ((last.done - first.done) / milliseconds) * 1_000
}
