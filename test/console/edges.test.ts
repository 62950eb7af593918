// The state of SIP edges in the console.
import { expect, it } from 'vitest'
import { startEdgeServer } from '../support/servers/edge-server.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('edges in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are listed for the operator with what they report, and with the reason why one does not respond', async () => {
    const { page } = await open(world.operator, 'edges')
    await page.getByText('No SIP edge connected', { exact: false }).waitFor()
    await expectForEverybody(page)
    const there = await startEdgeServer({
      'core.uptime': () => ({ now: 'now', up_since: 'then', uptime: 7200 }),
      'dlg.stats_active': () => ({ starting: 0, connecting: 1, answering: 0, ongoing: 2, all: 3 }),
    })
    const gone = await startEdgeServer()
    await gone.close()
    await world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls: [there.url, gone.url], timeout_ms: 3000 },
    })
    const states = await world.operator.get('/v2/edge/states')
    expect(states.data).toEqual([
      { host: there.host, reachable: true, version: 'an edge', uptime_s: 7200, calls: 3 },
      { host: gone.host, reachable: false, reason: expect.any(String) },
    ])
    expect((await world.ada.get('/v2/edge/states')).status).toBe(403)
    await page.reload()
    await page.getByRole('row', { name: new RegExp(`^${there.host} Reachable .*3 2 h`) }).waitFor()
    await page.getByRole('row', { name: new RegExp(`^${gone.host} Not reachable`) }).waitFor()
    await expectForEverybody(page)
    await there.close()
  })
})
