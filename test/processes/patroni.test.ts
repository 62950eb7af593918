// Debian's Patroni promotes: after a primary that was killed, and when it is asked to. CROSSPOINT_TEST_FAILOVERS=10 makes it five of each.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FailoverStorm, openFailoverStorm } from '../support/failover-storm.ts'
import { lacksPatroni, type PatroniCluster, startPatroni } from '../support/patroni.ts'
import { engines } from '../support/postgres.ts'

const turns = Math.ceil(Number(process.env.CROSSPOINT_TEST_FAILOVERS ?? 1) / 2)
// The goal is for a machine that does nothing else, as when it is measured.
const backMs = turns > 1 ? 2000 : 10_000

describe.skipIf(!engines.includes('postgres') || lacksPatroni)(
  `two servers on a cluster of Patroni${lacksPatroni}`,
  () => {
    let cluster: PatroniCluster
    let storm: FailoverStorm

    beforeAll(async () => {
      cluster = await startPatroni()
      storm = await openFailoverStorm(cluster.url)
    }, 300_000)

    afterAll(async () => {
      await storm?.close()
      await cluster?.close()
    }, 120_000)

    it('lose nothing, double nothing and write again at once, whether the primary dies or hands over', {
      timeout: 120_000 + turns * 240_000,
    }, async () => {
      for (let turn = 0; turn < turns; turn += 1) {
        await storm.through(() => cluster.failOver())
        await storm.through(() => cluster.switchOver())
      }
      process.stdout.write(`Patroni: ${await storm.expectAllOnce()}\n`)
      expect(Math.max(...storm.backAfter)).toBeLessThan(backMs)
    })
  },
)
