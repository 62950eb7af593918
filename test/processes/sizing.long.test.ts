// The model of customers' needs, compared with a small store that is filled here. bench/sizing.ts fills larger
// ones.
import { expect, it } from 'vitest'
import { constants } from '../../bench/sizing-constants.ts'
import { tableBytes, tallyRows, usualHabits } from '../../bench/sizing-model.ts'
import { measurePoint } from '../../bench/sizing-point.ts'
import { makePlace } from '../support/servers/databases.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const point = {
  account: 40,
  user: 120,
  device: 120,
  number: 80,
  leg: 600,
  chargedLeg: 400,
  change: 120,
  signIn: 0,
  days: 22,
  get: 0,
  page: 0,
}

const model = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

// A table has whole pages, however little is in it, and what else runs on the machine has a part in memory.
const factor = 1.6

const expectWithin = (measured: number, expected: number) => {
  expect(measured).toBeGreaterThan(expected / factor)
  expect(measured).toBeLessThan(expected * factor)
}

describeAnyEngine('a store that is filled with accounts and call records', (engine) => {
  it('takes the bytes, the statistics and the memory of the model', async () => {
    // The model is for one PostgreSQL server with one database.
    const place = await makePlace(engine, { onOneServer: true })
    try {
      const { full, tallies, atRest } = await measurePoint(place, point)
      const { memory } = constants[model[engine]]
      expectWithin(full.tableBytes, tableBytes(model[engine], point))
      expectWithin(tallies.rows, tallyRows(point, usualHabits))
      expectWithin(atRest.serverBytes, memory.restBytes)
    } finally {
      await place.remove()
    }
  })
})
