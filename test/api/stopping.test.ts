// The server stops while it still processes requests whose clients have disconnected.
import { expect, it } from 'vitest'
import { keyLayers } from '../../src/auth/credentials.ts'
import { eventually } from '../support/run/eventually.ts'
import { headOf, openRaw } from '../support/servers/raw-connection.ts'
import { buildWorld, describeAnyEngine, type World } from '../support/world/world.ts'

const waiting = /^crosspoint_password_hash_queue_length (\d+)$/m

const waitingIn = async ({ server }: World) => {
  const page = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  return Number(waiting.exec(await page.text())?.[1])
}

/** The results of sign-ins, whether or not the client was still connected. */
const reasonsIn = ({ logEntries }: World) =>
  logEntries.flatMap(({ message, fields }) =>
    message === 'request' && fields?.route === '/v2/user_auth' ? [fields.reason] : [],
  )

describeAnyEngine('a server that stops', (engine) => {
  it('lets sign-ins end whose clients have gone, before it closes what they read from', async () => {
    const world = await buildWorld(engine, async () => ({ logsAccess: true }), {
      layers: keyLayers,
      settings: { 'crossbar.auth': { derivation_threads: 1 } },
    })
    const body = JSON.stringify({
      data: { credentials: '0'.repeat(32), account_realm: world.acme.realm },
    })
    const head = headOf('PUT /v2/user_auth', `content-length: ${body.length}`)
    const visitors = await Promise.all(Array.from({ length: 20 }, () => openRaw(world.server.port)))
    const before = reasonsIn(world).length
    for (const visitor of visitors) await visitor.write(head + body)
    await eventually(
      () => waitingIn(world),
      (count) => count >= 10,
    )
    for (const visitor of visitors) visitor.end()
    await world.close()
    const reasons = await eventually(
      () => reasonsIn(world).slice(before),
      ({ length }) => length === visitors.length,
    )
    expect(reasons).toContain('overloaded')
    expect(world.takeErrors()).toEqual([])
  })
})
