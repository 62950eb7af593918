// Batches: taken up by one process at a time, each commit once, however the work is left.

import { beforeEach, expect, it } from 'vitest'
import { createBatches, createProgress, endsTheWork, type RunProgress } from '../../src/batches/batches.ts'
import { type BatchRun, createRunStore, type RunKey } from '../../src/batches/store.ts'
import { createLeases, type Lease } from '../../src/jobs/leases.ts'
import { createScheduler } from '../../src/jobs/scheduler.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { newId } from '../../src/lib/ids.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

const accountId = 'a'.repeat(32)

const identity = (value: unknown) => value

describeEngines('a batch', (engine) => {
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

  const leasesOf = () => createLeases(world.store, systemClock, createTestLog().log)

  const progressOf = (run: BatchRun<string>, lease: Lease) =>
    createProgress({ base: world.store, runs }, lease, run, {
      signal: lease.lost,
      mayGoOn: async () => true,
    })

  const taken = async (run: BatchRun<string>) => {
    const lease = await leasesOf().take(`${runs.kind}/${run.id}`)
    if (!lease) throw new Error('another process has the lease')
    return { lease, progress: progressOf(run, lease) }
  }

  const outputOf = (name: string) => ({ columns: ['name'], rows: [{ name }] })

  const refused = async (entered: Promise<void>) =>
    expect(endsTheWork(await entered.catch(identity))).toBe(true)

  const found = async (key: { accountId: string; id: string }) => {
    await world.store.fence()
    const run = await runs.run(key)
    if (!run) throw new Error('there is no run')
    return run
  }

  it('takes no entry from a process whose lease another one has, although the progress is the same', async () => {
    const key = await asked('x')
    const start = await found(key)
    const { progress, lease } = await taken(start)
    await lease.release()
    const { progress: other } = await taken(start)
    await refused(progress.enter({ succeeded: 1, output: outputOf('twice') }))
    expect(await found(key)).toEqual(start)
    await other.enter({ succeeded: 1, output: outputOf('once') })
    expect(await found(key)).toMatchObject({ succeeded: 1, outParts: 1 })
  })

  it('takes one entry at each position, although no row was finished', async () => {
    const key = await asked('x')
    const start = await found(key)
    const { progress, lease } = await taken(start)
    const late = progressOf(start, lease)
    await progress.enter({ position: 'first' })
    await refused(late.enter({ position: 'first' }))
    await progress.enter({ position: 'second' })
    expect(await found(key)).toMatchObject({ position: 'second', done: 0 })
  })

  it('of one subject is done once at a time', async () => {
    await asked('x', 'same')
    await expect(asked('y', 'same')).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    await asked('z', 'other')
    expect((await runs.latest(accountId, 'same'))?.detail).toBe('x')
  })

  /** Works on runs in one process until all of `keys` have ended. */
  const performed = async (
    keys: readonly RunKey[],
    work: (progress: RunProgress<string>) => Promise<void>,
    turnMs?: number,
  ) => {
    const leases = leasesOf()
    const { log, errors } = createTestLog()
    const scheduler = createScheduler({ leases, store: world.store, clock: systemClock, log })
    const batches = createBatches({
      base: world.store,
      runs,
      leases,
      scheduler,
      node: 'n',
      log,
      metrics: createMetrics(),
      maxConcurrentRuns: async () => 1,
      ...(turnMs === undefined ? {} : { turnMs }),
      work,
    })
    for (const job of batches.jobs) scheduler.add(job)
    scheduler.start()
    for (const key of keys)
      await eventually(
        () => {
          batches.wake()
          return found(key)
        },
        ({ state }) => state === 'ended',
      )
    await scheduler.stop()
    await batches.stop()
    await leases.stop()
    return errors()
  }

  const end = (progress: RunProgress<string>) =>
    progress.end(
      new ChangeSet({ requestId: 'test' }).record({
        accountId,
        kind: 'note',
        id: progress.run.id,
        action: 'created',
      }),
    )

  it('that steps back is behind all others of its account, also behind one that waits since the same moment or a later one', async () => {
    const [first, second] = [await asked('first'), await asked('second')]
    const later = systemClock.now() + 60_000
    const sql = 'UPDATE long_runs SET since = $1 WHERE id = $2'
    await world.store.writeUnrecorded([{ sql, params: [later, second.id] }])
    await runs.stepBack(first)
    const since = new Map((await runs.waiting()).map((run) => [run.id, run.since]))
    expect(since).toEqual(
      new Map([
        [first.id, later + 1],
        [second.id, later],
      ]),
    )
  })

  it('leaves its process to others that wait when its turn is over, and continues behind its last entry', async () => {
    const turns: [name: string, position: string | undefined][] = []
    const keys = [await asked('long'), await asked('short')]
    const work = async (progress: RunProgress<string>) => {
      const { detail = '', position } = progress.run
      turns.push([detail, position])
      if (detail === 'short' || turns.some(([name]) => name === 'short')) return end(progress)
      do await progress.enter({ position: 'left here' })
      while (await progress.mayGoOn())
    }
    expect(await performed(keys, work, 0)).toEqual([])
    expect(turns).toEqual([
      ['long', undefined],
      ['short', undefined],
      ['long', 'left here'],
    ])
  })

  it('that fails does not hold up the others of its account', async () => {
    const [broken, sound] = [await asked('broken'), await asked('sound')]
    const errors = await performed([sound], async (progress) => {
      if (progress.run.detail === 'broken') throw new Error('it cannot be done')
      return end(progress)
    })
    expect(errors.length).toBeGreaterThan(0)
    expect((await found(broken)).state).toBe('executing')
  })
})
