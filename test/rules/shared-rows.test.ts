import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createSharedMemory, openSharedRows } from '../../src/lib/shared-rows.ts'

const rowsOf = (rows: number, mayGive?: Parameters<typeof openSharedRows>[2]) =>
  openSharedRows(createSharedMemory(rows, 1), 1, mayGive)

const put = (rows: ReturnType<typeof rowsOf>, key: string, value: number) =>
  rows.at(key, (row) => {
    row.write(0, value)
    return true
  })

const find = (rows: ReturnType<typeof rowsOf>, key: string) =>
  rows.at(key, (row) => (row.isNew ? 'new' : row.read(0)))

describe('rows in shared memory', () => {
  it('are new at first and keep what is written', () => {
    const rows = rowsOf(1000)
    expect(find(rows, 'a')).toBe('new')
    put(rows, 'a', 1.5)
    put(rows, 'b', -7)
    expect([find(rows, 'a'), find(rows, 'b')]).toEqual([1.5, -7])
  })

  it('are the same for everyone who opens the memory', () => {
    const memory = createSharedMemory(100, 1)
    put(openSharedRows(memory, 1), 'a', 3)
    expect(find(openSharedRows(memory, 1), 'a')).toBe(3)
  })

  it('make room for new keys by the one that has rested longest', () => {
    const rows = rowsOf(16)
    for (let n = 0; n < 16; n += 1) put(rows, `key ${n}`, n)
    expect(find(rows, 'key 0')).toBe(0)
    put(rows, 'one more', 1)
    expect(find(rows, 'key 0')).toBe(0)
    expect(find(rows, 'key 1')).toBe('new')
  })

  it('are never taken while they are in use, and there may be none left', () => {
    const rows = rowsOf(16, (read) => read(0) === 0)
    for (let n = 0; n < 16; n += 1) put(rows, `key ${n}`, 1)
    expect(put(rows, 'one more', 1)).toBeUndefined()
    put(rows, 'key 7', 0)
    expect(put(rows, 'one more', 1)).toBe(true)
    expect(find(rows, 'key 8')).toBe(1)
  })

  it('give way to others when their use fails', () => {
    const rows = rowsOf(16)
    expect(() =>
      rows.at('a', () => {
        throw new Error('broken')
      }),
    ).toThrow('broken')
    expect(put(rows, 'a', 1)).toBe(true)
  })

  it('lose no change when threads change the same ones at once', async () => {
    const memory = createSharedMemory(64, 1)
    const workerData = {
      script: new URL('../support/run/counting-thread.ts', import.meta.url).href,
      memory,
      times: 20_000,
      keys: 5,
    }
    const threads = Array.from(
      { length: 4 },
      () => new Worker(new URL('../../src/storage/worker-start.mjs', import.meta.url), { workerData }),
    )
    expect(await Promise.all(threads.map(async (thread) => (await once(thread, 'exit'))[0]))).toEqual([
      0, 0, 0, 0,
    ])
    const rows = openSharedRows(memory, 1)
    expect(Array.from({ length: 5 }, (_, n) => find(rows, `key ${n}`))).toEqual(Array(5).fill(16_000))
  })
})
