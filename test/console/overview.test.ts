// The overview of an account, and the first steps in an empty system.
import { expect, it } from 'vitest'
import { countOf, inFullRun } from '../support/run/run-length.ts'
import { goTo, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const daySeconds = 86_400

describeAnyEngine('the overview of the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('shows what an account does, and leads to each screen', async () => {
    const { acme, ada } = world
    const now = nowOf(world)
    await sendLegs(world, [
      legOf(acme, now - 60, { billing_seconds: 20 }),
      legOf(acme, now - 90, { billing_seconds: 0 }),
      legOf(acme, now - 3 * daySeconds, { billing_seconds: 10 }),
      // Longer ago than is shown.
      legOf(acme, now - 40 * daySeconds, { billing_seconds: 10 }),
    ])
    await world.credit(acme, 12.5)
    await makeNumber(world, acme, '+14155550100')
    await makeNumber(world, acme, '+14155550101')
    await world.operator.put(`${acme.path}/phone_numbers/%2B14155550102`, {})
    await world.operator.put(`${acme.path}/phone_numbers/%2B14155550102/reserve`, {})
    const { page } = await open(ada, 'overview')
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    await card('Calls today').getByText('2', { exact: true }).waitFor()
    await card('Calls today').getByText('1 answered (50%)').waitFor()
    await card('Calls in 30 days').getByText('2 answered (66.7%)').waitFor()
    await card('Phones registered')
      .getByText(/^0 of \d+$/)
      .waitFor()
    await card('Phones registered')
      .getByText(/^\d+ users$/)
      .waitFor()
    await card('Balance').getByText('$12.50').waitFor()
    await card('Numbers').getByText('3', { exact: true }).waitFor()
    await card('Numbers').getByText('In service: 2, Reserved: 1').waitFor()
    await card('Running tasks').getByText('0', { exact: true }).waitFor()
    await page.getByText('As of ').waitFor()
    await page.getByRole('img', { name: /30 days: 3 in total, 2 answered/ }).waitFor()
    await expectForEverybody(page)
    const links = [
      ['Calls today', 'calls'],
      ['Phones registered', 'devices'],
      ['Balance', 'money'],
      ['Open alerts', 'alerts'],
      ['Running tasks', 'tasks'],
      ['Numbers', 'numbers'],
    ] as const
    for (const [name, address] of links.slice(0, countOf(2, links.length))) {
      await pressOn(page, card(name).getByRole('link', { name }))
      await page.waitForURL(`**/a/${acme.id}/${address}`)
      await page.goBack()
    }
  })

  inFullRun(() => {
    it('shows an alert and money as they arrive', async () => {
      const { page } = await open(world.rex, 'overview')
      const card = (name: string) => page.getByRole('region', { name, exact: true })
      await card('Balance').getByText('$0.00').waitFor()
      await card('Open alerts').getByText('0', { exact: true }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      await world.credit(world.rival, 3)
      await card('Balance').getByText('$3.00').waitFor()
      await world.operator.put(`${world.master.path}/alerts`, {
        title: 'Work on Sunday',
        message: 'From 2 to 4',
        from: [{ type: 'account', value: world.master.id }],
        to: [{ type: world.rival.id, value: 'all' }],
      })
      await card('Open alerts').getByText('Work on Sunday').waitFor()
    })
  })

  it('leaves out what a user may not read', async () => {
    const scope_restrictions = [
      'accounts:read',
      'users:read',
      'phone_numbers:read',
      'cdrs:read',
      'events:read',
    ]
    const clerk = await world.user(world.acme, { scope_restrictions })
    expect((await clerk.get(`${world.acme.path}/ledgers/total`)).status).toBe(403)
    const { page } = await open(clerk, 'overview')
    await page.getByText('As of ').waitFor()
    for (const name of ['Balance', 'Open alerts', 'Running tasks'])
      await page.getByRole('region', { name }).waitFor({ state: 'detached' })
  })

  it('shows plain users only the menu entries that they may use', async () => {
    const { page } = await open(world.uli, 'overview')
    const menu = page.getByRole('navigation', { name: 'Sections' })
    await menu.getByRole('link', { name: 'Overview' }).waitFor()
    const names = await menu.locator('> div').first().locator('a, button').allInnerTexts()
    expect(
      names.filter((name) => ['Accounts', 'Branding', 'Access list', 'Webhooks'].includes(name)),
    ).toEqual([])
    expect(names).toContain('Bulk tasks')
    await goTo(page, 'users')
    await page.getByRole('link', { name: world.uli.username }).waitFor()
    expect(await page.getByRole('link', { name: 'New user' }).count()).toBe(0)
  })

  it('shows resellers their customers, lowest balance first, and the revenue', async () => {
    const top = await world.account(world.master)
    await world.operator.put(`${top.path}/reseller`, {})
    const paid = await world.account(top)
    const owing = await world.account(top)
    await world.credit(paid, 10)
    for (const { path } of [paid, owing]) {
      const source = { service: 'services', id: path }
      const usage = { type: 'seat', quantity: 1, unit: 'seat' }
      await world.operator.put(`${path}/ledgers/debit`, { source, usage, amount: 2.5 })
    }
    await sendLegs(world, [legOf(paid, nowOf(world) - 60, { billing_seconds: 20 })])
    const { page } = await open(await world.admin(top), 'overview')
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    await card('Sub-accounts').getByText('2', { exact: true }).waitFor()
    await card('Revenue this month').getByText('$5.00', { exact: true }).waitFor()
    await card('Negative balances').getByText('1', { exact: true }).waitFor()
    await card('Calls of all sub-accounts in 30 days (UTC)').getByText('1 answered (100%)').waitFor()
    const table = page.getByRole('table', { name: 'Customers' })
    const rows = async () =>
      (await table.locator('tbody tr').allInnerTexts()).map((row) => row.split(/\s*\t\s*/))
    await table.getByRole('link', { name: owing.name }).waitFor()
    expect(await rows()).toEqual([
      [owing.name, '-$2.50', '0', '–', '–'],
      [paid.name, '$7.50', '1', '–', '–'],
    ])
    await expectForEverybody(page)
    await pressOn(page, table.getByRole('button', { name: 'Calls in 30 days' }))
    await expect.poll(async () => (await rows()).map(([name]) => name)).toEqual([paid.name, owing.name])
    await pressOn(page, page.getByRole('link', { name: 'Calls of all sub-accounts in 30 days (UTC)' }))
    await page.getByRole('table', { name: 'Chart data' }).getByText('100%').waitFor()
  })

  it('shows operators the top-level accounts, failed jobs and the state of the server', async () => {
    const { page } = await open(world.operator, 'overview')
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    await card('System').getByText('Ready', { exact: true }).waitFor()
    await card('Failed jobs').getByText('No failed jobs').waitFor()
    const table = page.getByRole('table', { name: 'Top-level accounts' })
    await table.getByRole('link', { name: world.reseller.name }).waitFor()
    await expectForEverybody(page)
  })

  it('shows plain users their own calls and phones, and turns call forwarding on and off', async () => {
    const { acme } = world
    const uli = await world.user(acme, { call_forward: { keep_caller_id: true } })
    await world.device(acme, { name: 'Desk of Uli', owner_id: uli.id })
    const variables = { custom_channel_vars: { owner_id: uli.id } }
    await sendLegs(world, [legOf(acme, nowOf(world) - 60, { billing_seconds: 20, ...variables })])
    const { page } = await open(uli, 'overview')
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    await card('My calls today').getByText('1 answered (100%)').waitFor()
    await card('My phones').getByRole('link', { name: 'Desk of Uli' }).waitFor()
    await page.getByRole('table', { name: 'Recent calls' }).getByText('0:30').waitFor()
    await expectForEverybody(page)
    const forwarding = card('Call forwarding')
    const stored = async () => (await uli.get(`${acme.path}/users/${uli.id}`)).data.call_forward
    await typeInto(page, forwarding.getByLabel('Forward to'), '+14155550199')
    await pressOn(page, forwarding.getByRole('button', { name: 'Turn on' }))
    await forwarding.getByText('Your calls go to +14155550199.').waitFor()
    const unchanged = await stored()
    expect(unchanged).toMatchObject({ enabled: true, number: '+14155550199', keep_caller_id: true })
    // Another change of the user, which the page has not read, stays.
    expect(await uli.patch(`${acme.path}/users/${uli.id}`, { first_name: 'Ulrich' })).toSucceed()
    await pressOn(page, forwarding.getByRole('button', { name: 'Turn off' }))
    await forwarding.getByText('Off', { exact: true }).waitFor()
    expect(await stored()).toEqual({ ...unchanged, enabled: false })
    expect((await uli.get(`${acme.path}/users/${uli.id}`)).data.first_name).toBe('Ulrich')
  })

  it('shows first steps in an empty account, ticks what is done, and can be dismissed', async () => {
    const account = await world.account(world.reseller)
    const { page } = await open(world.ross, 'overview', { account })
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByRole('link', { name: 'Add a user' }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, steps.getByRole('link', { name: 'Add a phone' }))
    await page.waitForURL(`**/a/${account.id}/devices/new`)
    await world.device(account)
    await page.goBack()
    await steps.getByRole('listitem').filter({ hasText: 'Add a phone' }).getByText('Done').waitFor()
    await pressOn(page, steps.getByRole('button', { name: 'Hide' }))
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('As of ').waitFor()
    expect(await steps.count()).toBe(0)
  })

  inFullRun(() => {
    it('leads the operator from a reseller over an account to its first number', async () => {
      const { page } = await open(world.operator, 'overview')
      const steps = page.getByRole('region', { name: 'First steps' })
      const step = (name: string) => steps.getByRole('listitem').filter({ hasText: name })
      await step('Create a reseller').getByText('Done').waitFor()
      await step('Create an account').getByText('Done').waitFor()
      expect(await steps.getByRole('listitem').count()).toBe(5)
    })
  })
})
