// Keys that are derived while a job needs the memory and the cores.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createPasswordHasher } from '../../src/auth/deriving/deriver.ts'
import { createMetrics, figuresText } from '../../src/lib/metrics.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { createTestClock } from '../support/run/clock.ts'

const rules = { derivation_threads: 2, derivations_waiting: 10 }

const metrics = createMetrics()
const deriver = createPasswordHasher({
  settings: { of: async () => rules } as unknown as Settings,
  clock: createTestClock(),
  metrics,
  layers: [{ N: 2 ** 14, r: 8, p: 1 }],
})
afterAll(deriver.stop)

/** Requests this number of keys, and reports on demand how many of them are being derived. */
const asking = (count: number) => {
  let done = 0
  const keys = Array.from({ length: count }, async (_, at) => {
    const digest = at.toString(16).repeat(32)
    const arriving = { salt: '00'.repeat(16), method: 'md5', digest, toLayer: 1 } as const
    const key = await deriver.arrivingKey('a'.repeat(32), arriving)
    done += 1
    return key
  })
  return {
    all: () => Promise.all(keys),
    /** The first ones, in the order in which they are derived. */
    first: (some: number) => keys.slice(0, some),
    async running() {
      // Whatever has ended was noted by then.
      await nextTurn()
      const ended = done
      const [, waiting] =
        /^crosspoint_password_hash_queue_length (\d+)$/m.exec(await figuresText([await metrics.figures()])) ??
        []
      return { most: Math.min(2, count - ended), running: count - ended - Number(waiting) }
    },
  }
}

describe('Keys', () => {
  it('are derived one at a time while such a job runs, and on all threads after it', async () => {
    const ending = Promise.withResolvers<void>()
    const work = deriver.beside(() => ending.promise)
    const keys = asking(6)
    for (const first of keys.first(3)) {
      expect((await keys.running()).running).toBeLessThanOrEqual(1)
      await first
    }
    expect((await keys.running()).running).toBeLessThanOrEqual(1)
    ending.resolve()
    await work
    const { running, most } = await keys.running()
    expect(running).toBe(most)
    expect(new Set(await keys.all()).size).toBe(6)
  })

  it('are so until the last of several works has ended, however the others end', async () => {
    const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [failing, lasting] = [one, other].map(({ promise }) => deriver.beside(() => promise))
    const keys = asking(6)
    one.reject(new Error('it failed'))
    await expect(failing).rejects.toThrow('it failed')
    for (const first of keys.first(3)) {
      expect((await keys.running()).running).toBeLessThanOrEqual(1)
      await first
    }
    other.resolve()
    await lasting
    const { running, most } = await keys.running()
    expect(running).toBe(most)
    await keys.all()
  })
})
