// Jobs (jobs/queue.ts): committed with what they follow from, carried out at least once, concluded once.

import { beforeEach, expect, it } from 'vitest'
import { type Conclusion, createQueue, type JobKind } from '../../src/jobs/queue.ts'
import { datastoreConflict, failure } from '../../src/lib/failure.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { JobDraft } from '../../src/storage/job-draft.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestClock } from '../support/run/clock.ts'
import { createTestLog } from '../support/run/log.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

interface Letter {
  says: string
}

const accountOf = (name: string) => name.repeat(32)

const kindOf = (
  kind: string,
  parts: Partial<JobKind<Letter, string>> & Pick<JobKind<Letter, string>, 'ask'>,
): JobKind<Letter, string> => ({ kind, maxConcurrent: 1, conclude: () => ({ state: 'done' }), ...parts })

describeEngines('the work queue', (engine) => {
  const clock = createTestClock()
  const world = sharedBySuite(
    async () => {
      const { db, reopen, close } = await openTestDatabase(engine)
      return { store: createStore(db, clock), other: createStore(reopen(), clock), reopen, close }
    },
    ({ close }) => close(),
  )
  let made = 0
  let kind: string
  let log: ReturnType<typeof createTestLog>

  beforeEach(() => {
    made += 1
    kind = `kind ${made}`
    log = createTestLog()
  })

  const noted = (id = 'x') =>
    new ChangeSet({ requestId: 'test' }).record({
      accountId: accountOf('a'),
      kind: 'note',
      id,
      action: 'created',
    })

  const job = (id: string, more: Partial<JobDraft<Letter>> = {}): JobDraft<Letter> => ({
    kind,
    id,
    accountId: accountOf('a'),
    payload: { says: id },
    ...more,
  })

  const wanting = (...jobs: JobDraft<Letter>[]) => {
    const set = noted()
    for (const one of jobs) set.job(one)
    return world.store.commit(set)
  }

  const queueOn = (store = world.store) => createQueue({ store, log: log.log, metrics: createMetrics() })
  const run = async (of: JobKind<Letter, string>, queue = queueOn()) => {
    await queue.scheduled(of).run(new AbortController().signal, { sql: '', params: [] })
    return queue
  }

  /** Runs all due jobs, and returns their requests in order. */
  const asked = async (parts: Partial<JobKind<Letter, string>> = {}) => {
    const said: string[] = []
    const ask: JobKind<Letter, string>['ask'] = async ({ payload }) => {
      said.push(payload.says)
      return 'yes'
    }
    await run(kindOf(kind, { ask, ...parts }))
    return said
  }

  it('carries out what was committed, and nothing of what was not', async () => {
    await wanting(job('one'))
    const refused = noted().job(job('never'))
    refused.run("UPDATE work SET state = state WHERE kind = 'nobody'", [], {
      rows: 1,
      orElse: () => failure(datastoreConflict, {}),
    })
    await expect(world.store.commit(refused)).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await asked()).toEqual(['one'])
    expect(await asked()).toEqual([])
  })

  it('keeps how a job ended, and nothing of what it said', async () => {
    await wanting(job('one'))
    const queue = await run(
      kindOf(kind, { ask: async () => 'yes', conclude: () => ({ state: 'failed', outcome: 'no\r\nroom' }) }),
    )
    expect(await queue.find(kind, 'one')).toEqual({
      kind,
      id: 'one',
      accountId: accountOf('a'),
      subject: '',
      state: 'failed',
      dueAt: 0,
      since: clock.now(),
      attempts: 1,
      marks: 1,
      payload: '{}',
      outcome: 'no room',
      finishedAt: clock.now(),
    })
  })

  it('leaves nothing of what is to be forgotten', async () => {
    await wanting(job('one'))
    const queue = await run(
      kindOf(kind, { ask: async () => 'yes', conclude: () => ({ state: 'forgotten' }) }),
    )
    expect(await queue.find(kind, 'one')).toBeUndefined()
  })

  it('has failed when it could not be carried out as often as its kind is tried', async () => {
    await wanting(job('one'))
    const dead = kindOf(kind, { maxAttempts: 2, ask: () => Promise.reject(new Error('no response')) })
    const queue = await run(dead)
    expect(await queue.find(kind, 'one')).toMatchObject({ state: 'waiting', attempts: 1 })
    clock.advance({ seconds: 1 })
    await run(dead)
    expect(await queue.find(kind, 'one')).toMatchObject({
      state: 'failed',
      attempts: 2,
      outcome: 'no response',
      payload: '{}',
    })
  })

  it('fails the whole run when its end cannot be stored', async () => {
    await wanting(job('one'))
    const lost = world.reopen()
    const ask = async () => {
      await lost.close()
      // The suite closes it once more.
      lost.close = async () => undefined
      return 'yes'
    }
    await expect(run(kindOf(kind, { ask }), queueOn(createStore(lost, clock)))).rejects.toThrow()
    expect(await asked()).toEqual(['one'])
  })

  it('is waited for by a stop as long as its kind says, and then carried out again', async () => {
    await wanting(job('one'))
    const stop = new AbortController()
    const answered = Promise.withResolvers<string>()
    const slow = kindOf(kind, {
      stopTimeoutMs: 1,
      ask: () => {
        stop.abort()
        return answered.promise
      },
    })
    const queue = queueOn()
    await queue.scheduled(slow).run(stop.signal, { sql: '', params: [] })
    answered.resolve('late')
    expect(await queue.find(kind, 'one')).toMatchObject({ state: 'waiting', attempts: 0 })
    expect(await asked()).toEqual(['one'])
  })

  it('writes what follows from an answer in one piece with the end of the job', async () => {
    await wanting(job('one'))
    const conclude = (): Conclusion<Letter> => ({
      state: 'done',
      sets: [noted('after').job(job('two'))],
    })
    const said: string[] = []
    const ask: JobKind<Letter, string>['ask'] = async ({ id }) => {
      said.push(id)
      return id
    }
    const queue = queueOn()
    await run(
      kindOf(kind, { ask, conclude: (_, id) => (id === 'one' ? conclude() : { state: 'done' }) }),
      queue,
    )
    expect(said).toEqual(['one', 'two'])
    expect(await queue.find(kind, 'two')).toMatchObject({ state: 'done' })
  })

  it('asks again after a pause that grows, and says why', async () => {
    await wanting(job('one'))
    const dead = kindOf(kind, { ask: () => Promise.reject(new Error('no response')) })
    const queue = await run(dead)
    const first = await queue.find(kind, 'one')
    expect(first).toMatchObject({
      state: 'waiting',
      attempts: 1,
      outcome: 'no response',
      dueAt: clock.now() + 1000,
    })
    expect(log.errors()).toHaveLength(1)
    expect(await asked()).toEqual([])
    clock.advance({ seconds: 1 })
    await run(dead)
    expect(await queue.find(kind, 'one')).toMatchObject({ attempts: 2, dueAt: clock.now() + 2000 })
    clock.advance({ seconds: 2 })
    expect(await asked()).toEqual(['one'])
  })

  it('waits until its time has come, and until it is switched on', async () => {
    await wanting(job('later', { dueAt: clock.now() + 5000 }), job('now'))
    expect(await asked({ isOn: async () => false })).toEqual([])
    expect(await asked()).toEqual(['now'])
    clock.advance({ seconds: 5 })
    expect(await asked()).toEqual(['later'])
  })

  it('is one job, however often it is asked for, with what was asked for last', async () => {
    await wanting(job('one'))
    await wanting(job('one', { payload: { says: 'again' }, dueAt: clock.now() + 1000 }))
    await wanting(job('two', { dueAt: clock.now() + 1000 }))
    await wanting(job('two', { payload: { says: 'soon' }, again: 'keep' }))
    expect(await asked()).toEqual([])
    clock.advance({ seconds: 1 })
    expect((await asked()).sort()).toEqual(['again', 'soon'])
  })

  it('is carried out again when it was requested again during its run', async () => {
    await wanting(job('one'))
    const said: string[] = []
    const ask: JobKind<Letter, string>['ask'] = async ({ payload }) => {
      said.push(payload.says)
      if (said.length === 1) await wanting(job('one', { payload: { says: 'changed' } }))
      return 'yes'
    }
    await run(kindOf(kind, { ask }))
    expect(said).toEqual(['one', 'changed'])
  })

  it.each(['move', 'keep'] as const)(
    'leaves jobs that are requested during a run to the next run: %s',
    async (again) => {
      await wanting(job('busy', { dueAt: clock.now() }))
      let times = 0
      const ask: JobKind<Letter, string>['ask'] = async () => {
        times += 1
        if (times > 9) throw new Error('it never ends')
        clock.advance({ seconds: 1 })
        await wanting(job('busy', { dueAt: clock.now(), again }))
        return 'yes'
      }
      await run(kindOf(kind, { ask }))
      expect(times).toBe(1)
      expect(await asked()).toEqual(['busy'])
    },
  )

  it('carries out jobs about one subject in the order in which they were asked for, whatever their times', async () => {
    await wanting(job('b', { subject: kind, dueAt: clock.now() + 1000 }))
    await wanting(job('a', { subject: kind }))
    await wanting(job('other'))
    expect(await asked()).toEqual(['other'])
    clock.advance({ seconds: 1 })
    expect(await asked()).toEqual(['b', 'a'])
  })

  it('lets no account wait until all jobs of another one are done', async () => {
    const many = Array.from({ length: 300 }, (_, index) => job(`many ${index}`))
    await wanting(...many)
    await wanting(job('few', { accountId: accountOf('b') }))
    const said = await asked()
    expect(said).toHaveLength(301)
    expect(said.indexOf('few')).toBeLessThan(2)
  })

  it('comes to an end while jobs of many accounts wait for something else of their subjects', async () => {
    const accountIds = Array.from({ length: 12 }, (_, index) => index.toString(16).padStart(32, '0'))
    const blocked = accountIds.flatMap((accountId, index) => [
      job(`first ${index}`, { accountId, subject: `${kind} ${index}`, dueAt: clock.now() + 1000 }),
      job(`second ${index}`, { accountId, subject: `${kind} ${index}` }),
    ])
    await wanting(...blocked, ...Array.from({ length: 12 }, (_, index) => job(`free ${index}`)))
    let looks = 0
    const all: typeof world.store.all = (sql, params) => {
      looks += 1
      if (looks > 500) throw new Error('it looks and looks')
      return world.store.all(sql, params)
    }
    const said: string[] = []
    const ask: JobKind<Letter, string>['ask'] = async ({ payload }) => {
      said.push(payload.says)
      return 'yes'
    }
    await run(kindOf(kind, { ask }), queueOn({ ...world.store, all }))
    expect(said).toHaveLength(12)
  })

  it('begins nothing more once the outside is not there', async () => {
    await wanting(job('one'), job('two'))
    const down = () => ({ state: 'waiting', isOutsideDown: true }) as const
    expect(await asked({ conclude: down })).toHaveLength(1)
    clock.advance({ seconds: 10 })
    expect(await asked()).toHaveLength(2)
  })

  it('is concluded by one of two who know the answer', async () => {
    await wanting(job('one'))
    const others = queueOn(world.other)
    const own = kindOf(kind, {
      ask: async () => 'late',
      conclude: (_, answer) => ({
        state: 'done',
        outcome: answer,
        sets: [noted().job(job(answer, { dueAt: clock.now() + 1000 }))],
      }),
    })
    others.scheduled({ ...own, ask: async () => 'early' })
    let isAsked = false
    const queue = await run({
      ...own,
      ask: async () => {
        if (!isAsked) await others.now(kind, 'one')
        isAsked = true
        return 'late'
      },
    })
    expect(await queue.find(kind, 'one')).toMatchObject({ state: 'done', outcome: 'early', attempts: 1 })
    expect(await queue.find(kind, 'early')).toMatchObject({ state: 'waiting', attempts: 0 })
    expect(await queue.find(kind, 'late')).toBeUndefined()
  })

  it('is carried out at once for a caller who waits for it', async () => {
    await wanting(job('one', { dueAt: clock.now() + 60_000 }))
    const queue = queueOn()
    queue.scheduled(kindOf(kind, { ask: async () => 'yes' }))
    expect(await queue.now(kind, 'one')).toMatchObject({ state: 'done' })
    expect(await queue.now(kind, 'nothing')).toBeUndefined()
  })

  it('is not carried out at once before what comes first in its subject', async () => {
    await wanting(job('first', { subject: kind }))
    await wanting(job('second', { subject: kind, dueAt: clock.now() + 60_000 }))
    const said: string[] = []
    const ask: JobKind<Letter, string>['ask'] = async ({ id }) => {
      said.push(id)
      return 'yes'
    }
    const queue = queueOn()
    const scheduled = queue.scheduled(kindOf(kind, { ask }))
    expect(await queue.now(kind, 'second')).toMatchObject({ state: 'waiting', attempts: 0 })
    expect(said).toEqual([])
    await scheduled.run(new AbortController().signal, { sql: '', params: [] })
    expect(await queue.now(kind, 'second')).toMatchObject({ state: 'done' })
    expect(said).toEqual(['first', 'second'])
  })

  it('is forgotten some days after its end', async () => {
    await wanting(job('ended'), job('waits', { dueAt: clock.now() + 10 * 24 * 3_600_000 }))
    await asked()
    const queue = queueOn()
    clock.advance({ hours: 8 * 24 })
    await queue.tidying(async () => 7).run(new AbortController().signal, { sql: '', params: [] })
    expect((await queue.page({ kind, limit: 10, descending: false })).map(({ id }) => id)).toEqual(['waits'])
  })
})
