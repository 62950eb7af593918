import { describe, expect, it } from 'vitest'
import { constants, engines, storedKinds } from '../../bench/sizing-constants.ts'
import {
  type Holdings,
  holdingsOf,
  needOf,
  type Plan,
  serverBytes,
  tableBytes,
  tallyRows,
  usualHabits,
} from '../../bench/sizing-model.ts'

const nothing: Holdings = {
  account: 0,
  user: 0,
  device: 0,
  number: 0,
  leg: 0,
  chargedLeg: 0,
  change: 0,
  days: 0,
}

const plan: Plan = { accounts: 500, users: 4, devices: 5, numbers: 3, callsPerSecond: 5, months: 6 }

const quiet: Plan = { accounts: 10, users: 1, devices: 1, numbers: 1, callsPerSecond: 0, months: 1 }

describe('the rows of statistics', () => {
  it('are none without calls and without accounts', () => {
    expect(tallyRows({ ...nothing, account: 7, user: 7, days: 3 }, usualHabits)).toBe(0)
    expect(tallyRows(nothing, usualHabits)).toBe(0)
  })

  it('are at most one for each group in each quarter of the busy hours and each day', () => {
    const holdings = { ...nothing, account: 5, user: 10, device: 15, leg: 1e9, days: 10 }
    const groups = 1 + 2 + 4 + 2 + 3
    expect(tallyRows(holdings, usualHabits)).toBeCloseTo(5 * groups * (10 * 8 * 4 + 10), 6)
  })

  it('are at most ten for a leg', () => {
    const holdings = { ...nothing, account: 1000, user: 9000, device: 9000, leg: 1000, days: 200 }
    expect(tallyRows(holdings, usualHabits)).toBeLessThanOrEqual(1000 * 10)
  })
})

describe('what a plan holds at the end', () => {
  it('is what its calls, months and habits come to', () => {
    expect(holdingsOf(plan)).toEqual({
      account: 500,
      user: 2000,
      device: 2500,
      number: 1500,
      leg: 5 * 3600 * 8 * 22 * 6 * 2 * 0.75,
      chargedLeg: 5 * 3600 * 8 * 22 * 6 * 2 * 0.25,
      change: 2000 * 2 * 6,
      days: 132,
    })
  })
})

describe.each(engines)('the model of %s', (engine) => {
  it('counts an empty store, and each kind by what one of it takes', () => {
    expect(tableBytes(engine, nothing)).toBe(constants[engine].emptyBytes)
    for (const kind of storedKinds) {
      const more = tableBytes(engine, { ...nothing, [kind]: 1000 }) - tableBytes(engine, nothing)
      expect(more).toBeCloseTo(1000 * constants[engine].bytes[kind], 3)
    }
  })

  it.each(['accounts', 'users', 'devices', 'numbers', 'callsPerSecond', 'months'] as const)(
    'never asks for less when a plan has more %s',
    (name) => {
      const needs = [1, 2, 10, 100].map((factor) => needOf(engine, { ...plan, [name]: plan[name] * factor }))
      const figures = needs.map(({ tableBytes, processes, connections, memory, machines, cores }) => ({
        tableBytes,
        processes,
        connections,
        memory: memory.processes + memory.database,
        machines: machines.servers + machines.databases,
        cores: cores.server + cores.database,
      }))
      for (const figure of Object.keys(figures[0] as object) as (keyof (typeof figures)[0])[]) {
        const values = figures.map((figuresOf) => figuresOf[figure])
        expect(values, figure).toEqual(values.toSorted((a, b) => a - b))
      }
      expect(figures[3]?.tableBytes).toBeGreaterThan(figures[0]?.tableBytes as number)
    },
  )

  it('bounds the record cache', () => {
    expect(serverBytes(engine, 1e9)).toBe(serverBytes(engine, 1e7))
    expect(serverBytes(engine, 1000)).toBeLessThan(serverBytes(engine, 2000))
  })

  it('has been measured on a day that is written down', () => {
    expect(constants[engine].date).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect(Math.min(...storedKinds.map((kind) => constants[engine].server[kind]))).toBeGreaterThan(0)
  })
})

describe('a plan with hardly any work', () => {
  it('needs one process and one machine on SQLite', () => {
    const { processes, connections, machines, isTooMuch } = needOf('SQLite', quiet)
    expect({ processes, connections, machines, isTooMuch }).toEqual({
      processes: 1,
      connections: 0,
      machines: { servers: 1, databases: 0 },
      isTooMuch: false,
    })
  })

  it('needs two machines for servers and two for the database on PostgreSQL, and room for a command', () => {
    const { processes, connections, machines } = needOf('PostgreSQL', quiet)
    expect({ processes, connections, machines }).toEqual({
      processes: 2,
      connections: 30,
      machines: { servers: 2, databases: 2 },
    })
  })
})

it('says when SQLite is asked for more than its one process can do', () => {
  expect(needOf('SQLite', { ...plan, callsPerSecond: 5000 }).isTooMuch).toBe(true)
})
