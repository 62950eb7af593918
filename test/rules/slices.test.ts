// However many lists are being made, the event loop is kept for one slice a round.
import { performance } from 'node:perf_hooks'
import { expect, it } from 'vitest'
import { inSlices } from '../../src/http/response/slices.ts'
import { countRounds } from '../support/run/rounds.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

const busy = (milliseconds: number) => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

it('gives what the work makes of the items, in their order and without those that are undefined', async () => {
  const odd = await inSlices(numbers(100), (value) => (value % 2 ? value * 10 : undefined))
  expect(odd).toEqual(
    numbers(100)
      .filter((value) => value % 2)
      .map((value) => value * 10),
  )
})

it('shares a slice between all lists that are being made at once', async () => {
  const rounds = countRounds()
  await Promise.all(numbers(6).map(() => inSlices(numbers(64), () => busy(0.25))))
  // 96 ms of work in slices of 3 ms, of which each may be longer by eight items.
  expect(rounds()).toBeGreaterThanOrEqual(15)
})

it('gives others their turn behind each heavy item', async () => {
  const rounds = countRounds()
  const items = numbers(8)
  await inSlices(
    items,
    () => busy(4),
    (item) => item < 6,
  )
  expect(rounds()).toBeGreaterThanOrEqual(6)
})

it('lets many short lists be made in one round', async () => {
  await new Promise((resolve) => setImmediate(resolve))
  const rounds = countRounds()
  await Promise.all(numbers(200).map(() => inSlices(numbers(3), (value) => value)))
  expect(rounds()).toBeLessThan(40)
})

it('continues with others when the work of one fails', async () => {
  const fail = () => {
    busy(4)
    throw new Error('broken')
  }
  const answers = await Promise.allSettled([
    inSlices(numbers(3), fail),
    inSlices(numbers(3), fail),
    inSlices(numbers(3), (value) => value),
    inSlices(numbers(3), (value) => value),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
})
