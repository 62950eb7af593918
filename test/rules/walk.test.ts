import { expect, it } from 'vitest'
import { createChance } from '../fuzz/chance.ts'
import { sampleOf, walkOf } from '../support/world/walk.ts'

const lists = [Array.from({ length: 23 }, (_, at) => at), ['a', 'b', 'c'], [true, false]] as const

it('A sample has each item of each list, and no more combinations than the longest list has items.', () => {
  const sample = sampleOf(createChance(7), ...lists)
  expect(sample).toHaveLength(23)
  for (const [at, list] of lists.entries())
    expect([...new Set(sample.map((combination) => combination[at]))].toSorted()).toEqual(
      [...list].toSorted(),
    )
})

it('The same seed draws the same sample, and another seed draws another one.', () => {
  const drawn = (seed: number) => sampleOf(createChance(seed), ...lists)
  expect(drawn(7)).toEqual(drawn(7))
  expect(drawn(7)).not.toEqual(drawn(8))
})

it('A walk over an empty list fails, because it would test nothing.', () => {
  expect(() => walkOf([1, 2], [])).toThrow('a list of this walk is empty')
})
