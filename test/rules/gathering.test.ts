import { describe, expect, it } from 'vitest'
import { datastoreUnreachable, failure } from '../../src/lib/failure.ts'
import { createBatcher } from '../../src/lib/gathering.ts'
import { beginTrace, currentTrace, inTrace } from '../../src/lib/trace.ts'

it('items that arrive while a batch runs form the next one, up to its bound', async () => {
  const batches: string[][] = []
  const ask = createBatcher(3, async (items: readonly string[]) => {
    batches.push([...items])
    return items.map((item) => item.toUpperCase())
  })
  const first = ask('a')
  await Promise.resolve()
  const later = ['b', 'c', 'd', 'e'].map(ask)
  expect(await Promise.all([first, ...later])).toEqual(['A', 'B', 'C', 'D', 'E'])
  expect(batches).toEqual([['a'], ['b', 'c', 'd'], ['e']])
})

it('a failure rejects all callers of its batch, and no others', async () => {
  const ask = createBatcher(2, async (items: readonly number[]) => {
    if (items.includes(2)) throw new Error('two')
    return items
  })
  const answers = await Promise.allSettled([1, 2, 3, 4].map(ask))
  expect(answers).toEqual([
    { status: 'rejected', reason: new Error('two') },
    { status: 'rejected', reason: new Error('two') },
    { status: 'fulfilled', value: 3 },
    { status: 'fulfilled', value: 4 },
  ])
})

it('each batch belongs to the trace of its first caller, not to the trace of the first batch', async () => {
  const ask = createBatcher(2, async (items: readonly string[]) => items.map(() => currentTrace()?.traceId))
  const callers = ['a', 'b', 'c', 'd', 'e'].map((item) => ({ item, trace: beginTrace(undefined, undefined) }))
  const answers = await Promise.all(callers.map(({ item, trace }) => inTrace(trace, () => ask(item))))
  const [a, , c, , e] = callers.map(({ trace }) => trace.traceId)
  expect(answers).toEqual([a, a, c, c, e])
})

interface Item {
  accountId: string
  text: string
}

const away = () => failure(datastoreUnreachable, {})

/** Work that records its batches, and fails if `judge` throws. */
const gatheringWith = (judge: (items: readonly Item[]) => Error | undefined) => {
  const batches: string[] = []
  const gather = createBatcher(
    10,
    async (items: readonly Item[]) => {
      batches.push(items.map(({ text }) => text).join(' '))
      const error = judge(items)
      if (error) throw error
      return items.map(({ text }) => text.toUpperCase())
    },
    ({ accountId }) => accountId,
  )
  const ask = (...texts: string[]) =>
    Promise.allSettled(texts.map((text) => gather({ accountId: text.slice(0, 1), text })))
  return { batches, ask }
}

const done = (value: string) => ({ status: 'fulfilled', value })
const failed = (reason: unknown) => ({ status: 'rejected', reason })

describe('Work that is gathered', () => {
  it('is done at once for all, and each gets the answer to its own', async () => {
    const { batches, ask } = gatheringWith(() => undefined)
    expect(await ask('a1', 'b1', 'a2')).toEqual([done('A1'), done('B1'), done('A2')])
    expect(batches).toEqual(['a1 b1 a2'])
  })

  it('is done by account when the store is away for one of them', async () => {
    const { batches, ask } = gatheringWith((items) =>
      items.some(({ accountId }) => accountId === 'b') ? away() : undefined,
    )
    expect(await ask('a1', 'b1', 'a2', 'b2', 'c1')).toEqual([
      done('A1'),
      failed(away()),
      done('A2'),
      failed(away()),
      done('C1'),
    ])
    expect(batches).toEqual(['a1 b1 a2 b2 c1', 'a1 a2', 'b1 b2', 'c1'])
  })

  it('fails for all of one account, and for all when nothing is wrong with the store, without being done again', async () => {
    const ofOne = gatheringWith(away)
    expect(await ofOne.ask('a1', 'a2')).toEqual([failed(away()), failed(away())])
    expect(ofOne.batches).toEqual(['a1 a2'])
    const fault = new Error('a fault')
    const ofTwo = gatheringWith(() => fault)
    expect(await ofTwo.ask('a1', 'b1')).toEqual([failed(fault), failed(fault)])
    expect(ofTwo.batches).toEqual(['a1 b1'])
  })
})
