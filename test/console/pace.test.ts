// How fast long work goes, as the console measures it.
import { expect, it } from 'vitest'
import { measuredRate, type Sample, withSample } from '../../console/src/lib/pace.ts'

const after = (...counts: readonly (readonly [at: number, done: number])[]) =>
  counts.reduce<readonly Sample[]>((samples, [at, done]) => withSample(samples, { at, done }), [])

it('a rate is known after four readings within three seconds at least', () => {
  expect(measuredRate([])).toBeUndefined()
  expect(measuredRate(after([0, 0], [1_000, 5], [3_000, 15]))).toBeUndefined()
  expect(measuredRate(after([0, 0], [500, 5], [1_000, 10], [1_500, 15]))).toBeUndefined()
  expect(measuredRate(after([0, 0], [1_000, 5], [2_000, 10], [3_000, 15]))).toBe(5)
})

it('a rate is that of the last minute, and readings without progress do not count', () => {
  const slowThenFast = after(
    [0, 0],
    [60_000, 6],
    [80_000, 206],
    [100_000, 406],
    [100_500, 406],
    [120_000, 606],
  )
  expect(measuredRate(slowThenFast)).toBe(10)
})

it('work that begins again is measured again', () => {
  expect(after([0, 0], [1_000, 5], [2_000, 10], [3_000, 0])).toEqual([{ at: 3_000, done: 0 }])
})
