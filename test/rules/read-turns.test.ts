import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createFairQueue } from '../../src/http/throttle/fair-queue.ts'
import { createInFlight } from '../../src/http/throttle/in-flight.ts'

describe('turns', () => {
  it('go round by payer, however many requests one of them has', async () => {
    const turns = createFairQueue({ most: 1, mostOfOne: 1 })
    const order: string[] = []
    const work = async (payer: string) => {
      const giveBack = await turns.take(payer)
      order.push(payer)
      await new Promise(setImmediate)
      giveBack()
    }
    const greedy = Array.from({ length: 20 }, () => work('greedy'))
    await Promise.all([...greedy, work('modest'), work('modest')])
    expect(order).toHaveLength(22)
    expect(order.slice(0, 4)).toEqual(['greedy', 'modest', 'greedy', 'modest'])
  })

  it('are no more at once than there may be, of one and of all', async () => {
    const turns = createFairQueue({ most: 3, mostOfOne: 2 })
    const atWork = { a: 0, b: 0 }
    const highest = { a: 0, b: 0, all: 0 }
    const work = async (payer: 'a' | 'b') => {
      const giveBack = await turns.take(payer)
      atWork[payer] += 1
      highest[payer] = Math.max(highest[payer], atWork[payer])
      highest.all = Math.max(highest.all, atWork.a + atWork.b)
      await new Promise(setImmediate)
      await new Promise(setImmediate)
      atWork[payer] -= 1
      giveBack()
      giveBack()
    }
    await Promise.all(Array.from({ length: 40 }, (_, index) => work(index % 2 === 0 ? 'a' : 'b')))
    expect(highest).toEqual({ a: 2, b: 2, all: 3 })
  })

  it('are refused to a payer that already has thousands of requests waiting', async () => {
    const turns = createFairQueue({ most: 1, mostOfOne: 1 })
    const first = Array.from({ length: 2000 }, () => turns.take('greedy').then((giveBack) => giveBack()))
    await expect(turns.take('greedy')).rejects.toThrow('too_many_requests')
    await expect(turns.take('modest')).resolves.toBeTypeOf('function')
    void first
  })
})

const room = { bytesOfOne: 100, bytesOfAll: 300, waitMilliseconds: 60_000 }

describe('the bytes of answers in progress', () => {
  it('are bounded for one payer, and let others in', async () => {
    const inFlight = createInFlight()
    const socket = new PassThrough()
    inFlight.claim('a', 80, room, socket)
    expect(() => inFlight.claim('a', 30, room, socket)).toThrow('too_many_requests')
    inFlight.claim('b', 30, room, socket)
  })

  it('are bounded for all, with the last third for payers without an answer in progress', () => {
    const inFlight = createInFlight()
    const socket = new PassThrough()
    for (const payer of ['a', 'b']) inFlight.claim(payer, 95, room, socket)
    inFlight.claim('c', 5, room, socket)
    expect(() => inFlight.claim('c', 10, room, socket)).toThrow('overloaded')
    inFlight.claim('d', 100, room, socket)
    expect(() => inFlight.claim('e', 10, room, socket)).toThrow('overloaded')
  })

  it('are divided among the threads that answer requests', () => {
    const [inFlight, socket] = [createInFlight(2), new PassThrough()]
    inFlight.claim('a', 45, room, socket)
    expect(() => inFlight.claim('a', 10, room, socket)).toThrow('too_many_requests')
    inFlight.claim('b', 50, room, socket)
    expect(() => inFlight.claim('c', 60, room, socket)).toThrow('overloaded')
  })

  it('come free in turns by payer', async () => {
    const inFlight = createInFlight()
    const socket = new PassThrough()
    const all = { ...room, bytesOfAll: 100 }
    const giveBack = inFlight.claim('a', 100, all, socket)
    const order: string[] = []
    const waiting = ['a', 'a', 'b'].map(async (payer) => {
      const end = await inFlight.reserve(payer, 90, all, socket)
      order.push(payer)
      end()
    })
    giveBack()
    giveBack()
    await Promise.all(waiting)
    expect(order).toEqual(['a', 'b', 'a'])
  })

  it('are given back by a connection that closes, also by those that wait on it', async () => {
    const inFlight = createInFlight()
    const [left, stays] = [new PassThrough(), new PassThrough()]
    inFlight.claim('a', 100, room, left)
    const waiting = inFlight.reserve('a', 50, room, stays)
    const gone = inFlight.reserve('a', 50, room, left)
    left.destroy()
    // The result does not matter: it holds no bytes.
    await gone.catch(() => undefined)
    const giveBack = await waiting
    giveBack()
    inFlight.claim('a', 100, room, stays)
  })

  it('are refused when no room comes free in time', async () => {
    const inFlight = createInFlight()
    const socket = new PassThrough()
    inFlight.claim('a', 100, room, socket)
    const hasty = { ...room, waitMilliseconds: 1 }
    await expect(inFlight.reserve('a', 50, hasty, socket)).rejects.toThrow('too_many_requests')
  })
})
