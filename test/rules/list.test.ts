import { expect, it } from 'vitest'
import { inParallel } from '../../src/lib/in-parallel.ts'
import { elementAt, inParts, zip } from '../../src/lib/list.ts'

it('gives the element of a place, from either end', () => {
  expect([elementAt([5, 6, 7], 0), elementAt([5, 6, 7], 2), elementAt([5, 6, 7], -1)]).toEqual([5, 7, 7])
})

it('refuses a place without an element', () => {
  expect(() => elementAt([], -1)).toThrow('a list of 0 has nothing at -1')
  expect(() => elementAt([5], 1)).toThrow('a list of 1 has nothing at 1')
})

it('puts the elements of two lists side by side', () => {
  expect([...zip(['a', 'b'], [1, 2])]).toEqual([
    ['a', 1],
    ['b', 2],
  ])
})

it('refuses a second list that is too short', () => {
  expect(() => [...zip(['a', 'b'], [1])]).toThrow('the second of two lists is shorter')
})

it('cuts a list into parts of a weight, and gives a heavier item its own part', () => {
  const parts = inParts([2, 3, 9, 1, 4, 1], 5, (weight) => weight)
  expect(parts).toEqual([[2, 3], [9], [1, 4], [1]])
})

it('works on items until none is left, although the work on one of them fails', async () => {
  const done: number[] = []
  const work = async (item: number) => {
    if (item === 1) throw new Error('the work on 1 failed')
    done.push(item)
  }
  await expect(inParallel([1, 2, 3, 4], 2, work, () => false)).rejects.toThrow('the work on 1 failed')
  expect(done).toEqual([2, 3, 4])
})

it('begins no further work when it is over', async () => {
  const done: number[] = []
  await inParallel(
    [1, 2, 3, 4],
    1,
    async (item) => done.push(item),
    () => done.length === 2,
  )
  expect(done).toEqual([1, 2])
})
