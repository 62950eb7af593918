// What one process at a time may work on (jobs/leases.ts), and what is done again and again (jobs/scheduler.ts).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createLeases, type Lease, thisProcess } from '../../src/jobs/leases.ts'
import { createScheduler, type ScheduledJob } from '../../src/jobs/scheduler.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { Statement } from '../../src/storage/db.ts'
import { createLeaseRows, createScheduleRows, type Holder } from '../../src/storage/leases.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestClock } from '../support/run/clock.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { createFaults } from '../support/servers/faulty-database.ts'

describeEngines('a lease', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      const faults = createFaults()
      const stores = [createStore(faults.over(db), clock), createStore(reopen(), clock)] as const
      const [one, other] = stores.map((store) => createLeases(store, clock, createTestLog().log))
      return { store: stores[0], faults: faults.state, one, other, close } as {
        store: (typeof stores)[0]
        faults: typeof faults.state
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

  it.each(['refused', 'unheard'] as const)(
    'is free again as soon as the store is back from an outage in which it could not be released (%s)',
    async (fault) => {
      const lease = await world.one.take('digging')
      let asked = 0
      world.faults.onWrite = () => (asked++ < 2 ? fault : undefined)
      await expect(lease?.release()).rejects.toMatchObject({ kind: { name: 'datastore_unreachable' } })
      const next = await eventually(
        () => world.other.take('digging'),
        (taken) => taken !== undefined,
      )
      await next?.release()
      world.faults.onWrite = () => undefined
    },
  )

  it('is free again when the response that it was taken is lost', async () => {
    let asked = 0
    world.faults.onWrite = () => (asked++ < 1 ? 'unheard' : undefined)
    await expect(world.one.take('hoeing')).rejects.toMatchObject({ kind: { name: 'datastore_unreachable' } })
    expect(await world.other.isHeld('hoeing')).toBe(true)
    const next = await eventually(
      () => world.other.take('hoeing'),
      (taken) => taken !== undefined,
    )
    await next?.release()
    world.faults.onWrite = () => undefined
  })

  it('goes to exactly one of many who want it at once', async () => {
    const wanted = Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? world.one : world.other).take('raking'),
    )
    const taken = (await Promise.all(wanted)).filter((lease) => lease !== undefined)
    expect(taken).toHaveLength(1)
    await taken[0]?.release()
  })

  it('prevents every guarded write once another process holds it', async () => {
    const stale = await world.one.take('sowing')
    clock.advance({ seconds: 16 })
    const fresh = await world.other.take('sowing')
    expect(fresh).toBeDefined()
    const set = noted('late')
    stale?.guard(set)
    await expect(world.store.commit(set)).rejects.toMatchObject({ kind: { name: 'lease_lost' } })
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

  const heldBy = (name: string, holder: Holder) => {
    const row = { token: 'old', holder, expiresAt: clock.now() + 10_000 }
    return createLeaseRows(world.store).put(name, row, undefined, () => new Error('unexpected') as never)
  }

  // No process has this number: Linux ends at 4,194,304.
  const gone: Holder = { ...thisProcess, pid: 4_999_999, process: 'gone' }

  it('is free at once when its process died on this machine', async () => {
    await heldBy('weeding', gone)
    await heldBy('watering', { host: 'elsewhere.test', pid: gone.pid, process: 'gone' })
    const lease = await world.one.take('weeding')
    expect(lease).toBeDefined()
    expect(await world.one.take('watering')).toBeUndefined()
    clock.advance({ seconds: 11 })
    const late = await world.one.take('watering')
    expect(late).toBeDefined()
    await lease?.release()
    await late?.release()
  })

  const onLinux = it.runIf(process.platform === 'linux')
  const { birth } = thisProcess

  onLinux('is not taken from who has another boot or PID namespace, whatever the host name', async () => {
    if (!birth) throw new Error('this process knows nothing of its birth')
    const elsewhere: [string, Holder][] = [
      ['another boot', { ...gone, birth: { ...birth, boot: 'another' } }],
      ['another namespace', { ...gone, birth: { ...birth, namespace: 'pid:[1]' } }],
      ['an older version', { host: gone.host, pid: gone.pid, process: 'gone' }],
    ]
    for (const [name, holder] of elsewhere) {
      await heldBy(name, holder)
      expect(await world.one.take(name), name).toBeUndefined()
    }
  })

  onLinux('is free at once when its number belongs to another process now', async () => {
    if (!birth) throw new Error('this process knows nothing of its birth')
    await heldBy('pruning', { ...thisProcess, process: 'earlier', birth: { ...birth, started: '1' } })
    const lease = await world.one.take('pruning')
    expect(lease).toBeDefined()
    await lease?.release()
    await heldBy('picking', { ...thisProcess, process: 'beside' })
    expect(await world.one.take('picking')).toBeUndefined()
  })

  onLinux('is free at once when its process was killed and its parent has not reaped it', async () => {
    if (!birth) throw new Error('this process knows nothing of its birth')
    // The shell becomes a sleeper that never reaps the child it had. Until then it would.
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000'])
    const [output] = await once(parent.stdout, 'data')
    await eventually(
      () => readFileSync(`/proc/${parent.pid}/comm`, 'latin1').trim(),
      (name) => name === 'sleep',
    )
    const pid = Number(String(output))
    const fieldsOf = () => {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
      return text.slice(text.lastIndexOf(')') + 2).split(' ')
    }
    const holder = {
      ...thisProcess,
      pid,
      process: 'killed',
      birth: { ...birth, started: String(fieldsOf()[19]) },
    }
    await heldBy('digging', holder)
    expect(await world.one.take('digging')).toBeUndefined()
    process.kill(pid, 'SIGKILL')
    await eventually(fieldsOf, ([state]) => state === 'Z')
    const lease = await world.one.take('digging')
    expect(lease).toBeDefined()
    await lease?.release()
    parent.kill('SIGKILL')
    await once(parent, 'exit')
  })

  it('runs a scheduled job once per interval across all processes', async () => {
    const done: string[] = []
    const make = (name: 'one' | 'other') => {
      const scheduler = createScheduler({
        leases: world[name],
        store: world.store,
        clock,
        log: createTestLog().log,
      })
      scheduler.add({ name: 'daily', everySeconds: 86_400, run: async () => void done.push(name) })
      return scheduler
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

  it('runs a scheduled job soon after it was woken, and survives a failure', async () => {
    const { log, entries } = createTestLog()
    const scheduler = createScheduler({ leases: world.one, store: world.store, clock, log })
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs === 1) throw new Error('the first time')
    }
    scheduler.add({ name: 'queue', everySeconds: 3600, due: async () => false, run })
    scheduler.start()
    scheduler.wake('queue')
    await eventually(
      () => runs,
      (count) => count === 1,
    )
    scheduler.wake('queue')
    await eventually(
      () => runs,
      (count) => count === 2,
    )
    await scheduler.stop()
    expect(entries.map(({ message }) => message)).toEqual(['a scheduled job failed'])
  })

  it('runs a scheduled job only when it is woken, if started that way', async () => {
    const { log } = createTestLog()
    const scheduler = createScheduler({ leases: world.one, store: world.store, clock, log })
    const done: string[] = []
    scheduler.add({ name: 'by time', everySeconds: 1, run: async () => void done.push('by time') })
    scheduler.add({ name: 'woken', everySeconds: 1, run: async () => void done.push('woken') })
    scheduler.start(true)
    for (const count of [1, 2]) {
      scheduler.wake('woken')
      await eventually(
        () => done,
        (names) => names.length === count,
      )
    }
    await scheduler.stop()
    expect(done).toEqual(['woken', 'woken'])
  })

  /** A job that loses its lease in the given way the first time that it is done, and is done again. */
  const losingOnce = async (
    job: Pick<ScheduledJob, 'name' | 'everySeconds' | 'due'>,
    lose: (signal: AbortSignal, guard: Statement, taken: Lease | undefined) => Promise<unknown>,
  ) => {
    const { log, entries } = createTestLog()
    const scheduler = createScheduler({ leases: world.one, store: world.store, clock, log })
    let runs = 0
    scheduler.add({
      ...job,
      async run(signal, guard) {
        runs += 1
        if (runs > 1) return
        clock.advance({ seconds: 16 })
        await lose(signal, guard, await world.other.take(`scheduled-job/${job.name}`))
      },
    })
    scheduler.start()
    await eventually(
      () => runs,
      (count) => count === 2,
    )
    await scheduler.stop()
    expect(entries.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'a scheduled job was stopped because its lease was lost'],
    ])
  }

  const whenDue = { everySeconds: 3600, due: async () => true }

  it('leaves a job to the process that has taken it over, and looks after it again, which is no error', () =>
    losingOnce({ name: 'mowing', ...whenDue }, (_signal, guard, taken) =>
      world.store.writeUnrecorded([guard]).finally(() => taken?.release()),
    ))

  it('counts no job as done that another process has taken over in between', async () => {
    // It dies before it has done the job.
    await losingOnce({ name: 'threshing', everySeconds: 86_400 }, async (_signal, _guard, taken) =>
      taken?.release(),
    )
    expect(await createScheduleRows(world.store).doneAt('threshing')).toBeGreaterThan(0)
  })

  it('looks again after a job that heard it was taken over, and left it', () =>
    losingOnce({ name: 'reaping', ...whenDue }, async (signal, _guard, taken) => {
      if (!signal.aborted) await once(signal, 'abort')
      await taken?.release()
    }))

  it('does a job that a stop has broken off after the next start', async () => {
    let runs = 0
    const make = () => {
      const scheduler = createScheduler({
        leases: world.one,
        store: world.store,
        clock,
        log: createTestLog().log,
      })
      const run = async (signal: AbortSignal) => {
        runs += 1
        if (runs === 1) await once(signal, 'abort')
      }
      scheduler.add({ name: 'ploughing', everySeconds: 86_400, run })
      scheduler.start()
      return scheduler
    }
    const first = make()
    await eventually(
      () => runs,
      (count) => count === 1,
    )
    await first.stop()
    const second = make()
    await eventually(
      () => runs,
      (count) => count === 2,
    )
    await second.stop()
  })

  it('aborts a job when the server stops, and waits for it', async () => {
    const scheduler = createScheduler({
      leases: world.one,
      store: world.store,
      clock,
      log: createTestLog().log,
    })
    const steps: string[] = []
    const run = (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        steps.push('begun')
        signal.addEventListener('abort', () => {
          steps.push('aborted')
          resolve()
        })
      })
    scheduler.add({ name: 'endless', everySeconds: 3600, due: async () => true, run })
    scheduler.start()
    await eventually(
      () => steps,
      ([first]) => first === 'begun',
    )
    await scheduler.stop()
    expect(steps).toEqual(['begun', 'aborted'])
  })
})
