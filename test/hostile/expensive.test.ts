// The most expensive requests of the API by many clients of one account, some of which stop reading. What it costs others
// is printed here and measured by bench/expensive.ts.
import { expect, it } from 'vitest'
import { figuresText, prepareExpensive, stormExpensive } from '../../bench/expensive-requests.ts'
import { startServer } from '../../bench/server.ts'
import { makePlace } from '../support/databases.ts'
import { describeAnyEngine } from '../support/world.ts'

const records = 20_000
// For a machine that does much else meanwhile: the rarest ones are measured by bench/expensive.ts.
const longestMedian = 1000

describeAnyEngine('the most expensive requests, by 64 clients of one account,', (engine) => {
  it('neither end the server nor fill its memory nor keep another account waiting', {
    timeout: 110_000,
  }, async () => {
    const place = await makePlace(engine)
    try {
      const stage = await prepareExpensive(place, records)
      const server = await startServer(place)
      try {
        const figures = await stormExpensive(server, stage, { clients: 64, seconds: 8, stalled: 8 })
        process.stdout.write(`${engine}: ${figuresText(figures)}\n`)
        expect(
          Object.keys(figures.statuses).filter((status) => !['200', '429', '503'].includes(status)),
        ).toEqual([])
        expect(figures.answers).toBeGreaterThan(0)
        expect(figures.asked).toBeGreaterThan(0)
        expect(figures.p50).toBeLessThan(longestMedian)
        expect(figures.peak).toBeLessThan(600)
        const after = await fetch(`http://127.0.0.1:${server.port}/readyz`)
        expect(after.status).toBe(200)
      } finally {
        await server.stop()
      }
    } finally {
      await place.remove()
    }
  })
})
