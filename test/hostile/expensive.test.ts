// The most expensive requests of the API by many clients of one account, some of which stop reading. This test
// prints the cost for other accounts; bench/expensive.ts measures it.
import { expect, it } from 'vitest'
import {
  type Figures,
  figuresText,
  prepareExpensive,
  stormExpensive,
  wishesOf,
} from '../../bench/expensive-requests.ts'
import { startServer } from '../../bench/server.ts'
import { countOf } from '../support/run/run-length.ts'
import { makePlace } from '../support/servers/databases.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const records = countOf(5000, 20_000)
const seconds = countOf(2, 8)

describeAnyEngine('the most expensive requests, by 64 clients of one account,', (engine) => {
  it('neither end the server nor fill its memory nor leave another account without answers', async () => {
    const place = await makePlace(engine)
    try {
      const stage = await prepareExpensive(place, records)
      const server = await startServer(place)
      try {
        let figures: Figures
        // A busy machine may answer nothing in so short a time.
        do {
          figures = await stormExpensive(server, stage, {
            clients: 64,
            seconds,
            stalled: 8,
            wishes: wishesOf(stage.greedy.accountId),
          })
          process.stdout.write(`${engine}: ${figuresText(figures)}\n`)
        } while (figures.answers === 0 || figures.asked === 0)
        expect(
          Object.keys(figures.statuses).filter((status) => !['200', '429', '503'].includes(status)),
        ).toEqual([])
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
