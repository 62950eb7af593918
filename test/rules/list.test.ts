import { expect, it } from 'vitest'
import { elementAt, zip } from '../../src/lib/list.ts'

it('gives the element of a place, from either end', () => {
  expect([elementAt([5, 6, 7], 0), elementAt([5, 6, 7], 2), elementAt([5, 6, 7], -1)]).toEqual([5, 7, 7])
})

it('refuses a place where nothing stands', () => {
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
