// Values for one account that override a plan or counted quantities, in the console.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { choose, expectForEverybody, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

const prices = {
  devices: { sip_device: { name: 'Seat', rate: 4, prorate: { additions: true } } },
  users: { admin: { name: 'Admin', rate: 1 } },
}

describeAnyEngine('own prices in the console', (engine) => {
  const { world, open } = useConsole(engine)

  /** A customer with one phone that is sold by a plan. */
  const sold = async (name: string) => {
    const account = await world.account(world.reseller)
    await world.device(account)
    const plan = await world.ross.put(`${world.reseller.path}/service_plans`, { name, plan: prices })
    const id = String(plan.data.id)
    expect(await world.ross.post(`${account.path}/services`, { add: [id] })).toSucceed()
    return { account, id }
  }

  const overridesOf = async ({ path }: TestAccount, id: string) =>
    (await world.ross.get(`${path}/services`)).data.plans[id].overrides

  const seats = (page: Page) => page.getByRole('group', { name: 'devices / sip_device' })

  const openAssigned = async (account: TestAccount, name: string) => {
    const { page } = await open(world.ross, 'money/plans', { account })
    await pressOn(page, page.getByRole('tab', { name: 'Resulting price' }), 'ArrowRight')
    await pressOn(page, page.getByRole('link', { name: `Price overrides: ${name}` }))
    await page.getByRole('heading', { level: 1, name: `Price overrides of ${name}` }).waitFor()
    return page
  }

  it('are typed over those of a plan, quoted, and let hold, by keyboard alone', async () => {
    const { account, id } = await sold('Seats')
    const page = await openAssigned(account, 'Seats')
    const rate = seats(page).getByRole('textbox', { name: 'Monthly price per unit' })
    expect(await rate.getAttribute('placeholder')).toBe('$4.00')
    await expectForEverybody(page)
    await typeInto(page, rate, '2.5')
    await typeInto(page, seats(page).getByRole('textbox', { name: 'Minimum billed' }), '3')
    await typeInto(page, seats(page).getByRole('textbox', { name: 'Activation fee per unit' }), '12')
    await typeInto(page, seats(page).getByRole('textbox', { name: 'One-time discount' }), '0.5')
    await pressOn(page, page.getByRole('switch', { name: 'Prorate additions by day' }).first(), 'Space')
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    const dialog = page.getByRole('dialog', { name: 'Change price overrides of Seats' })
    await dialog.getByText('Now $4.00 monthly, then $7.00.').waitFor()
    await expectForEverybody(page)
    expect(await overridesOf(account, id)).toEqual({})
    await pressOn(page, dialog.getByRole('button', { name: 'Save override' }))
    await page.getByText('Price overrides saved').waitFor()
    expect(await overridesOf(account, id)).toEqual({
      plan: {
        devices: {
          sip_device: {
            rate: 2.5,
            minimum: 3,
            activation_charge: 12,
            discounts: { single: { rate: 0.5 } },
            prorate: { additions: false },
          },
        },
      },
    })

    await pressOn(page, page.getByRole('button', { name: 'As in the plan: devices / sip_device' }))
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    await dialog.getByText('Now $7.00 monthly, then $4.00.').waitFor()
    await pressOn(page, dialog.getByRole('button', { name: 'Save override' }))
    await dialog.waitFor({ state: 'detached' })
    expect(await overridesOf(account, id)).toEqual({})
  })

  it('are typed over those of all plans, quoted, and let hold with those of others, by keyboard alone', async () => {
    const { account } = await sold('All')
    const path = `${account.path}/services/overrides`
    const { page } = await open(world.ross, 'money/plans', { account })
    await pressOn(page, page.getByRole('tab', { name: 'Resulting price' }), 'ArrowRight')
    await pressOn(page, page.getByRole('link', { name: 'Price overrides of the account' }))
    await page.getByRole('heading', { level: 1, name: 'Price overrides of the account' }).waitFor()
    const rate = seats(page).getByRole('textbox', { name: 'Monthly price per unit' })
    expect(await rate.getAttribute('placeholder')).toBe('$4.00')
    await expectForEverybody(page)
    await typeInto(page, rate, '2.5')
    // An entry that is removed again while typing is not stored as an empty one.
    const off = seats(page).getByRole('textbox', { name: 'One-time discount' })
    await typeInto(page, off, '0.5')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Tab')
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    const dialog = page.getByRole('dialog', { name: 'Change price overrides of the account' })
    await dialog.getByText('Now $4.00 monthly, then $2.50.').waitFor()
    await expectForEverybody(page)
    expect((await world.ross.get(path)).data).toEqual({})
    expect(await world.ross.patch(path, { plan: { users: { admin: { rate: 3 } } } })).toSucceed()
    await pressOn(page, dialog.getByRole('button', { name: 'Save override' }))
    await page.getByText('Price overrides of the account saved').waitFor()
    expect((await world.ross.get(path)).data).toEqual({
      plan: { devices: { sip_device: { rate: 2.5 } }, users: { admin: { rate: 3 } } },
    })

    const admins = page.getByRole('group', { name: 'users / admin' })
    const isRead = async () =>
      (await admins.getByRole('textbox', { name: 'Monthly price per unit' }).inputValue()) === '$3'
    await expect.poll(isRead).toBe(true)
    await pressOn(page, page.getByRole('button', { name: 'As in the plan: devices / sip_device' }))
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    await dialog.getByText('Now $2.50 monthly, then $4.00.').waitFor()
    await pressOn(page, dialog.getByRole('button', { name: 'Save override' }))
    await dialog.waitFor({ state: 'detached' })
    expect((await world.ross.get(path)).data).toEqual({ plan: { users: { admin: { rate: 3 } } } })
  })

  it('of others, set while one types, are in the form as soon as one’s own are saved', async () => {
    const { account, id } = await sold('Shared')
    const path = `${account.path}/services`
    const page = await openAssigned(account, 'Shared')
    await page.getByText('Live', { exact: true }).waitFor()
    await typeInto(page, seats(page).getByRole('textbox', { name: 'Monthly price per unit' }), '2.5')
    const read = page.waitForResponse((one) => one.url().endsWith(path) && one.request().method() === 'GET')
    const ofOthers = { plan: { users: { admin: { rate: 3 } } } }
    expect(await world.ross.post(`${path}/${id}`, { overrides: ofOthers })).toSucceed()
    await (await read).finished()
    await pressOn(page, page.getByRole('button', { name: 'Show charges' }))
    const dialog = page.getByRole('dialog', { name: 'Change price overrides of Shared' })
    // The response to the read after saving comes late.
    const late = Promise.withResolvers<void>()
    await page.route(`**${path}`, async (route) => {
      await late.promise
      await route.continue()
    })
    await pressOn(page, dialog.getByRole('button', { name: 'Save override' }))
    await dialog.waitFor({ state: 'detached' })
    const admins = page.getByRole('group', { name: 'users / admin' })
    expect(await admins.getByRole('textbox', { name: 'Monthly price per unit' }).inputValue()).toBe('$3')
    late.resolve()
    expect(await overridesOf(account, id)).toEqual({
      plan: { devices: { sip_device: { rate: 2.5 } }, users: { admin: { rate: 3 } } },
    })
  })

  it('that cannot be are refused by the quote, and nothing is changed', async () => {
    const { account } = await sold('Boxes')
    const page = await openAssigned(account, 'Boxes')
    await world.unchanged(async () => {
      const least = seats(page).getByRole('textbox', { name: 'Minimum billed' })
      await typeInto(page, least, '2000000000')
      await seats(page).getByText('From 0 to 1,000,000,000').waitFor()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Change price overrides of Boxes' })
      await dialog.getByRole('alert').getByText('failed to validate').waitFor()
      expect(await dialog.getByRole('button', { name: 'Save override' }).isDisabled()).toBe(true)
    })
  })

  it('are shown to the seller only', async () => {
    const { account, id } = await sold('Desks')
    const admin = await world.admin(account)
    const { page } = await open(admin, `money/plans/${id}`)
    await page.getByText('The reseller of this account assigns its plans.').waitFor()
    expect(await page.getByRole('button', { name: 'Show charges' }).count()).toBe(0)
    await page.goto(page.url().replace(/plans\/.*/, 'overrides'))
    await page.getByText('The reseller of this account assigns its plans.').waitFor()
    expect(await page.getByRole('button', { name: 'Show charges' }).count()).toBe(0)
  })

  const openCounts = async (account: TestAccount) => {
    const { page } = await open(world.ross, 'money/plans', { account })
    await pressOn(page, page.getByRole('tab', { name: 'Resulting price' }), 'ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('region', { name: 'Manual quantities' }).waitFor()
    return page
  }

  const addCount = async (page: Page, category: string, item: string) => {
    await choose(page, page.getByRole('combobox', { name: 'Category' }), category, category)
    await choose(page, page.getByRole('combobox', { name: 'Item' }), item, item)
    await pressOn(page, page.getByRole('button', { name: 'Set quantity' }))
    return page.getByRole('textbox', { name: `${category} / ${item}` })
  }

  const manualOf = async ({ path }: TestAccount) => (await world.ross.get(`${path}/services/manual`)).data

  it('are reckoned with counts that are set by hand and taken away, by keyboard alone', async () => {
    const { account } = await sold('Counted')
    const page = await openCounts(account)
    const count = await addCount(page, 'devices', 'sip_device')
    await typeInto(page, count, '7')
    await expectForEverybody(page)
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: 'devices sip_device Set manually 7' }).waitFor()
    expect(await manualOf(account)).toEqual({ devices: { sip_device: 7 } })
    await typeInto(page, count, '5')
    // A value that another user sets at the same time stays.
    await world.ross.patch(`${account.path}/services/manual`, { users: { admin: 2 } })
    await page.getByRole('row', { name: 'users admin Set manually 2' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: 'devices sip_device Set manually 5' }).waitFor()
    expect(await manualOf(account)).toEqual({ devices: { sip_device: 5 }, users: { admin: 2 } })
    expect((await world.ross.get(`${account.path}/services/summary`)).data).toMatchObject({
      invoices: [{ summary: { recurring: 22 } }],
    })
    await pressOn(page, page.getByRole('button', { name: 'Remove: devices / sip_device' }))
    // And so does what the page has not read yet.
    await page.route(
      '**/services/manual',
      async (route) => {
        await world.ross.patch(`${account.path}/services/manual`, { devices: { softphone: 3 } })
        await route.continue()
      },
      { times: 1 },
    )
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('row', { name: /Set manually 5/ }).waitFor({ state: 'detached' })
    expect(await manualOf(account)).toEqual({ devices: { softphone: 3 }, users: { admin: 2 } })
  })

  it('are not reckoned with counts beyond all bounds, which are refused at their field', async () => {
    const { account } = await sold('Bounded')
    const page = await openCounts(account)
    const count = await addCount(page, 'devices', 'sip_device')
    await world.unchanged(async () => {
      await typeInto(page, count, '2000000000')
      await page.keyboard.press('Enter')
      await page
        .getByRole('region', { name: 'Manual quantities' })
        .getByText(/1000000000/)
        .waitFor()
    })
  })
})
