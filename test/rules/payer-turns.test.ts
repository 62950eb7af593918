// Callers that price the same accounts run one after the other. Callers that wait for the same accounts run
// together.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPayerLock, type TurnOutcome } from '../../src/areas/billing/services/payer-turns.ts'

const done = (works: readonly unknown[]): TurnOutcome[] => works.map(() => 'done')

/** Locks whose runs end on demand. */
const heldTurns = () => {
  const runs: { ids: readonly string[]; works: readonly string[]; end(outcomes?: TurnOutcome[]): void }[] = []
  const take = createPayerLock<string>((ids, works) => {
    const { promise, resolve } = Promise.withResolvers<TurnOutcome[]>()
    runs.push({ ids, works, end: (outcomes = done(works)) => resolve(outcomes) })
    return promise
  })
  return { runs, take }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

it('begins at once, and runs later calls together in the order of arrival', async () => {
  const { runs, take } = heldTurns()
  const first = take(['a'], 'one')
  await settled()
  const others = ['two', 'three', 'four'].map((work) => take(['a'], work))
  await settled()
  expect(runs.map(({ works }) => works)).toEqual([['one']])
  runs[0]?.end()
  await first
  await settled()
  expect(runs.map(({ works }) => works)).toEqual([['one'], ['two', 'three', 'four']])
  runs[1]?.end()
  await Promise.all(others)
})

it('returns to each caller its result', async () => {
  const { runs, take } = heldTurns()
  const first = take(['a'], 'one')
  await settled()
  const refused = expect(take(['a'], 'two')).rejects.toThrow('no')
  const agreed = take(['a'], 'three')
  runs[0]?.end()
  await first
  await settled()
  runs[1]?.end([{ error: new Error('no') }, 'done'])
  await Promise.all([refused, agreed])
})

it('rejects all callers of a run that failed, and continues with the next', async () => {
  let runs = 0
  const take = createPayerLock<string>(async (_, works) => {
    runs += 1
    if (runs === 1) throw new Error('lost')
    return done(works)
  })
  await expect(take(['a'], 'one')).rejects.toThrow('lost')
  await take(['a'], 'two')
})

it('takes no more than 32 together', async () => {
  const { runs, take } = heldTurns()
  const all = [take(['a'], 'first')]
  await settled()
  for (let at = 0; at < 70; at += 1) all.push(take(['a'], `${at}`))
  for (let at = 0; at < 4; at += 1) {
    await settled()
    runs[at]?.end()
    await settled()
  }
  await Promise.all(all)
  expect(runs.map(({ works }) => works.length)).toEqual([1, 32, 32, 6])
})

it('never runs two at once that have an account in common, and forgets no caller', async () => {
  const idSets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(idSets, { maxLength: 60 }), async (wishes) => {
      const held = new Set<string>()
      const seen: number[] = []
      const take = createPayerLock<number>(async (ids, works) => {
        for (const id of ids) {
          expect(held.has(id)).toBe(false)
          held.add(id)
        }
        await settled()
        for (const id of ids) held.delete(id)
        seen.push(...works)
        return done(works)
      })
      await Promise.all(wishes.map((ids, at) => take(ids, at)))
      expect(seen.sort((a, b) => a - b)).toEqual(wishes.map((_, at) => at))
    }),
    { numRuns: 50 },
  )
})
