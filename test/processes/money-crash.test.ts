// Money is neither lost nor doubled if the server is killed or a response of the bookkeeper is lost.
// CROSSPOINT_MONEY_WRITES=10000 runs the full size; bench/README.md has the figures.
import { expect, it } from 'vitest'
import { createChance, seed } from '../fuzz/chance.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace } from '../support/servers/databases.ts'
import { rage } from '../support/world/money-storm.ts'

const writes = Number(process.env.CROSSPOINT_MONEY_WRITES ?? countOf(60, 300))
const kills = Math.max(countOf(1, 4), Math.round(writes / 400))

describeAnyEngine('money that is written while the server is killed and answers get lost', (engine) => {
  it('moves once for each wish, here and at the bookkeeper', {
    timeout: 120_000 + writes * 100,
  }, async () => {
    const place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    try {
      const { below } = createChance(seed)
      const chance = () => below(1_000_000) / 1_000_000
      const storm = { writes, kills, clients: 16, chance }
      const { seconds, repeats, ...after } = await rage(place, storm)
      if (writes > 300)
        process.stdout.write(
          `${writes} writes, ${kills} kills, ${repeats} repeats: ${Math.round(seconds)} s\n`,
        )
      expect(repeats, `in ${seconds} s`).toBeGreaterThan(0)
      expect(after.moved).toEqual(after.booked)
      expect(after).toEqual({
        ...after,
        balance: after.expectedBalance,
        entries: after.expectedEntries,
        uneven: [],
        open: 0,
        differing: [],
      })
    } finally {
      await place.remove()
    }
  })
})
