// Registrations and calls in progress in the console, as an edge reports them.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { pressOn } from '../support/servers/browser.ts'
import { type EdgeServer, RpcError, startEdgeServer } from '../support/servers/edge-server.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

describeAnyEngine('registrations and calls without an edge in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('say plainly that no edge is connected, and lead the operator to the settings', async () => {
    const { page } = await open(world.ada, 'registrations')
    await page.getByText('The operator has not connected one', { exact: false }).waitFor()
    await expectForEverybody(page)
    const operators = await open(world.operator, 'live-calls')
    await operators.page.getByText('No SIP edge connected').waitFor()
    await expectForEverybody(operators.page)
    await pressOn(operators.page, operators.page.getByRole('link', { name: 'Open the settings' }))
    await operators.page.getByRole('heading', { level: 1, name: 'switch' }).waitFor()
  })
})

describeAnyEngine('registrations and calls in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)
  let edge: EdgeServer

  beforeAll(async () => {
    edge = await startEdgeServer()
    await world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls: [edge.url], timeout_ms: 30_000 },
    })
  })
  afterAll(() => edge.close())

  const knowsContact = ({ realm }: TestAccount, username: string) => {
    let isKnown = true
    edge.says('ul.lookup', (_table, place) => {
      if (!isKnown || place !== `${username}@${realm}`) throw new RpcError(500, 'AOR not found')
      return {
        AoR: place,
        Contacts: [
          {
            Contact: {
              Address: `sip:${username}@10.0.0.7:5062;transport=tcp`,
              Expires: 117,
              'Call-ID': 'reg-1',
              'User-Agent': 'Yealink T46',
              Received: 'sip:203.0.113.9:31044;transport=tcp',
              Socket: 'tcp:192.0.2.1:5060',
              'Last-Modified': 1_700_000_000,
            },
          },
        ],
      }
    })
    edge.says('ul.rm', () => {
      isKnown = false
      return {}
    })
  }

  const knowsCall = ({ id, realm }: TestAccount, variables: readonly object[] = []) => {
    let calls = [
      {
        h_entry: 7,
        h_id: 11,
        'call-id': 'answered',
        from_uri: `sip:desk@${realm}`,
        to_uri: `sip:100@${realm}`,
        state: 4,
        init_ts: 1_767_614_400 - 90,
        start_ts: 1_767_614_400 - 60,
        caller: { tag: 'one', contact: 'sip:desk@192.0.2.7:5060', cseq: '21', route_set: '', socket: '' },
        callee: { tag: 'other', contact: 'sip:100@192.0.2.8:5060', cseq: '0', route_set: '', socket: '' },
        variables: [
          { account_id: id },
          { direction: 'outbound' },
          { to_number: '+14155550100' },
          ...variables,
        ],
      },
    ]
    edge.says('dlg.profile_list', () => {
      throw new RpcError(404, 'Profile not found: account')
    })
    edge.says('dlg.list', () => calls)
    edge.says('dlg.dlg_list', () => calls[0] ?? {})
    edge.says('tm.t_uac_start', () => 'ok')
    edge.says('dlg.end_dlg', () => {
      calls = []
      return {}
    })
  }

  it('show where a phone is registered, and end its registration after a question', async () => {
    const account = await world.account()
    const device = await world.device(account, { sip: { username: 'desk' } })
    knowsContact(account, 'desk')
    edge.calls.length = 0
    const { page } = await open(world.operator, 'registrations', { account })
    const row = page.getByRole('row', { name: /desk 203\.0\.113\.9:31044 TCP 10\.0\.0\.7:5062 Yealink T46/ })
    await row.waitFor()
    expect(await row.getByRole('link', { name: 'desk' }).getAttribute('href')).toBe(
      `/a/${account.id}/devices/${device.id}`,
    )
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'End the registration of desk' }))
    const dialog = page.getByRole('dialog', { name: 'End this registration?' })
    await dialog.getByText('desk gets no calls until it registers again', { exact: false }).waitFor()
    expect(edge.told('ul.rm')).toEqual([])
    await pressOn(page, dialog.getByRole('button', { name: 'End' }))
    await page.getByText('No phone is registered.', { exact: false }).waitFor()
    expect(edge.told('ul.rm')).toEqual([['location', `desk@${account.realm}`]])
  })

  it('show a call with a duration that runs without requests, and hang it up after a question', async () => {
    const account = await world.account()
    knowsCall(account)
    edge.calls.length = 0
    const { page } = await open(world.operator, 'live-calls', { account })
    const row = page.getByRole('row', { name: /^desk \+14155550100 Outbound Answered/ })
    await row.waitFor()
    await row.getByText('1:02', { exact: true }).waitFor()
    expect(edge.told('dlg.list')).toHaveLength(1)
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'Hang up desk to +14155550100' }))
    const dialog = page.getByRole('dialog', { name: 'Hang up this call?' })
    expect(edge.told('dlg.end_dlg')).toEqual([])
    await pressOn(page, dialog.getByRole('button', { name: 'Hang up' }))
    await page.getByText('No calls in progress.', { exact: false }).waitFor()
    expect(edge.told('dlg.end_dlg')).toEqual([[7, 11]])
  })

  inFullRun(() => {
    it('end for all phones of an account', async () => {
      const account = await world.account()
      await world.device(account, { sip: { username: 'hall' } })
      knowsContact(account, 'hall')
      edge.calls.length = 0
      const { page } = await open(world.operator, 'registrations', { account })
      await pressOn(page, page.getByRole('button', { name: 'End all registrations' }))
      const dialog = page.getByRole('dialog', { name: 'End all registrations?' })
      await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('button', { name: 'End all registrations' }))
      await page.getByText('No phone is registered.', { exact: false }).waitFor()
      expect(edge.told('ul.rm')).toEqual([['location', `hall@${account.realm}`]])
    })

    it('show an ordinary user no button that only an admin may use', async () => {
      const { acme } = world
      const user = await world.user(acme)
      knowsCall(acme)
      const others = await open(user, 'live-calls')
      await others.page.getByRole('row', { name: /^desk \+14155550100/ }).waitFor()
      await expect.poll(() => others.page.getByRole('button', { name: /^Hang up/ }).count()).toBe(0)
      knowsCall(acme, [{ owner_id: user.id }])
      const own = await open(user, 'live-calls')
      await own.page.getByRole('button', { name: /^Hang up/ }).waitFor()
    })

    it('say that an edge does not respond', async () => {
      const other = await startEdgeServer()
      await world.configure('switch', {
        adapter: 'kamailio',
        kamailio: { rpc_urls: [edge.url, other.url], timeout_ms: 30_000 },
      })
      const account = await world.account()
      knowsCall(account)
      other.hangUp()
      const { page } = await open(world.operator, 'live-calls', { account })
      await page.getByText(`No response from ${other.host}.`, { exact: false }).waitFor()
      await page.getByRole('row', { name: /^desk/ }).waitFor()
      await expectForEverybody(page)
      await other.close()
    })
  })
})
