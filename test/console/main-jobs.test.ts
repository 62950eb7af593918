// The ten main jobs in the console: by keyboard alone, on a phone's screen, in German.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { choose, chooseFile, expectForEverybody, pressOn, typeInto } from '../support/servers/browser.ts'
import { startHookReceiver } from '../support/servers/hook-receiver.ts'
import { useConsole } from '../support/world/console.ts'
import { stockNumbers } from '../support/world/number-stock.ts'
import { pathOf } from '../support/world/numbers.ts'
import { describeOnce, type Person, type TestAccount } from '../support/world/world.ts'

const file = join(import.meta.dirname, '..', '..', 'console', 'texts', 'de.json')
const texts: unknown = JSON.parse(readFileSync(file, 'utf8'))

/** A German text of the console. */
const german = (key: string, values: Readonly<Record<string, string>> = {}) => {
  const text = key
    .split('.')
    .reduce<unknown>(
      (part, name) => (typeof part === 'object' && part !== null ? Reflect.get(part, name) : part),
      texts,
    )
  if (typeof text !== 'string') throw new Error(`there is no German text ${key}`)
  return text.replaceAll(/\{\{(\w+)\}\}/g, (place, name) => values[name] ?? place)
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

// The language that was chosen in this browser; otherwise that of the user applies after the sign-in.
const storage = { 'crosspoint.language': 'de' }
const phone = { width: 390, height: 844, locale: 'de-DE', storage }

const button = (page: Page, key: string) => page.getByRole('button', { name: german(key), exact: true })
// An empty list repeats the action of its screen.
const link = (page: Page, key: string) => page.getByRole('link', { name: german(key), exact: true }).first()
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })

/** The field with a label; required ones have an asterisk behind it. */
const field = (page: Page, key: string) =>
  page.getByRole('textbox', { name: new RegExp(`^${escaped(german(key))}`) }).first()

/** Opens a screen through the menu. */
const openScreen = async (page: Page, group: string | undefined, entry: string) => {
  await pressOn(page, button(page, 'frame.menu'))
  const menu = page.getByRole('navigation', { name: german('frame.sections') })
  if (group) await pressOn(page, menu.getByRole('button', { name: german(group), exact: true }))
  await pressOn(page, menu.getByRole('link', { name: german(entry), exact: true }))
  await heading(page, german(entry)).waitFor()
}

