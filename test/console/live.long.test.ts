// An open page of the console while its event stream is slow or broken.
import type { Page } from 'playwright-core'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { openStreamWay } from '../support/run/stream-way.ts'
import { useConsole } from '../support/world/console.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type Person } from '../support/world/world.ts'

describeAnyEngine('an open page of the console', (engine) => {
  const { world, open } = useConsole(engine)
  let way: Awaited<ReturnType<typeof openStreamWay>>

  beforeEach(async () => {
    way = await openStreamWay(world.server.port)
    // After the window has left the page, which reports an error when the way is closed.
    onTestFinished(() => way.close())
  })

  const openByWay = async (person: Person, screen: string, account = person.account) => {
    const { page } = await open(person, screen, { account, origin: way.url })
    return page
  }

  const state = (page: Page, name: string) => page.getByRole('status').getByText(name, { exact: true })

  it('shows what happened between its first reading and the beginning of the events', async () => {
    way.holdStreams()
    const page = await openByWay(world.ada, 'users')
    await page.getByRole('link', { name: /Uli/ }).waitFor()
    await state(page, 'Connecting').waitFor()
    await world.user(world.acme, { first_name: 'Meanwhile', last_name: 'Created' })
    way.letStreamsGo()
    await page.getByRole('link', { name: /Meanwhile/ }).waitFor()
  })

  it('does not take for new what was read before the events began, and came after', async () => {
    way.holdStreams()
    const list = way.holdAnswer(`${world.acme.path}/users`)
    const page = await openByWay(world.ada, 'users')
    await list.arrived
    await world.user(world.acme, { first_name: 'Between', last_name: 'Both' })
    way.letStreamsGo()
    await state(page, 'Live').waitFor()
    list.letGo()
    await page.getByRole('link', { name: /Between/ }).waitFor()
  })

  it('shows after a lost connection also what no event reports', async () => {
    const page = await openByWay(world.ada, 'calls')
    await page.getByText('No calls in this period', { exact: false }).waitFor()
    await state(page, 'Live').waitFor()
    way.holdStreams()
    way.breakStreams()
    await state(page, 'Connecting').waitFor()
    await sendLegs(world, [legOf(world.acme, nowOf(world) - 60, { callee_id_number: '2047' })])
    way.letStreamsGo()
    await page.getByRole('cell', { name: '2047' }).waitFor()
  })

  const openUntold = async (screen: string, person = world.ada, account = person.account) => {
    way.holdStreams()
    const page = await openByWay(person, screen, account)
    await state(page, 'Connecting').waitFor()
    return page
  }

  const twoVersions = (page: Page) => page.getByRole('dialog', { name: 'Conflicting changes' })
  const choose = async (page: Page, name: string) => {
    await page.getByRole('button', { name: 'Save', exact: true }).first().click()
    await twoVersions(page).getByRole('button', { name }).click()
    await twoVersions(page).waitFor({ state: 'detached' })
  }

  it('keeps the accepted change of another user before its event arrives', async () => {
    const device = await world.device(world.acme, { name: 'Before' })
    const page = await openUntold(`devices/${device.id}`)
    const name = page.getByRole('textbox', { name: /^Name/ }).first()
    await name.fill('Mine')
    expect(await world.ross.patch(device.path, { name: 'Theirs' })).toSucceed()
    await choose(page, 'Discard my changes')
    expect(await name.inputValue()).toBe('Theirs')
    await name.fill('Mine, then')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await name.inputValue()).toBe('Mine, then')
    expect((await world.ada.get(device.path)).data.name).toBe('Mine, then')
  })

  it('keeps the accepted change of another user in the JSON before its event arrives', async () => {
    const device = await world.device(world.acme, { name: 'Before' })
    const page = await openUntold(`devices/${device.id}`)
    await page.getByRole('tab', { name: 'JSON' }).click()
    const text = page.getByRole('textbox', { name: 'Record as JSON' })
    const record = async () => JSON.parse(await text.inputValue())
    const write = async (name: string) => text.fill(JSON.stringify({ ...(await record()), name }))
    await write('Mine')
    expect(await world.ross.patch(device.path, { name: 'Theirs' })).toSucceed()
    await choose(page, 'Discard my changes')
    expect(await record()).toMatchObject({ name: 'Theirs' })
    await write('Discarded')
    await page.getByRole('button', { name: 'Discard' }).click()
    expect(await record()).toMatchObject({ name: 'Theirs' })
  })

  it('keeps the access list that another user saved before its event arrives', async () => {
    const allow = (network: string) =>
      world.ross.post(`${world.acme.path}/access_lists`, { order: 'allow,deny', cidrs: [network] })
    expect(await allow('192.0.2.0/24')).toSucceed()
    const page = await openUntold('edge')
    const networks = page.getByRole('textbox', { name: 'Networks' })
    await networks.fill('192.0.2.0/26')
    expect(await allow('203.0.113.0/24')).toSucceed()
    await choose(page, 'Discard my changes')
    expect(await networks.inputValue()).toBe('203.0.113.0/24')
  })

  it('shows both versions of an access list that another user saved first', async () => {
    const account = await world.account(world.reseller)
    const path = `${account.path}/access_lists`
    const page = await openUntold('edge', world.ross, account)
    await page.getByText('No access list: packets from every address are allowed.').waitFor()
    await page.getByRole('textbox', { name: 'Networks' }).fill('192.0.2.0/26')
    expect(await world.operator.post(path, { order: 'allow,deny', cidrs: ['203.0.113.0/24'] })).toSucceed()
    await world.unchanged(async () => {
      await page.getByRole('button', { name: 'Save', exact: true }).first().click()
      await twoVersions(page).getByText('203.0.113.0/24').waitFor()
    })
    await twoVersions(page).getByRole('button', { name: 'Overwrite with my version' }).click()
    await twoVersions(page).waitFor({ state: 'detached' })
    expect((await world.ross.get(path)).data.cidrs).toEqual(['192.0.2.0/26'])
  })

  it('shows that an access list is deleted, also one that another user had made', async () => {
    const account = await world.account(world.reseller)
    const page = await openUntold('edge', world.ross, account)
    await page.getByText('No access list: packets from every address are allowed.').waitFor()
    const networks = page.getByRole('textbox', { name: 'Networks' })
    await networks.fill('192.0.2.0/26')
    const theirs = { order: 'allow,deny', cidrs: ['203.0.113.0/24'] }
    expect(await world.operator.post(`${account.path}/access_lists`, theirs)).toSucceed()
    await choose(page, 'Discard my changes')
    way.letStreamsGo()
    await state(page, 'Live').waitFor()
    expect(await networks.inputValue()).toBe('203.0.113.0/24')
    expect(await world.operator.delete(`${account.path}/access_lists`)).toSucceed()
    await page.getByText('No access list: packets from every address are allowed.').waitFor()
    expect(await networks.inputValue()).toBe('')
  })

  it('shows both versions of packet limits that another user saved first', async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { name: 'Limited' })
    const path = `${device.path}/rate_limits`
    const page = await openUntold('edge', world.ross, account)
    await page.getByRole('combobox', { name: 'Applies to' }).fill('Limi')
    await page.getByRole('option', { name: 'Limited' }).click()
    await page.getByRole('tab', { name: 'Packet limits' }).click()
    const invites = page.getByRole('textbox', { name: 'INVITEs, Per minute' })
    await invites.fill('7')
    expect(await world.operator.post(path, { per_minute: { invites: 9 } })).toSucceed()
    await world.unchanged(async () => {
      await page.getByRole('button', { name: 'Save', exact: true }).last().click()
      await twoVersions(page).getByRole('cell', { name: '9', exact: true }).waitFor()
    })
    await twoVersions(page).getByRole('button', { name: 'Discard my changes' }).click()
    await twoVersions(page).waitFor({ state: 'detached' })
    expect(await invites.inputValue()).toBe('9')
  })
})
