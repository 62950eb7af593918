// Random operations on tasks by two processes: the results match the state table.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AccountRecord } from '../../src/auth/identity.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, sharedBySuite } from '../support/servers/databases.ts'
import { createNotes, openTaskStore, operate } from '../support/world/task-engine.ts'

type State = 'none' | 'pending' | 'executing' | 'stopped' | 'success' | 'partial' | 'failure'

const input = {
  success: 'name,do\na,\nb,\n',
  partial: 'name,do\na,\nb,fail\nc,\n',
  failure: 'name,do\na,fail\n',
}

type Outcome = keyof typeof input

const operations = ['start', 'halt', 'remove', 'retry', 'continue', 'finish'] as const
type Operation = (typeof operations)[number]

const allowed: Record<Exclude<Operation, 'finish'>, readonly State[]> = {
  start: ['pending'],
  halt: ['executing'],
  remove: ['pending', 'stopped', 'success', 'partial', 'failure'],
  retry: ['partial', 'failure'],
  continue: ['stopped'],
}

const reasonFor = (operation: Operation, state: State) => {
  if (operation === 'retry') {
    const ended = state === 'success' || state === 'stopped'
    return ended ? 'task has no failed rows' : 'task is not finished'
  }
  return {
    start: 'task already started',
    halt: 'task is not running',
    remove: 'task is running',
    continue: 'task was not stopped',
    finish: '',
  }[operation]
}

const step = fc.record({
  operation: fc.constantFrom(...operations),
  /** Which process is asked. */
  at: fc.constantFrom(0, 1),
})
const history = fc.record({
  outcome: fc.constantFrom<Outcome>('success', 'partial', 'failure'),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
})

describeEngines('random histories of a task', (engine) => {
  const world = sharedBySuite(
    () => openTaskStore(engine),
    ({ close }) => close(),
  )

  it('obey the state table', async () => {
    const account: AccountRecord = await world.account()
    const processes = [0, 1].map(() => world.process((store) => [createNotes(store).action]))
    for (const one of processes) one.start()
    const people = processes.map((one) => operate(one, account)) as [
      ReturnType<typeof operate>,
      ReturnType<typeof operate>,
    ]

    const play = async ({
      outcome,
      steps,
    }: {
      outcome: Outcome
      steps: readonly { operation: Operation; at: number }[]
    }) => {
      // Started tasks wait until a step lets them run.
      await world.configure({ max_running: 0 })
      const [one, other] = people
      const id = await one.make(input[outcome])
      let state: State = 'pending'
      for (const { operation, at } of steps) {
        const by = at === 0 ? one : other
        if (state === 'none') {
          await expect(by.view(id)).rejects.toMatchObject({
            kind: { name: 'bad_identifier_list' },
            details: { values: [id] },
          })
          continue
        }
        if (operation === 'finish') {
          if (state === 'executing') {
            await world.configure({})
            await by.ended(id)
            await world.configure({ max_running: 0 })
            state = outcome
          }
        } else if (allowed[operation].includes(state)) {
          await by[operation](id)
          if (operation === 'start') state = 'executing'
          if (operation === 'halt') state = 'stopped'
          if (operation === 'remove') state = 'none'
        } else {
          const reason = reasonFor(operation, state)
          await expect(by[operation](id), `${operation} of ${state}`).rejects.toMatchObject({
            kind: { name: 'bad_identifier' },
            details: { cause: id, reason },
          })
        }
        if (state !== 'none') expect((await by.view(id)).status).toBe(state)
      }
    }

    await fc.assert(fc.asyncProperty(history, play), { numRuns: countOf(15, 40) })
  })

  it('lets only one of two win who start, stop or remove at once', async () => {
    await world.configure({ max_running: 0 })
    const account = await world.account()
    const people = [0, 1].map(() =>
      operate(
        world.process((store) => [createNotes(store).action]),
        account,
      ),
    )
    const [one, other] = people as [ReturnType<typeof operate>, ReturnType<typeof operate>]
    for (let round = 0; round < 10; round += 1) {
      const id = await one.make(input.success)
      for (const operation of ['start', 'halt', 'remove'] as const) {
        const outcomes = await Promise.allSettled([one[operation](id), other[operation](id)])
        expect(outcomes.map(({ status }) => status).sort(), operation).toEqual(['fulfilled', 'rejected'])
      }
    }
  })
})
