// Long work (jobs/long-work): taken up by one process at a time, each of its commits once, however it is left.

import { once } from 'node:events'
import { beforeEach, expect, it } from 'vitest'
import { createLeases } from '../../src/jobs/leases.ts'
import { createProgress, type Entry, RunIsOver } from '../../src/jobs/long-work/progress.ts'
import { createRunStore, type Run } from '../../src/jobs/long-work/store.ts'
import { createWorkers, type WorkerTools } from '../../src/jobs/long-work/workers.ts'
import { createRounds } from '../../src/jobs/rounds.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { newId } from '../../src/lib/ids.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog } from '../support/log.ts'

const accountId = 'a'.repeat(32)

describeEngines('long work', (engine) => {
  const world = sharedBySuite(
    async () => {
      const { db, close } = await openTestDatabase(engine)
      return { store: createStore(db, systemClock), close }
    },
    ({ close }) => close(),
  )
  let made = 0
  let runs: ReturnType<typeof createRunStore<string>>

  beforeEach(() => {
    made += 1
    runs = createRunStore<string>(world.store, `kind${made}`)
  })

  const asked = async (detail: string, subject = '') => {
    const key = { accountId, id: newId(systemClock.now()) }
    await world.store.writeUnrecorded([runs.insert(key, 'executing', { subject, detail })])
    return key
  }

  const entry = (more: Partial<Entry> = {}): Entry => ({
    succeeded: 0,
    failed: 0,
    output: [],
    failedRows: [],
    changes: [],
    workedMs: 1,
    ...more,
  })

  const leasesOf = () => createLeases(world.store, systemClock, createTestLog().log)

  /** Two that believe to work on the same run: they have read it at the same time. */
  const bookOf = async (run: Run<string>, leases = leasesOf()) => {
    const lease = await leases.take(`${runs.kind}/${run.id}`)
    if (!lease) throw new Error('somebody else is at it')
    const progress = createProgress({ base: world.store, runs, lease, run, columns: ['name'] })
    return { progress, lease }
  }

  const found = async (key: { accountId: string; id: string }) => {
    await world.store.fence()
    const run = await runs.run(key)
    if (!run) throw new Error('there is no run')
    return run
  }

  it('is entered by nobody whose lease has gone to another, although the run stands where it stood', async () => {
    const key = await asked('x')
    const start = await found(key)
    const { progress, lease } = await bookOf(start)
    await lease.release()
    const { progress: other } = await bookOf(start)
    await expect(progress.enter(entry({ succeeded: 1, output: [{ name: 'twice' }] }))).rejects.toThrow(
      RunIsOver,
    )
    expect(await found(key)).toEqual(start)
    await other.enter(entry({ succeeded: 1, output: [{ name: 'once' }] }))
    expect(await found(key)).toMatchObject({ succeeded: 1, outParts: 1 })
  })

  it('is entered once from each position, although no row was finished', async () => {
    const key = await asked('x')
    const start = await found(key)
    const { progress, lease } = await bookOf(start)
    const late = createProgress({ base: world.store, runs, lease, run: start, columns: [] })
    await progress.enter(entry({ position: 'first' }))
    await expect(late.enter(entry({ position: 'first' }))).rejects.toThrow(RunIsOver)
    await progress.enter(entry({ position: 'second' }))
    expect(await found(key)).toMatchObject({ position: 'second', done: 0 })
  })

  it('of one subject is done once at a time', async () => {
    await asked('x', 'same')
    await expect(asked('y', 'same')).rejects.toMatchObject({ kind: 'datastore_conflict' })
    await asked('z', 'other')
    expect((await runs.latest(accountId, 'same'))?.detail).toBe('x')
  })

  it('makes room after its turn while others wait, and goes on where it stood', async () => {
    const turns: string[] = []
    const leases = leasesOf()
    const { log, errors } = createTestLog()
    const rounds = createRounds({ leases, store: world.store, clock: systemClock, log })
    const work: WorkerTools<string>['work'] = async (run, lease, signal) => {
      const name = run.detail ?? ''
      turns.push(name)
      const progress = createProgress({ base: world.store, runs, lease, run, columns: [] })
      if (name === 'long' && turns.includes('short')) expect(run.position).toBe('left here')
      else if (name === 'long') {
        // Never ends by itself.
        await progress.enter(entry({ position: 'left here' }))
        if (!signal.aborted) await once(signal, 'abort')
        return
      }
      const set = new ChangeSet({ requestId: 'test' })
      progress.end(set)
      set.record({ accountId, kind: 'note', id: run.id, action: 'created' })
      await world.store.commit(set)
    }
    const workers = createWorkers({
      base: world.store,
      runs,
      leases,
      rounds,
      node: 'n',
      log,
      metrics: createMetrics(),
      mostAtOnce: async () => 1,
      turnMs: 5,
      work,
    })
    const [long, short] = [await asked('long'), await asked('short')]
    for (const round of workers.rounds) rounds.add(round)
    rounds.start()
    for (const key of [long, short])
      await eventually(
        () => found(key),
        ({ state }) => state === 'ended',
      )
    expect(turns[0]).toBe('long')
    expect(turns.at(-1)).toBe('long')
    expect(turns.filter((name) => name === 'short')).toHaveLength(1)
    await rounds.stop()
    await workers.stop()
    await leases.stop()
    expect(errors()).toEqual([])
  })

  it('that cannot be done does not hold up what else its account waits for', async () => {
    const leases = leasesOf()
    const { log } = createTestLog()
    const rounds = createRounds({ leases, store: world.store, clock: systemClock, log })
    const workers = createWorkers({
      base: world.store,
      runs,
      leases,
      rounds,
      node: 'n',
      log,
      metrics: createMetrics(),
      mostAtOnce: async () => 1,
      async work(run, lease) {
        if (run.detail === 'broken') throw new Error('it cannot be done')
        const progress = createProgress({ base: world.store, runs, lease, run, columns: [] })
        const set = new ChangeSet({ requestId: 'test' })
        progress.end(set)
        set.record({ accountId, kind: 'note', id: run.id, action: 'created' })
        await world.store.commit(set)
      },
    })
    const [broken, sound] = [await asked('broken'), await asked('sound')]
    for (const round of workers.rounds) rounds.add(round)
    rounds.start()
    await eventually(
      () => {
        workers.wake()
        return found(sound)
      },
      ({ state }) => state === 'ended',
      3000,
    )
    expect((await found(broken)).state).toBe('executing')
    await rounds.stop()
    await workers.stop()
    await leases.stop()
  })
})
