// Top-ups with keys while the store fails under them: every retry ends with the true answer within seconds, and the
// ledger has each once. CROSSPOINT_KEYED_TOPUPS=5000 makes it as large as the goal says; see bench/README.md.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { createChance, seed } from '../fuzz/chance.ts'
import { startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { createFaults } from '../support/servers/faulty-database.ts'
import { endOtherConnections } from '../support/servers/postgres.ts'
import { stormTopups } from '../support/world/topup-storm.ts'
import { buildWorld, describeEngines, type World } from '../support/world/world.ts'

const topups = Number(process.env.CROSSPOINT_KEYED_TOPUPS ?? 500)
// The goal is for a machine that does nothing else.
const isMeasured = topups > 500
const longestWaitMs = 5000
const maxMishaps = isMeasured ? Number.POSITIVE_INFINITY : 50
const everyMs = 250

/** Ends every connection to the database again and again, as a failover does once. */
const endConnections = async ({ config }: World) => {
  const killer = new Client({ connectionString: config.databaseUrl })
  await killer.connect()
  const stopping = new AbortController()
  const work = async () => {
    for (let mishap = 0; mishap < maxMishaps && !stopping.signal.aborted; mishap += 1) {
      await killer.query(endOtherConnections)
      await pause(everyMs)
    }
  }
  const working = work()
  return async () => {
    stopping.abort()
    await working
    await killer.end()
  }
}

describeEngines('top-ups with keys', (engine) => {
  it('are answered truly and booked once, however often the store fails', {
    timeout: 300_000 + topups * 400,
  }, async () => {
    const faults = createFaults()
    const { below } = createChance(seed)
    // As often as the connections to PostgreSQL end: what is written then fails, before or after it happens.
    const isBadMoment = () => performance.now() % everyMs < everyMs / 5
    const failWrites = async () => {
      faults.state.onWrite = () => (isBadMoment() ? (['refused', 'unheard'] as const)[below(2)] : undefined)
      faults.state.onRead = () => (isBadMoment() && below(4) === 0 ? 'refused' : undefined)
      return async () => faults.mend()
    }
    const bookkeeper = await startBookkeeper()
    const world = await buildWorld(engine, undefined, { over: faults.over })
    try {
      await world.configure('services.http_sync', bookkeeper.settings)
      const begin = engine === 'postgres' ? () => endConnections(world) : failWrites
      const calm = await stormTopups({ world, bookkeeper, topups, clients: 16, begin })
      const { failures, seconds, slowestMs, ...after } = calm
      if (isMeasured)
        process.stdout.write(
          `${topups} top-ups on ${engine}: ${seconds.toFixed(1)} s, ${failures} failures, the slowest retry took ${slowestMs.toFixed(0)} ms\n`,
        )
      expect(failures, `in ${seconds} s`).toBeGreaterThan(0)
      expect(after.told.flat()).toHaveLength(topups)
      expect(after).toEqual({
        ...after,
        strange: [],
        differing: [],
        booked: after.told,
        moved: after.toldMoved,
        balances: after.expectedBalances,
        keysUnderWay: 0,
      })
      if (isMeasured) expect(slowestMs).toBeLessThan(longestWaitMs)
    } finally {
      await world.close()
      await bookkeeper.close()
    }
  })
})
