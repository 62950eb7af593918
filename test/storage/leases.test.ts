// What one process at a time may work on (jobs/leases.ts), and what is done again and again (jobs/rounds.ts).
import { hostname } from 'node:os'
import { expect, it } from 'vitest'
import { createLeases } from '../../src/jobs/leases.ts'
import { createRounds } from '../../src/jobs/rounds.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createLeaseRows } from '../../src/storage/leases.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog } from '../support/log.ts'

describeEngines('a lease', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      const stores = [createStore(db, clock), createStore(reopen(), clock)] as const
      const [one, other] = stores.map((store) => createLeases(store, clock, createTestLog().log))
      return { store: stores[0], one, other, close } as {
        store: (typeof stores)[0]
        one: ReturnType<typeof createLeases>
        other: ReturnType<typeof createLeases>
        close: () => Promise<void>
      }
    },
    async ({ one, other, close }) => {
      await Promise.all([one.stop(), other.stop()])
      await close()
    },
  )

  const noted = (name: string) => {
    const change = { accountId: 'system', kind: 'note', id: name, action: 'created' as const }
    return new ChangeSet({ requestId: 'test' }).record(change)
  }

  it('is held by one process at a time, until it is released', async () => {
    const lease = await world.one.take('mowing')
    expect(lease?.name).toBe('mowing')
    expect(await world.other.take('mowing')).toBeUndefined()
    expect(await world.one.take('mowing')).toBeUndefined()
    await lease?.release()
    const next = await world.other.take('mowing')
    expect(next).toBeDefined()
    await next?.release()
  })

  it('goes to exactly one of many who want it at once', async () => {
    const wanted = Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? world.one : world.other).take('raking'),
    )
    const taken = (await Promise.all(wanted)).filter((lease) => lease !== undefined)
    expect(taken).toHaveLength(1)
    await taken[0]?.release()
  })

  it('lets nothing happen that is guarded by it once somebody else holds it', async () => {
    const stale = await world.one.take('sowing')
    clock.advance({ seconds: 16 })
    const fresh = await world.other.take('sowing')
    expect(fresh).toBeDefined()
    const set = noted('late')
    stale?.guard(set)
    await expect(world.store.commit(set)).rejects.toMatchObject({ kind: 'lease_lost' })
    const timely = noted('timely')
    fresh?.guard(timely)
    await world.store.commit(timely)
    expect(await world.store.all("SELECT record_id FROM audit_log WHERE kind = 'note'")).toEqual([
      { record_id: 'timely' },
    ])
    await stale?.release()
    expect(await world.one.take('sowing')).toBeUndefined()
    await fresh?.release()
  })

  it('is free at once when its process died on this machine', async () => {
    // No process has this number: Linux ends at 4,194,304.
    const dead = { host: hostname(), pid: 4_999_999, process: 'gone' }
    const elsewhere = { ...dead, host: 'elsewhere.test' }
    const rows = createLeaseRows(world.store)
    const row = { token: 'old', expiresAt: clock.now() + 10_000 }
    const never = () => new Error('unexpected') as never
    await rows.put('weeding', { ...row, holder: dead }, undefined, never)
    await rows.put('watering', { ...row, holder: elsewhere }, undefined, never)
    const lease = await world.one.take('weeding')
    expect(lease).toBeDefined()
    expect(await world.one.take('watering')).toBeUndefined()
    clock.advance({ seconds: 11 })
    const late = await world.one.take('watering')
    expect(late).toBeDefined()
    await lease?.release()
    await late?.release()
  })

  it('lets a round be done once in its time by all processes together', async () => {
    const done: string[] = []
    const make = (name: 'one' | 'other') => {
      const rounds = createRounds({
        leases: world[name],
        store: world.store,
        clock,
        log: createTestLog().log,
      })
      rounds.add({ name: 'daily', everySeconds: 86_400, run: async () => void done.push(name) })
      return rounds
    }
    const first = make('one')
    first.start()
    await eventually(
      () => done,
      (names) => names.length > 0,
    )
    await first.stop()
    expect(done).toEqual(['one'])
    const second = make('other')
    second.start()
    await second.runNow('daily')
    await second.stop()
    expect(done.slice(1)).toEqual(['other'])
  })

  it('lets a round be done soon after it was nudged, and survives that it fails', async () => {
    const { log, entries } = createTestLog()
    const rounds = createRounds({ leases: world.one, store: world.store, clock, log })
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs === 1) throw new Error('the first time')
    }
    rounds.add({ name: 'queue', everySeconds: 3600, due: async () => false, run })
    rounds.start()
    rounds.nudge('queue')
    await eventually(
      () => runs,
      (count) => count === 1,
    )
    rounds.nudge('queue')
    await eventually(
      () => runs,
      (count) => count === 2,
    )
    await rounds.stop()
    expect(entries.map(({ message }) => message)).toEqual(['a round failed'])
  })

  it('aborts a round when the server stops, and waits for it', async () => {
    const rounds = createRounds({ leases: world.one, store: world.store, clock, log: createTestLog().log })
    const steps: string[] = []
    const run = (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        steps.push('begun')
        signal.addEventListener('abort', () => {
          steps.push('aborted')
          resolve()
        })
      })
    rounds.add({ name: 'endless', everySeconds: 3600, due: async () => true, run })
    rounds.start()
    await eventually(
      () => steps,
      ([first]) => first === 'begun',
    )
    await rounds.stop()
    expect(steps).toEqual(['begun', 'aborted'])
  })
})
