import { describe, expect, it } from 'vitest'
import { createRecordCache } from '../../src/storage/cache.ts'

/** A cache with a source that counts how often it is asked. */
const createCounted = (maxBytes: number, bytes = 100) => {
  const cache = createRecordCache<string>(maxBytes)
  const loads: string[] = []
  const get = (key: string) =>
    cache.get(key, async () => {
      loads.push(key)
      return { value: `${key} ${loads.length}`, bytes }
    })
  return { cache, loads, get }
}

/** A load that ends on demand of the test. */
const createSlowLoad = () => {
  const { promise, resolve, reject } = Promise.withResolvers<{ value: string; bytes: number }>()
  return { load: () => promise, resolve: (value: string) => resolve({ value, bytes: 10 }), reject }
}

describe('the record cache', () => {
  it('asks its source once', async () => {
    const { get, loads } = createCounted(10_000)
    expect([await get('a'), await get('a'), await get('b')]).toEqual(['a 1', 'a 1', 'b 2'])
    expect(loads).toEqual(['a', 'b'])
  })

  it('remembers that there is nothing', async () => {
    const cache = createRecordCache<string | undefined>(10_000)
    let loads = 0
    const get = () =>
      cache.get('a', async () => {
        loads += 1
        return { value: undefined, bytes: 0 }
      })
    expect([await get(), await get()]).toEqual([undefined, undefined])
    expect(loads).toBe(1)
  })

  it('shares one load among concurrent reads', async () => {
    const { cache } = createCounted(10_000)
    const slow = createSlowLoad()
    const both = [cache.get('a', slow.load), cache.get('a', () => Promise.reject(new Error('a second load')))]
    slow.resolve('once')
    expect(await Promise.all(both)).toEqual(['once', 'once'])
  })

  it('forgets a failed load', async () => {
    const { cache, get } = createCounted(10_000)
    const slow = createSlowLoad()
    const failing = cache.get('a', slow.load)
    slow.reject(new Error('away'))
    await expect(failing).rejects.toThrow('away')
    expect(await get('a')).toBe('a 1')
  })

  it('is bounded by bytes, and keeps what is used', async () => {
    const { get, loads } = createCounted(20_000, 600)
    for (let number = 0; number < 500; number += 1) {
      await get(`k${number}`)
      await get('favourite')
    }
    expect(loads.filter((key) => key === 'favourite')).toHaveLength(1)
    loads.length = 0
    for (let number = 499; number >= 0; number -= 1) await get(`k${number}`)
    // Each entry costs 1000 bytes with its overhead: between half and all of twenty can have been kept.
    const kept = 500 - loads.length
    expect(kept).toBeGreaterThanOrEqual(8)
    expect(kept).toBeLessThanOrEqual(20)
  })

  it('never keeps a value that is larger than all of it', async () => {
    const { get, loads } = createCounted(20_000, 50_000)
    await get('a')
    await get('a')
    expect(loads).toEqual(['a', 'a'])
  })

  it('loads again what was forgotten, one key or everything', async () => {
    const { cache, get } = createCounted(10_000)
    await get('a')
    await get('b')
    cache.forget(['a'])
    expect([await get('a'), await get('b')]).toEqual(['a 3', 'b 2'])
    cache.forget('everything')
    expect([await get('a'), await get('b')]).toEqual(['a 4', 'b 5'])
  })

  it.each([[['a']], ['everything' as const]])(
    'does not keep a value that became stale while it was loaded: %s',
    async (keys) => {
      const { cache, get } = createCounted(10_000)
      const slow = createSlowLoad()
      const old = cache.get('a', slow.load)
      cache.forget(keys)
      // A read after the change must not return the load from before it.
      const next = get('a')
      slow.resolve('old')
      expect([await old, await next, await get('a')]).toEqual(['old', 'a 1', 'a 1'])
    },
  )
})
