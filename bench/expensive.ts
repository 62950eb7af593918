// node bench/expensive.ts [--engine=sqlite] [--records=150000] [--clients=64] [--seconds=30]
// What one account can do to another with the most expensive requests of the API: how long GETs of the other one take,
// and what memory the server needs meanwhile.
import { parseArgs } from 'node:util'
import { onEngines } from './engines.ts'
import {
  figuresText,
  largeBodiesOf,
  prepareExpensive,
  stormExpensive,
  wishesOf,
} from './expensive-requests.ts'
import { type Place, startServer } from './server.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    records: { type: 'string', default: '150000' },
    clients: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '30' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)
const verdict = (is: boolean) => (is ? 'reached' : 'MISSED')

const runEngine = async (engine: string, place: Place) => {
  const [records, clients, seconds] = [options.records, options.clients, options.seconds].map(Number) as [
    number,
    number,
    number,
  ]
  say(`${engine}, ${records.toLocaleString('en-US')} records, ${clients} clients, ${seconds} s`)
  const stage = await prepareExpensive(place, records)
  const server = await startServer(place)
  try {
    const wishes = wishesOf(stage.greedy.accountId)
    const calm = await stormExpensive(server, stage, { clients: 0, seconds: 3, stalled: 0, wishes })
    say(`  alone: ${figuresText(calm)}`)
    const bodies = await stormExpensive(server, stage, {
      clients: 2,
      seconds,
      stalled: 0,
      wishes: largeBodiesOf(stage.greedy.accountId),
    })
    say(`  with two bodies of 90,000 keys: ${figuresText(bodies)}`)
    say(`    goal: p99 50 ms: ${verdict(bodies.p99 < 50)}`)
    const figures = await stormExpensive(server, stage, {
      clients,
      seconds,
      stalled: Math.floor(clients / 8),
      wishes,
    })
    say(`  beside: ${figuresText(figures)}`)
    say(`    goals: p99 50 ms: ${verdict(figures.p99 < 50)}; 600 MB: ${verdict(figures.peak < 600)}`)
  } finally {
    await server.stop()
  }
}

await onEngines(options.engine, runEngine)
