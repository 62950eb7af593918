import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { InputAction, OutputAction } from '../../src/areas/work/tasks/operations.ts'
import {
  columnProblems,
  createRepeats,
  finalStatus,
  helpText,
  outputColumns,
  secondsLeft,
} from '../../src/areas/work/tasks/rules.ts'
import { accountMember } from '../../src/auth/policies.ts'
import { nextRun } from '../../src/batches/batches.ts'
import type { WaitingRun } from '../../src/batches/store.ts'

const onRows: InputAction = {
  category: 'things',
  action: 'do',
  description: 'Does things',
  doc: 'In\nlines',
  allow: accountMember,
  input: 'csv',
  mandatory: ['name', 'size'],
  optional: ['colour'],
  openPrefix: 'opaque.',
  output: 'input',
  key: ({ name }) => name ?? '',
  run: async () => [],
}
const listing: OutputAction = {
  category: 'things',
  action: 'list',
  description: 'Lists things',
  doc: 'All of them',
  allow: accountMember,
  input: 'none',
  columns: ['name'],
  parameters: { after: 'Where it begins' },
  async *parts() {},
}

describe('the status that a task ends with', () => {
  it.each([
    [42, 42, 0, 'success'],
    [42, 0, 42, 'failure'],
    [42, 41, 1, 'partial'],
    [42, 1, 41, 'partial'],
    [42, 10, 0, 'partial'],
    [42, 0, 10, 'partial'],
    [42, 0, 0, 'partial'],
    [42, 43, 0, 'success'],
    [42, undefined, undefined, 'internal_error'],
    [42, 42, undefined, 'internal_error'],
    [42, 0, 43, 'internal_error'],
    [1, 0, 1, 'failure'],
    [undefined, 0, 0, 'success'],
    [undefined, 7, 0, 'success'],
    [undefined, 0, 1, 'failure'],
    [undefined, 7, 1, 'partial'],
    [undefined, undefined, undefined, 'internal_error'],
  ] as const)('of %s rows, %s done and %s failed, is %s', (total, succeeded, failed, status) => {
    expect(finalStatus({ total, succeeded, failed })).toBe(status)
  })
})

describe('the time left', () => {
  it.each([
    [{ total: 100, done: 50, workedMs: 10_000, pauseMs: 0 }, 10],
    [{ total: 100, done: 99, workedMs: 1000, pauseMs: 0 }, 1],
    [{ total: 100, done: 100, workedMs: 1000, pauseMs: 500 }, 0],
    [{ total: 100, done: 0, workedMs: 1000, pauseMs: 500 }, undefined],
    [{ total: 100, done: 5, workedMs: 0, pauseMs: 0 }, undefined],
    [{ total: undefined, done: 5, workedMs: 1000, pauseMs: 500 }, undefined],
    [{ total: 100, done: 50, workedMs: 10_000, pauseMs: 500 }, 35],
    [{ total: 100, done: 90, workedMs: 0, pauseMs: 500 }, 5],
  ])('of %o is %s', (progress, seconds) => {
    expect(secondsLeft(progress)).toBe(seconds)
  })
})

describe('the next task', () => {
  const accounts = ['a', 'b', 'c']
  const waitingTask = fc.record({
    accountId: fc.constantFrom(...accounts),
    id: fc.uuid(),
    since: fc.nat({ max: 100 }),
  })

  it('is of an account with the fewest running; of these, of the one served longest ago, and its oldest', () => {
    const counts = fc
      .array(fc.tuple(fc.constantFrom(...accounts), fc.nat({ max: 3 })))
      .map((all) => new Map(all))
    fc.assert(
      fc.property(fc.array(waitingTask, { minLength: 1 }), counts, counts, (waiting, running, lastServed) => {
        const next = nextRun(waiting, { running, lastServed }) as WaitingRun
        const place = ({ accountId, since }: WaitingRun) => [
          running.get(accountId) ?? 0,
          lastServed.get(accountId) ?? 0,
          since,
        ]
        for (const other of waiting) {
          const [one, another] = [place(next), place(other)]
          const at = one.findIndex((value, index) => value !== another[index])
          if (at >= 0) expect(one[at]).toBeLessThan(another[at] as number)
        }
      }),
    )
  })

  it('comes to each account after no more than one of each other, however many one has', () => {
    fc.assert(
      fc.property(fc.array(waitingTask, { minLength: 1, maxLength: 60 }), (tasks) => {
        const waiting = [...tasks]
        const lastServed = new Map<string, number>()
        const served: string[] = []
        while (waiting.length > 0) {
          const next = nextRun(waiting, { running: new Map(), lastServed }) as WaitingRun
          waiting.splice(waiting.indexOf(next as (typeof waiting)[number]), 1)
          served.push(next.accountId)
          lastServed.set(next.accountId, served.length)
        }
        for (const account of accounts) {
          const places = served.flatMap((one, at) => (one === account ? [at] : []))
          for (const [index, place] of places.entries())
            expect(place - (places[index - 1] ?? -1)).toBeLessThanOrEqual(accounts.length)
        }
      }),
    )
  })

  it('is none when none waits', () => {
    expect(nextRun([], { running: new Map(), lastServed: new Map() })).toBeUndefined()
  })
})

describe('the columns of an input', () => {
  it.each([
    [onRows, ['size', 'name'], {}],
    [onRows, ['name', 'size', 'colour', 'opaque.x.y'], {}],
    [
      onRows,
      ['name', 'opaque.', 'Size'],
      {
        missing_mandatory_fields: ['size'],
        unknown_fields: ['opaque.', 'Size'],
        message: 'Column names must be lower case without spaces: size, not Size',
      },
    ],
    [
      onRows,
      ['name;size'],
      {
        missing_mandatory_fields: ['name', 'size'],
        unknown_fields: ['name;size'],
        message: 'The cells must be separated by commas, and numbers must have a decimal point',
      },
    ],
    [onRows, ['name', 'size', 'a;b'], { unknown_fields: ['a;b'] }],
    [onRows, undefined, { missing_mandatory_fields: ['name', 'size'], expected_content: 'text/csv' }],
    [listing, undefined, {}],
    [listing, ['name'], { expected_content: 'none' }],
  ])('are validated: %#', (action, columns, problems) => {
    expect(columnProblems(action, columns)).toEqual(problems)
  })
})

it('the help shows an action as it is defined', () => {
  expect(helpText([onRows, listing])).toEqual({
    things: {
      do: {
        description: 'Does things',
        doc: 'In\nlines',
        expected_content: 'text/csv',
        mandatory: ['name', 'size'],
        optional: ['colour'],
      },
      list: { description: 'Lists things', doc: 'All of them', parameters: { after: 'Where it begins' } },
    },
  })
})

it('the output has the columns of the input and error, unless the action has its own', () => {
  expect(outputColumns(onRows, ['name', 'size'])).toEqual(['name', 'size', 'error'])
  expect(outputColumns({ ...onRows, output: ['id'] }, ['name'])).toEqual(['id'])
  expect(outputColumns(listing, [])).toEqual(['name'])
})

describe('repeated keys', () => {
  it('are all found, and few others', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3 })), (keys) => {
        const repeats = createRepeats(keys.length)
        for (const key of keys) repeats.add(key)
        for (const key of keys)
          if (keys.indexOf(key) !== keys.lastIndexOf(key)) expect(repeats.has(key)).toBe(true)
      }),
    )
  })

  it('are few where there are none', () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `+1415555${index}`)
    const repeats = createRepeats(keys.length)
    for (const key of keys) repeats.add(key)
    expect(keys.filter(repeats.has).length).toBeLessThan(keys.length / 5)
  })
})