describeOnce('on a phone, in German and by keyboard alone', (engine) => {
  const { world, open, visit } = useConsole(engine, async (built) => {
    await stockNumbers(built.server.store, [{ number: '+14155550100' }])
  })

  const begin = async (person: Person, account?: TestAccount) => {
    const { page } = await open(person, 'overview', { ...phone, ...(account && { account }) })
    await heading(page, german('screens.overview')).waitFor()
    return page
  }

  it('a user signs in', async () => {
    const { page } = await visit('/', phone)
    await typeInto(page, field(page, 'signIn.username'), 'ada')
    await typeInto(
      page,
      page.getByRole('textbox', { name: german('signIn.password'), exact: true }),
      world.ada.password ?? '',
    )
    await typeInto(page, field(page, 'signIn.account'), 'Acme')
    await page.keyboard.press('Enter')
    await heading(page, german('screens.overview')).waitFor()
    await expectForEverybody(page, { isRepeated: true })
  })

  it('a reseller sets up a customer with an admin', async () => {
    const page = await begin(world.ross)
    await openScreen(page, undefined, 'screens.accounts')
    await pressOn(page, link(page, 'accounts.new'))
    await typeInto(page, field(page, 'field.name'), 'Neukunde GmbH')
    await pressOn(page, button(page, 'create'))
    await typeInto(page, field(page, 'field.first_name'), 'Nina')
    await typeInto(page, field(page, 'field.last_name'), 'Neu')
    await typeInto(page, field(page, 'field.username'), 'nina')
    await typeInto(page, page.locator('input[type=password]'), 'nina-secret-1')
    await pressOn(page, button(page, 'create'))
    await page.getByText(german('accounts.wizard.planText')).waitFor()
    await pressOn(page, link(page, 'accounts.wizard.skip'))
    await pressOn(page, link(page, 'accounts.wizard.finish'))
    await heading(page, 'Neukunde GmbH').waitFor()
    const { data } = await world.ross.get(`${world.reseller.path}/children?filter_name=Neukunde%20GmbH`)
    const users = await world.ross.get(`/v2/accounts/${data[0].id}/users`)
    expect(users.data).toMatchObject([{ username: 'nina', priv_level: 'admin' }])
  })

  it('an admin adds a user', async () => {
    const page = await begin(world.ada)
    await openScreen(page, 'menu.people', 'screens.users')
    await pressOn(page, link(page, 'users.new'))
    await typeInto(page, field(page, 'field.first_name'), 'Uwe')
    await typeInto(page, field(page, 'field.last_name'), 'Umlaut')
    await typeInto(page, field(page, 'field.username'), 'uwe')
    await typeInto(page, field(page, 'field.email'), 'uwe@acme.test')
    await pressOn(page, button(page, 'create'))
    await heading(page, 'Uwe Umlaut').waitFor()
    const { data } = await world.ada.get(`${world.acme.path}/users?filter_username=uwe`)
    expect(data).toMatchObject([{ first_name: 'Uwe', last_name: 'Umlaut', email: 'uwe@acme.test' }])
  })

  it('an admin adds a phone', async () => {
    const page = await begin(world.ada)
    await openScreen(page, 'menu.people', 'screens.devices')
    await pressOn(page, link(page, 'devices.new'))
    await typeInto(page, field(page, 'field.name'), 'Empfang')
    await choose(
      page,
      page.getByRole('combobox', { name: german('field.device_type') }),
      german('devices.types.softphone'),
    )
    await pressOn(page, button(page, 'create'))
    await heading(page, 'Empfang').waitFor()
    const { data } = await world.ada.get(`${world.acme.path}/devices?filter_name=Empfang`)
    expect(data).toMatchObject([{ device_type: 'softphone' }])
  })

  it('an admin buys a number and accepts its charges', async () => {
    const prices = { number_carriers: { _all: { rate: 2 } } }
    const plan = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Nummern',
      plan: prices,
    })
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { add: [plan.data.id] })
    await world.credit(account, 10)
    const page = await begin(admin)
    await openScreen(page, 'menu.numbers', 'numbers.stock')
    await typeInto(page, field(page, 'numbers.prefix'), '4155550')
    await page.keyboard.press('Enter')
    const chosen = german('numbers.chooseNumber', { number: '+14155550100' })
    await pressOn(page, page.getByRole('checkbox', { name: chosen }), 'Space')
    await pressOn(page, page.getByRole('button', { name: german('numbers.buy_one', { count: '1' }) }))
    await pressOn(page, button(page, 'charges.accept'))
    await page.getByRole('dialog', { name: german('numbers.outcome') }).waitFor()
    expect((await admin.get(pathOf(account, '+14155550100'))).data.state).toBe('in_service')
  })

  it('an admin forwards the calls of a user', async () => {
    const user = await world.user(world.acme, { first_name: 'Wanda', last_name: 'Weiter' })
    const page = await begin(world.ada)
    await openScreen(page, 'menu.people', 'screens.users')
    await pressOn(page, page.getByRole('link', { name: 'Wanda Weiter' }))
    await pressOn(page, page.getByRole('switch', { name: german('field.call_forward_enabled') }), 'Space')
    await typeInto(page, field(page, 'field.call_forward_number'), '+4930123456')
    await pressOn(page, button(page, 'save'))
    await page.getByText(german('saved'), { exact: true }).waitFor()
    const { data } = await world.ada.get(user.path)
    expect(data.call_forward).toMatchObject({ enabled: true, number: '+4930123456' })
  })

  it('an admin finds a call by the number that was called', async () => {
    const page = await begin(world.ada)
    await openScreen(page, 'menu.calls', 'screens.calls')
    await typeInto(page, page.getByRole('searchbox', { name: german('calls.callee') }), '+4930999')
    await page.getByText(german('calls.noneFound')).waitFor()
  })

  it('a reseller credits the balance of a customer', async () => {
    const account = await world.account(world.reseller)
    const page = await begin(world.ross, account)
    await openScreen(page, 'menu.billing', 'money.part.overview')
    await typeInto(page, field(page, 'money.reference'), 'Überweisung 4711')
    await typeInto(page, page.getByRole('textbox', { name: german('money.amount'), exact: true }), '25')
    await page.keyboard.press('Enter')
    await page.getByText(german('money.booked'), { exact: true }).waitFor()
    expect((await world.ross.get(`${account.path}/ledgers/total`)).data.amount).toBe(25)
  })

  it('an admin checks a CSV file of numbers in a dry run', async () => {
    const page = await begin(world.ada)
    await openScreen(page, 'menu.automation', 'screens.tasks')
    await pressOn(page, link(page, 'tasks.new'))
    const action = page.getByRole('combobox', { name: german('tasks.action') })
    await choose(page, action, 'Bulk-import numbers', 'Bulk-import numbers')
    const csv = { name: 'rufnummern.csv', mimeType: 'text/csv', buffer: Buffer.from('e164\nkeine\n') }
    await chooseFile(page, button(page, 'tasks.file'), csv)
    await page.getByText(german('tasks.headerFits')).waitFor()
    await pressOn(page, button(page, 'tasks.makeDryRun'))
    await page.getByText(german('tasks.rowsOf', { done: '1', total: '1' }), { exact: false }).waitFor()
    const [task] = (await world.ada.get(`${world.acme.path}/tasks`)).data
    expect(task).toMatchObject({ file_name: 'rufnummern.csv', dry_run: true })
  })

  it('an admin has events sent to a webhook', async () => {
    const receiver = await startHookReceiver()
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
    const page = await begin(world.ada)
    await openScreen(page, 'menu.automation', 'events.webhooks')
    await pressOn(page, link(page, 'events.hook.new'))
    await typeInto(page, field(page, 'field.name'), 'CRM')
    await typeInto(page, page.getByRole('textbox', { name: /^URL/ }), receiver.url)
    await pressOn(page, button(page, 'create'))
    await heading(page, 'CRM').waitFor()
    const { data } = await world.ada.get(`${world.acme.path}/webhooks`)
    expect(data).toMatchObject([{ name: 'CRM', uri: receiver.url }])
  })
})
