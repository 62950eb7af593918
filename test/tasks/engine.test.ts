// How tasks run: every row once and in order, whatever happens in between. The action is the tests' own.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ChargePreview, InputAction, OutputAction } from '../../src/areas/work/tasks/operations.ts'
import type { AccountRecord } from '../../src/auth/identity.ts'
import { accountMember, superduper } from '../../src/auth/policies.ts'
import { failure, faultyRequest } from '../../src/lib/failure.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeAnyEngine, sharedBySuite } from '../support/servers/databases.ts'
import { createNotes, openTaskStore, operate, type Process } from '../support/world/task-engine.ts'

const csvOf = (rows: readonly string[], header = 'name') =>
  [header, ...rows].map((row) => `${row}\r\n`).join('')
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `n${String(index).padStart(6, '0')}`)

describeAnyEngine('a running task', (engine) => {
  const world = sharedBySuite(
    () => openTaskStore(engine),
    ({ close }) => close(),
  )
  let process: Process
  let account: AccountRecord
  let by: ReturnType<typeof operate>
  let calls: string[][]
  /** The action waits for this before it decides. */
  let gate: (names: string[]) => Promise<void> | void

  const look = (names: string[]) => {
    calls.push(names)
    return gate(names)
  }
  const actionsOf = (store: Process['store']) => [createNotes(store, look).action]

  const notesOf = async () => {
    const { notes } = createNotes(world.store)
    await world.store.fence()
    const found = await notes.page({ accountId: account.id, limit: 10_000, descending: false })
    return Object.fromEntries(found.map(({ id, doc }) => [id, doc.times]))
  }

  beforeEach(async () => {
    process = world.process(actionsOf)
    process.start()
    account = await world.account()
    by = operate(process, account)
    calls = []
    gate = () => {}
    await world.configure({})
  })

  afterEach(() => world.stopProcesses())

  it('processes every row once and in order, and returns the results', async () => {
    const names = numbered(180)
    const id = await by.begin(csvOf(names))
    expect(await by.ended(id)).toMatchObject({
      status: 'success',
      success_count: 180,
      failure_count: 0,
      csvs: ['in.csv', 'out.csv'],
    })
    expect(calls.flat()).toEqual(names)
    expect(calls.map((batch) => batch.length)).toEqual([40, 40, 40, 40, 20])
    // Columns that never held a value are left out.
    expect(await by.output(id)).toBe(
      csvOf(
        names.map((name) => `${name},1`),
        'name,times',
      ),
    )
    expect(await by.input(id)).toBe(csvOf(names))
    expect(await notesOf()).toEqual(Object.fromEntries(names.map((name) => [name, 1])))
  })

  it('gives the action no key twice at once, so that later rows find what earlier ones stored', async () => {
    const id = await by.begin(csvOf(['a', 'b', 'a', 'a', 'c']))
    await by.ended(id)
    expect(calls).toEqual([['a', 'b'], ['a'], ['a', 'c']])
    expect(await by.output(id)).toBe(csvOf(['a,1', 'b,1', 'a,2', 'a,3', 'c,1'], 'name,times'))
  })

  it('fails rows for themselves: bad cells, what the action says, and commits that fail for good', async () => {
    const rows = ['good,', 'bad one,', 'failing,fail', 'colliding,collide', '"nul\0",', 'fine,']
    const id = await by.begin(csvOf(rows, 'name,do'))
    expect(await by.ended(id)).toMatchObject({ status: 'partial', success_count: 2, failure_count: 4 })
    expect(await by.output(id)).toBe(
      csvOf(
        [
          'good,1,',
          'bad one,,bad field(s) name',
          'failing,,as asked',
          'colliding,,lost: datastore_conflict',
          'nul\0,,bad field(s) name',
          'fine,1,',
        ],
        'name,times,error',
      ),
    )
    expect(await notesOf()).toEqual({ fine: 1, good: 1 })
  })

  it('ends where the action crashes, with that row failed and no column left out', async () => {
    const id = await by.begin(csvOf(['a,', 'b,', 'c,crash', 'd,'], 'name,do'))
    expect(await by.ended(id)).toMatchObject({ status: 'partial', success_count: 2, failure_count: 1 })
    expect(await by.output(id)).toBe(
      csvOf(['a,1,,', 'b,1,,', 'c,,,applier crashed'], 'name,times,never,error'),
    )
    expect(await notesOf()).toEqual({ a: 1, b: 1 })
    expect(process.takeErrors().at(-1)).toMatchObject({ message: 'a task crashed', fields: { task_id: id } })
  })

  it('ends where a verifier crashes', async () => {
    const id = await by.begin(csvOf(['a', 'verifier crash', 'b']))
    expect(await by.ended(id)).toMatchObject({ status: 'partial', success_count: 1, failure_count: 1 })
    expect(await by.output(id)).toBe(csvOf(['a,1,,', 'verifier crash,,,internal'], 'name,times,never,error'))
  })

  it('ends where the action says stop, which counts as no row', async () => {
    const id = await by.begin(csvOf(['a,', 'b,stop', 'c,'], 'name,do'))
    expect(await by.ended(id)).toMatchObject({ status: 'partial', success_count: 1, failure_count: 0 })
    expect(await notesOf()).toEqual({ a: 1 })
  })

  it('is a failure when its only row crashes', async () => {
    const id = await by.begin(csvOf(['a,crash'], 'name,do'))
    expect(await by.ended(id)).toMatchObject({ status: 'failure', success_count: 0, failure_count: 1 })
  })

  it('lets no row happen after a stop was answered, wherever it was asked for', async () => {
    const other = operate(world.process(actionsOf), account)
    await world.configure({ rows_at_once: 10 })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    gate = (names) => {
      if (names.includes('n000030')) return released
    }
    const id = await by.begin(csvOf(numbered(100)))
    await eventually(
      () => calls.length,
      (count) => count === 4,
    )
    expect(await other.view(id)).toMatchObject({ status: 'executing', success_count: 30 })
    expect(await other.halt(id)).toMatchObject({ status: 'stopped', success_count: 30, failure_count: 0 })
    const before = await notesOf()
    release()
    await eventually(
      () => process.leases.take(`task/${id}`),
      (lease) => lease !== undefined,
    ).then((lease) => lease?.release())
    expect(Object.keys(before)).toHaveLength(30)
    expect(await notesOf()).toEqual(before)
    expect(calls).toHaveLength(4)
    // What is there of the output can be read, with all of its columns.
    expect(await by.output(id)).toBe(
      csvOf(
        numbered(30).map((name) => `${name},1,,`),
        'name,times,never,error',
      ),
    )
    expect(await by.view(id)).toMatchObject({ status: 'stopped', success_count: 30 })
  })

  it('continues in another process where the first one left it', async () => {
    await world.configure({ rows_at_once: 10 })
    const first = world.process(actionsOf, 'first')
    const second = world.process(actionsOf, 'second')
    // The suite's own process takes nothing.
    await process.stop()
    first.start()
    // The task gets the stop signal within its third batch.
    let isTold = false
    gate = (names) => {
      if (!names.includes('n000020')) return
      void first.tasks.stop()
      isTold = true
    }
    const id = await operate(first, account).begin(csvOf(numbered(100)))
    await eventually(
      () => isTold,
      (told) => told,
    )
    await first.stop()
    expect(calls).toHaveLength(3)
    expect((await operate(second, account).view(id)).status).toBe('executing')
    second.start()
    expect(await operate(second, account).ended(id)).toMatchObject({
      status: 'success',
      success_count: 100,
      node: 'second',
    })
    expect(await notesOf()).toEqual(Object.fromEntries(numbered(100).map((name) => [name, 1])))
    expect(await operate(second, account).output(id)).toBe(
      csvOf(
        numbered(100).map((name) => `${name},1`),
        'name,times',
      ),
    )
  })

  it('waits after each row when told so', async () => {
    await world.configure({ wait_after_row_ms: 5 })
    const id = await by.begin(csvOf(numbered(5)))
    await by.ended(id)
    expect(calls).toEqual(numbered(5).map((name) => [name]))
  })

  it('reports its progress, and its remaining time', async () => {
    await world.configure({ rows_at_once: 10 })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    gate = async (names) => {
      const pause = performance.now() + 5
      while (performance.now() < pause);
      if (names.includes('n000050')) await released
    }
    const begun = performance.now()
    const id = await by.begin(csvOf(numbered(100)))
    const view = await eventually(
      () => by.view(id),
      ({ success_count: count }) => count === 50,
    )
    const seconds = (performance.now() - begun) / 1000
    expect(view).toMatchObject({
      status: 'executing',
      total_count: 100,
      failure_count: 0,
      node: process.node,
    })
    // The second half takes as long as the first one, in whole seconds.
    expect(view.estimated_seconds_left).toBeGreaterThanOrEqual(1)
    expect(view.estimated_seconds_left).toBeLessThanOrEqual(seconds + 1)
    release()
    expect((await by.ended(id)).estimated_seconds_left).toBeUndefined()
  })

  it('counts the pauses that are still to come into the time that it will take', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    gate = ([name]) => {
      if (name === 'n000003') return released
    }
    await world.configure({ wait_after_row_ms: 1 })
    const id = await by.begin(csvOf(numbered(100)))
    await eventually(() => calls.flat().includes('n000003'), Boolean)
    await world.configure({ wait_after_row_ms: 60_000 })
    const { success_count: done, estimated_seconds_left: left } = await by.view(id)
    expect(done).toBe(3)
    expect(left).toBeGreaterThanOrEqual(97 * 60)
    expect(left).toBeLessThan(97 * 60 + 60)
    await by.halt(id)
    release()
  })

  it('stops when its maker may no longer do this', async () => {
    await world.configure({ rows_at_once: 2 })
    let passed = 0
    gate = async () => {
      passed += 1
      if (passed !== 2) return
      const set = new ChangeSet({ requestId: 'test' })
      const current = (await world.accounts.get(account.id, account.id)) as AccountRecord
      const after = world.accounts.revise(current, { hidden: { ...current.hidden, enabled: false } })
      world.accounts.replace(set, current, after)
      await world.store.commit(set)
    }
    const id = await by.begin(csvOf(numbered(10)))
    expect(await by.ended(id)).toMatchObject({ status: 'partial', success_count: 4, failure_count: 1 })
    expect(await by.output(id)).toContain('n000004,,,forbidden')
  })

  it('keeps an input of many parts byte for byte, and reads it from any row on', async () => {
    const rows = Array.from(
      { length: 3000 },
      (_, index) => `"name ${index}",${'x'.repeat(200 + (index % 90))}`,
    )
    const text = `\ufeffname,opaque.x\n${rows.join('\r')}`
    const id = await by.make(text)
    expect(await by.input(id)).toBe(text)
    const seen: string[] = []
    gate = (names) => {
      seen.push(...names)
    }
    await world.configure({ rows_at_once: 1000 })
    await by.start(id)
    expect(await by.ended(id)).toMatchObject({ status: 'success', total_count: 3000 })
    expect(seen).toEqual(rows.map((_, index) => `name ${index}`))
  })

  it('serves accounts fairly: one with many tasks does not keep others waiting', async () => {
    await world.configure({ max_running: 1 })
    const other = operate(process, await world.account())
    const order: string[] = []
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    gate = async ([name]) => {
      order.push(name as string)
      if (name === 'first') await released
    }
    const first = await by.begin(csvOf(['first']))
    await eventually(
      () => order.length,
      (count) => count === 1,
    )
    await by.begin(csvOf(['second']))
    const third = await by.begin(csvOf(['third']))
    await other.begin(csvOf(['from another account']))
    expect(order).toEqual(['first'])
    release()
    await by.ended(first)
    await by.ended(third)
    expect(order).toEqual(['first', 'from another account', 'second', 'third'])
  })

  it('leaves tasks to others when it may run none', async () => {
    await world.configure({ max_running: 0 })
    const id = await by.begin(csvOf(['a']))
    expect(await by.view(id)).toMatchObject({ status: 'executing', success_count: 0 })
    await world.configure({})
    expect(await by.ended(id)).toMatchObject({ status: 'success' })
  })

  describe('of which the failed rows are tried again', () => {
    it('makes a new task of just these', async () => {
      const id = await by.begin(csvOf(['a,', '"b, ""b""",fail', 'bad,', 'c,fail', '=d,fail'], 'name,do'))
      await by.ended(id)
      const again = await by.retry(id)
      expect(await by.view(again)).toMatchObject({
        status: 'pending',
        retry_of: id,
        total_count: 4,
        category: 'notes',
        action: 'write',
      })
      expect(await by.input(again)).toBe(csvOf(['"b, ""b""",fail', 'bad,', 'c,fail', '=d,fail'], 'name,do'))
    })

    it('keeps cells that were defused as they came, so that none is restored twice', async () => {
      const id = await by.begin(csvOf(["''=d,fail"], 'name,do'))
      await by.ended(id)
      const again = await by.retry(id)
      expect(await by.input(again)).toBe(csvOf(["''=d,fail"], 'name,do'))
    })

    it('refuses a task that has not ended, or in which nothing failed', async () => {
      const pending = await by.make(csvOf(['a']))
      await expect(by.retry(pending)).rejects.toMatchObject({
        details: { cause: pending, reason: 'task is not finished' },
      })
      await by.start(pending)
      await by.ended(pending)
      await expect(by.retry(pending)).rejects.toMatchObject({
        details: { cause: pending, reason: 'task has no failed rows' },
      })
    })
  })

  describe('that was stopped and continues', () => {
    /** Stops a task when this many rows of it are done, and gives what came of it. */
    const stopBehind = async (id: string, count: number) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const next = numbered(count + 1).at(-1) as string
      gate = (names) => {
        if (names.includes(next)) return released
      }
      await by.start(id)
      await eventually(() => calls.flat().includes(next), Boolean)
      const view = await by.halt(id)
      release()
      gate = () => {}
      return view
    }

    it('does in a new task each row that was not reached, and no other', async () => {
      await world.configure({ rows_at_once: 10 })
      const id = await by.make(csvOf(numbered(60), 'name'), { fileName: 'names.csv' })
      expect(await stopBehind(id, 20)).toMatchObject({ status: 'stopped', success_count: 20 })
      const next = await by.continue(id)
      expect(await by.view(next)).toMatchObject({
        status: 'pending',
        continuation_of: id,
        file_name: 'names.csv',
        total_count: 40,
      })
      expect(await by.input(next)).toBe(csvOf(numbered(60).slice(20)))
      expect(await stopBehind(next, 50)).toMatchObject({ status: 'stopped', success_count: 30 })
      const last = await by.continue(next)
      await by.start(last)
      expect(await by.ended(last)).toMatchObject({ status: 'success', success_count: 10 })
      expect(await notesOf()).toEqual(Object.fromEntries(numbered(60).map((name) => [name, 1])))
      expect((await by.view(id)).continued_by).toBe(next)
      expect((await by.view(next)).continued_by).toBe(last)
    })

    it('keeps each cell as it was', async () => {
      const rows = ['a,', '"b, ""b""","x\ny"', '=c,fail']
      await world.configure({ max_running: 0 })
      const id = await by.begin(csvOf(rows, 'name,do'))
      await by.halt(id)
      expect(await by.input(await by.continue(id))).toBe(csvOf(rows, 'name,do'))
    })

    it('is started in one task only, whichever of several that is', async () => {
      await world.configure({ max_running: 0 })
      const id = await by.begin(csvOf(['a']))
      await by.halt(id)
      const [one, other] = [await by.continue(id), await by.continue(id)]
      await by.remove(one)
      const third = await by.continue(id)
      await by.start(third)
      const before = await by.view(other)
      await expect(by.start(other)).rejects.toMatchObject({
        kind: { name: 'bad_identifier' },
        details: { cause: other, reason: 'another task runs these rows' },
      })
      expect(await by.view(other)).toEqual(before)
      await by.halt(third)
    })

    it('names a row to the outside as it was named before', async () => {
      await world.configure({ rows_at_once: 10 })
      const named: string[] = []
      const naming = (store: Process['store']) => {
        const action = createNotes(store, look).action as InputAction
        const run: InputAction['run'] = (rows, context) => {
          named.push(...rows.map(({ number }) => context.idOfRow(number)))
          return action.run(rows, context)
        }
        return [{ ...action, run }]
      }
      await process.stop()
      const other = world.process(naming)
      other.start()
      by = operate(other, account)
      const id = await by.make(csvOf(numbered(40)))
      await stopBehind(id, 20)
      const next = await by.continue(id)
      await by.start(next)
      await by.ended(next)
      expect(new Set(named)).toEqual(new Set(numbered(40).map((_, at) => `${id}-${at + 1}`)))
    })

    it('refuses a task that was not stopped', async () => {
      const id = await by.make(csvOf(['a']))
      const refusal = { details: { cause: id, reason: 'task was not stopped' } }
      await expect(by.continue(id)).rejects.toMatchObject(refusal)
      await by.start(id)
      await by.ended(id)
      await expect(by.continue(id)).rejects.toMatchObject(refusal)
    })
  })

  describe('that is dry', () => {
    it('writes what a real run would, and changes nothing', async () => {
      const rows = ['a,', 'bad,', 'b,', 'a,', 'c,fail', 'a,', 'b,']
      await by.ended(await by.begin(csvOf(['b,'], 'name,do')))
      const before = await notesOf()
      const dry = await by.begin(csvOf(rows, 'name,do'), { dryRun: true })
      expect(await by.ended(dry)).toMatchObject({
        status: 'partial',
        success_count: 5,
        failure_count: 2,
        dry_run: true,
      })
      expect(await notesOf()).toEqual(before)
      const real = await by.begin(csvOf(rows, 'name,do'))
      await by.ended(real)
      expect(await by.output(dry)).toBe(await by.output(real))
      expect(await by.view(await by.retry(dry))).toMatchObject({ dry_run: true })
      expect((await by.view(await by.retry(dry, false))).dry_run).toBeUndefined()
    })

    it('knows in another process what its earlier rows would have stored', async () => {
      await world.configure({ rows_at_once: 3 })
      const first = world.process(actionsOf)
      const second = world.process(actionsOf)
      await process.stop()
      first.start()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      gate = (names) => {
        if (names.includes('hold')) return released
      }
      const rows = ['a', 'b', 'c', 'a', 'b', 'hold', 'a', 'c', 'a']
      const id = await operate(first, account).begin(csvOf(rows), { dryRun: true })
      await eventually(() => calls.flat().includes('hold'), Boolean)
      const leaving = first.stop()
      release()
      await leaving
      gate = () => {}
      second.start()
      expect(await operate(second, account).ended(id)).toMatchObject({ status: 'success', success_count: 9 })
      expect(await operate(second, account).output(id)).toBe(
        csvOf(['a,1', 'b,1', 'c,1', 'a,2', 'b,2', 'hold,1', 'a,3', 'c,2', 'a,4'], 'name,times'),
      )
      expect(await notesOf()).toEqual({})
    })

    it('reports what its rows would charge, each counted once in whichever process it ran', async () => {
      await world.configure({ rows_at_once: 2 })
      const pricing: ChargePreview<number> = {
        add: async (sum = 0, sets) => sum + sets.length,
        priced: async (sum = 0) => [
          { account_id: account.id, name: 'Payer', today: sum, recurring: 0, invoices: [] },
        ],
        terms: async () => [],
      }
      const pricedActionsOf = (store: Process['store']) =>
        actionsOf(store).map((action) =>
          action.input === 'csv' ? { ...action, foresight: pricing } : action,
        )
      const first = world.process(pricedActionsOf)
      const second = world.process(pricedActionsOf)
      await process.stop()
      first.start()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      gate = (names) => {
        if (names.includes('hold')) return released
      }
      const rows = ['a', 'bad', 'b', 'a', 'hold', 'c', 'd']
      const id = await operate(first, account).begin(csvOf(rows), { dryRun: true })
      await eventually(() => calls.flat().includes('hold'), Boolean)
      const leaving = first.stop()
      release()
      await leaving
      gate = () => {}
      second.start()
      const charges = [{ account_id: account.id, name: 'Payer', today: 6, recurring: 0, invoices: [] }]
      expect(await operate(second, account).ended(id)).toMatchObject({ success_count: 6, charges })
      const real = await operate(second, account).begin(csvOf(rows))
      expect(await operate(second, account).ended(real)).not.toHaveProperty('charges')
    })
  })

  describe('without input', () => {
    const counting = (more: Partial<OutputAction> = {}): OutputAction => ({
      category: 'counting',
      action: 'list',
      description: 'Count',
      doc: 'Counts.',
      allow: accountMember,
      input: 'none',
      columns: ['number', 'never'],
      async *parts(_context, position) {
        for (let at = Number(position ?? 0); at < 10; at += 1) {
          await look([String(at)])
          yield { rows: [{ number: at }], position: String(at + 1) }
        }
      },
      ...more,
    })
    const order = { category: 'counting', action: 'list' }
    const lines = Array.from({ length: 10 }, (_, at) => String(at))

    const begin = (action: OutputAction) => {
      const one = world.process(() => [action])
      one.start()
      return operate(one, account)
    }

    // Other processes of the suite do not know the action.
    beforeEach(() => process.stop())

    it('writes its rows', async () => {
      const counter = begin(counting())
      const id = await counter.begin(undefined, order)
      const view = await counter.ended(id)
      expect(view).toMatchObject({
        status: 'success',
        success_count: 10,
        failure_count: 0,
        csvs: ['out.csv'],
      })
      expect(view.total_count).toBeUndefined()
      expect(await counter.output(id)).toBe(csvOf(lines, 'number'))
    })

    it('continues behind the last part when another process takes it over', async () => {
      const first = world.process(() => [counting()])
      first.start()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      gate = ([name]) => {
        if (name === '5') return released
      }
      const id = await operate(first, account).begin(undefined, order)
      await eventually(
        () => calls.length,
        (count) => count === 6,
      )
      const leaving = first.stop()
      release()
      await leaving
      gate = () => {}
      const second = begin(counting())
      expect(await second.ended(id)).toMatchObject({ status: 'success', success_count: 10 })
      expect(await second.output(id)).toBe(csvOf(lines, 'number'))
      expect(calls.flat()).toEqual(['0', '1', '2', '3', '4', '5', '5', '6', '7', '8', '9'])
    })

    it('continues behind the last part after a stop, with its original parameters', async () => {
      const told = counting({ settle: () => ({ asked: calls.length }), parameters: { after: 'Never given' } })
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      gate = ([name]) => {
        if (name === '5') return released
      }
      const counter = begin(told)
      const id = await counter.begin(undefined, order)
      await eventually(
        () => calls.length,
        (count) => count === 6,
      )
      await counter.halt(id)
      release()
      gate = () => {}
      const next = await counter.continue(id)
      expect(await counter.view(next)).toMatchObject({ parameters: { asked: 0 }, continuation_of: id })
      await counter.start(next)
      expect(await counter.ended(next)).toMatchObject({ status: 'success', success_count: 5 })
      expect((await counter.output(id)) + (await counter.output(next)).replace('number\r\n', '')).toBe(
        csvOf([...lines.slice(0, 5).map((line) => `${line},`), ...lines.slice(5)], 'number,never'),
      )
    })

    it.each([
      ['failure', { failed: 1, rows: [{ number: 'x' }] }],
      ['success', { rows: [] }],
    ])('ends as %s by what its parts say', async (status, part) => {
      const counter = begin(
        counting({
          async *parts() {
            yield { ...part, position: '' }
          },
        }),
      )
      expect(await counter.ended(await counter.begin(undefined, order))).toMatchObject({ status })
    })

    it('ends as internal_error when the action crashes', async () => {
      const counter = begin(
        counting({
          async *parts() {
            yield { rows: [{ number: 1 }], position: '1' }
            throw new Error('no more')
          },
        }),
      )
      const id = await counter.begin(undefined, order)
      expect(await counter.ended(id)).toMatchObject({ status: 'internal_error', success_count: 1 })
      expect(await counter.output(id)).toBe(csvOf(['1,'], 'number,never'))
    })

    it('settles its parameters when the task is made', async () => {
      const counter = begin(
        counting({
          parameters: { upto: 'The last number' },
          settle: ({ upto }) => {
            if (upto === 'x') throw failure(faultyRequest, { message: 'no' })
            return { upto: Number(upto) }
          },
          async *parts({ parameters }) {
            yield { rows: [{ number: parameters.upto }], position: '' }
          },
        }),
      )
      const parameter = (value: string) => (name: string) => (name === 'upto' ? value : 'other')
      await expect(counter.make(undefined, { ...order, parameter: parameter('x') })).rejects.toMatchObject({
        kind: { name: 'faulty_request' },
      })
      const id = await counter.begin(undefined, { ...order, parameter: parameter('7') })
      expect(await counter.ended(id)).toMatchObject({ parameters: { upto: 7 } })
      expect(await counter.output(id)).toBe(csvOf(['7'], 'number'))
    })

    it('is refused to callers who may not use the action', async () => {
      const counter = begin(counting({ allow: superduper }))
      await expect(counter.make(undefined, order)).rejects.toMatchObject({ kind: { name: 'forbidden' } })
    })
  })

  describe('and what is left over', () => {
    const leftovers = async () => {
      const runs = await world.store.all('SELECT state FROM long_runs WHERE account_id = $1', [account.id])
      const parts = await world.store.all('SELECT name FROM long_parts WHERE account_id = $1', [account.id])
      return { states: runs.map(({ state }) => state), parts: parts.length }
    }

    it('goes with the task', async () => {
      const id = await by.begin(csvOf(['a,', 'b,fail'], 'name,do'))
      await by.ended(id)
      expect(await leftovers()).toEqual({ states: ['ended'], parts: 3 })
      await by.remove(id)
      expect(await eventually(leftovers, ({ states }) => states.length === 0)).toEqual({
        states: [],
        parts: 0,
      })
    })

    it('of a broken upload is removed at once', async () => {
      async function* broken() {
        yield Buffer.from(csvOf(numbered(60_000)))
        throw new Error('the line broke')
      }
      await expect(by.make('', { input: { kind: 'csv', chunks: broken() } })).rejects.toThrow(
        'the line broke',
      )
      expect(await leftovers()).toEqual({ states: [], parts: 0 })
    })

    it('of an upload of a dead process is swept, that of a running upload is not', async () => {
      const hour = 3_600_000
      const insert = `INSERT INTO long_runs (account_id, id, state, since) VALUES ($1, $2, 'uploading', $3)`
      const upload = (taskId: string, since: number) =>
        world.store.writeUnrecorded([
          { sql: insert, params: [account.id, taskId, since] },
          {
            sql: `INSERT INTO long_parts (account_id, run_id, name, part, first_row, content) VALUES ($1, $2, 'in.csv', 0, 0, $3)`,
            params: [account.id, taskId, Buffer.from('x')],
          },
        ])
      await upload('old', Date.now() - hour - 1)
      await upload('new', Date.now() - hour / 2)
      await process.sweep()
      const rows = await world.store.all('SELECT run_id FROM long_parts WHERE account_id = $1', [account.id])
      expect(rows).toEqual([{ run_id: 'new' }])
    })
  })
})
