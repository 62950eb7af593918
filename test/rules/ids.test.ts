import { expect, it } from 'vitest'
import { isId, newId } from '../../src/lib/ids.ts'

const someMoment = Date.UTC(2026, 4, 1)
const made = (many: number, unixMilliseconds: number) =>
  Array.from({ length: many }, () => newId(unixMilliseconds))
const millisecondsOf = (id: string) => Number.parseInt(id.slice(0, 12), 16)

it('ids of one millisecond grow, however many there are', () => {
  const ids = made(20_000, someMoment)
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every(isId)).toBe(true)
  expect(millisecondsOf(String(ids[0]))).toBe(someMoment)
  expect(millisecondsOf(String(ids.at(-1)))).toBe(someMoment + 4)
})

it('ids of the milliseconds that follow grow on from those that ran ahead', () => {
  const ids = [someMoment, 1, 2, 3, 9].flatMap((later, index) =>
    made(index === 0 ? 10_000 : 5, index === 0 ? later : someMoment + 60_000 + later),
  )
  const ahead = made(10_000, someMoment + 90_000)
  const after = [1, 2, 3, 50].flatMap((later) => made(5, someMoment + 90_000 + later))
  for (const list of [ids, [...ahead, ...after]]) expect(list).toEqual([...list].sort())
  expect(millisecondsOf(String(after.at(-1)))).toBe(someMoment + 90_050)
})

it('ids tell the time of a clock that was set back', () => {
  made(10_000, someMoment + 200_000)
  for (const id of made(3, someMoment)) expect(millisecondsOf(id)).toBe(someMoment)
})
