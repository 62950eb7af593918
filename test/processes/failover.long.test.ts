// A failover under load: each acknowledged write exists once, and others can be repeated.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { engines } from '../support/servers/postgres.ts'
import { type PostgresCluster, startCluster } from '../support/servers/postgres-cluster.ts'
import type { ServerProcess } from '../support/servers/server-process.ts'
import type { Session } from '../support/world/session.ts'
import { type FailoverStorm, openFailoverStorm } from '../support/world/storm/failover-storm.ts'

const failovers = 10

describe.runIf(engines.includes('postgres'))('two servers on a primary and its synchronous standby', () => {
  let cluster: PostgresCluster
  let storm: FailoverStorm

  beforeAll(async () => {
    cluster = await startCluster()
    storm = await openFailoverStorm('by hand', cluster.url)
  })

  afterAll(async () => {
    await storm?.close()
    await cluster?.close()
  })

  it('lose nothing, double nothing and write again when the primary dies', {
    timeout: 120_000 + failovers * 90_000,
  }, async () => {
    for (let round = 0; round < failovers; round += 1) {
      const { tidy } = await storm.through(
        () => cluster.failOver(),
        () => cluster.holdTable('numbers'),
      )
      await tidy()
      await cluster.addStandby()
    }
    await storm.expectAllOnce()
  })

  const readiness = async ({ url }: ServerProcess) => {
    const answer = await fetch(`${url}/readyz`)
    return `${answer.status} ${(await answer.text()).trim()}`
  }

  it('say why they are not ready while the standby is gone, serve reads, and accept writes when it is back', {
    timeout: 120_000,
  }, async () => {
    const [server] = storm.servers as [ServerProcess]
    const [{ admin }] = storm.sessions as [Session]
    const { accountPath } = storm
    await cluster.killStandby()
    const refused = await admin.put(`${accountPath}/devices`, { name: 'held up' })
    expect(refused.status).toBe(503)
    expect(await readiness(server)).toBe(
      '503 the store cannot be written: the synchronous standby does not confirm',
    )
    expect((await admin.get(accountPath)).status).toBe(200)
    await cluster.addStandby()
    await eventually(
      () => readiness(server),
      (said) => said === '200 ready',
    )
    expect((await admin.put(`${accountPath}/devices`, { name: 'after' })).status).toBe(201)
  })
})
