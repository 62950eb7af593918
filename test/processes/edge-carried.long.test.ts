// The short form of bench/calls.ts: phones of SIPp register and call through Debian's Kamailio and a real
// server.
import { mkdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { carryCalls, measureDecisions, prepareCalls } from '../../bench/carried-calls.ts'
import { startServer } from '../../bench/server.ts'
import { countOf } from '../support/run/run-length.ts'
import { makePlace } from '../support/servers/databases.ts'
import { lacks } from '../support/servers/installed.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const lacking = lacksKamailio || lacks('sipp')

const devices = 20
const wanted = { perSecond: 10, seconds: countOf(2, 4), talkMs: 300 }
const calls = wanted.perSecond * wanted.seconds

describeAnyEngine('calls of registered phones', (engine) => {
  it.skipIf(lacking)(`all become records of both legs, each once${lacking}`, async () => {
    const place = await makePlace(engine)
    mkdirSync(place.dataDir, { recursive: true })
    const server = await startServer(place)
    try {
      const stage = await prepareCalls(server, devices)
      // A challenge and a registration of each, and what was sent again.
      expect((await measureDecisions(server, stage)).packets).toBeGreaterThanOrEqual(2 * devices)
      const { begun, succeeded, failed, legs, whole, questions } = await carryCalls(server, stage, wanted)
      expect({ begun, succeeded, failed }).toEqual({ begun: calls, succeeded: calls, failed: 0 })
      expect({ legs, whole }).toEqual({ legs: 2 * calls, whole: calls })
      expect(questions['/v2/edge/route']?.all).toBe(calls)
    } finally {
      await server.stop()
      await place.remove()
    }
  })
})
