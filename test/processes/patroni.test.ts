// Debian's Patroni promotes: after a primary that was killed, and when it is asked to.
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import { lacks } from '../support/servers/installed.ts'
import { lacksPatroni, type PatroniCluster, startPatroni } from '../support/servers/patroni.ts'
import { engines } from '../support/servers/postgres.ts'
import { type FailoverStorm, openFailoverStorm } from '../support/world/storm/failover-storm.ts'

const turns = countOf(1, 5)
const timeout = 300_000 + turns * 240_000

describe.skipIf(!engines.includes('postgres') || lacksPatroni)(
  `two servers on a cluster of Patroni lose nothing, double nothing and write again${lacksPatroni}`,
  () => {
    let cluster: PatroniCluster
    let storm: FailoverStorm | undefined
    let stopProxy: (() => Promise<void>) | undefined

    beforeAll(async () => {
      cluster = await startPatroni()
    })

    afterEach(async () => {
      await storm?.close()
      storm = undefined
      await stopProxy?.()
      stopProxy = undefined
    })

    afterAll(() => cluster?.close())

    const survive = async (name: string, databaseUrl: string) => {
      storm = await openFailoverStorm(name, databaseUrl)
      for (let turn = 0; turn < turns; turn += 1) {
        await storm.through(() => cluster.failOver())
        await storm.through(() => cluster.switchOver())
      }
      await storm.expectAllOnce()
      console.info(`${name}: writes were back after at most ${Math.max(...storm.backAfter)} ms`)
    }

    it('whether the primary dies or hands over', { timeout }, async () => {
      await survive('Patroni', await cluster.createDatabase('direct'))
    })

    it.skipIf(lacks('haproxy'))(
      `also where they know one address, HAProxy as it is shipped${lacks('haproxy')}`,
      { timeout },
      async () => {
        await cluster.createDatabase('proxied')
        const proxy = await cluster.startProxy()
        stopProxy = proxy.stop
        await survive('Patroni and HAProxy', proxy.urlOf('proxied'))
      },
    )
  },
)
