// Numbers in the console.
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import {
  choose,
  openEntry,
  openTab,
  pressOn,
  tabTo,
  typeInto,
  violationsOn,
} from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { stockNumbers } from '../support/world/number-stock.ts'
import { allowAdditions, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const stock = Array.from({ length: 6 }, (_, index) => ({ number: `+1415555010${index}` }))

describeAnyEngine('numbers in the console', (engine) => {
  const { world, open, expectForEverybody, expectScreensForEverybody } = useConsole(engine, async (built) => {
    // Numbers of the own stock may have names and addresses here.
    await built.configure('number_manager', { local_feature_override: true })
    await stockNumbers(built.server.store, stock)
  })

  inFullRun(() => {
    it('are listed by how they begin and by their state', async () => {
      await makeNumber(world, world.acme, '+14155550200')
      await makeNumber(world, world.acme, '+14165550200')
      await makeNumber(world, world.acme, '+14165550201', { create_with_state: 'reserved' })
      const { page } = await open(world.ada, 'numbers')
      const link = (number: string) => page.getByRole('link', { name: number })
      await link('+14155550200').waitFor()
      await typeInto(page, page.getByRole('searchbox', { name: 'Starts with' }), '1416')
      await link('+14155550200').waitFor({ state: 'detached' })
      await link('+14165550201').waitFor()
      await choose(page, page.getByRole('combobox', { name: 'State' }), 'Reserved')
      await link('+14165550200').waitFor({ state: 'detached' })
      await link('+14165550201').waitFor()
    })
  })

  it('take a caller name and an emergency address as the schema says, and a refusal changes nothing', async () => {
    await allowAdditions(world, world.acme)
    const path = await makeNumber(world, world.acme, '+14155550300')
    const { page } = await open(world.ada, 'numbers/+14155550300')
    await page.getByRole('textbox', { name: 'Caller name' }).waitFor()
    await expectForEverybody(page)
    await typeInto(page, page.getByRole('textbox', { name: 'Caller name' }), 'Acme Bakery')
    await typeInto(page, page.getByRole('textbox', { name: /^Street/ }), '1 Main Street')
    await typeInto(page, page.getByRole('textbox', { name: /^City/ }), 'San Rafael')
    await typeInto(page, page.getByRole('textbox', { name: /^Postal code/ }), '94901')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Field is required but missing').waitFor()
    })
    await typeInto(page, page.getByRole('textbox', { name: /^State/ }), 'CA')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Saved', { exact: true }).waitFor()
    const { data } = await world.ada.get(path)
    expect(data).toMatchObject({
      cnam: { display_name: 'Acme Bakery' },
      e911: { street_address: '1 Main Street', locality: 'San Rafael', region: 'CA', postal_code: '94901' },
    })
    await openTab(page, 'Features')
    await page.getByRole('cell', { name: 'Emergency address' }).waitFor()
    expect(await violationsOn(page)).toEqual([])
  })

  inFullRun(() => {
    it('lose their emergency address only after a question', async () => {
      await allowAdditions(world, world.acme)
      const address = {
        caller_name: 'Acme',
        street_address: '1 Main Street',
        locality: 'San Rafael',
        region: 'CA',
        postal_code: '94901',
      }
      const path = await makeNumber(world, world.acme, '+14155550320')
      expect(await world.ada.patch(path, { e911: address })).toSucceed()
      const { page } = await open(world.ada, 'numbers/+14155550320')
      await pressOn(page, page.getByRole('tab', { name: 'Form' }), 'ArrowRight')
      const remove = page.getByRole('button', { name: 'Remove the emergency address' })
      const dialog = page.getByRole('dialog', { name: 'Remove the emergency address?' })
      await world.unchanged(async () => {
        await pressOn(page, remove)
        await dialog.getByText('an address for calls from +14155550320', { exact: false }).waitFor()
        await expectForEverybody(page)
        await pressOn(page, dialog.getByRole('button', { name: 'Cancel' }))
        await dialog.waitFor({ state: 'detached' })
      })
      await pressOn(page, remove)
      await pressOn(page, dialog.getByRole('button', { name: 'Remove the emergency address' }))
      await dialog.waitFor({ state: 'detached' })
      await remove.waitFor({ state: 'detached' })
      expect((await world.ada.get(path)).data).not.toHaveProperty('e911')
    })

    it('that a filter hides are not dealt with: their ticks go with it', async () => {
      await makeNumber(world, world.acme, '+14155550330')
      await makeNumber(world, world.acme, '+14165550331', { create_with_state: 'reserved' })
      const { page } = await open(world.ada, 'numbers')
      const tick = (number: string) => page.getByRole('checkbox', { name: `Select ${number}` })
      await tick('+14155550330').check()
      await page.getByText('1 number selected', { exact: true }).waitFor()
      await typeInto(page, page.getByRole('searchbox', { name: 'Starts with' }), '1416')
      await tick('+14155550330').waitFor({ state: 'detached' })
      await page.getByText('1 number selected', { exact: true }).waitFor({ state: 'detached' })
      await tick('+14165550331').check()
      await pressOn(page, page.getByRole('button', { name: 'Release' }))
      const dialog = page.getByRole('dialog', { name: 'Release this number?' })
      await pressOn(page, dialog.getByRole('button', { name: 'Release' }))
      await page.getByText('1 done.').waitFor()
      expect((await world.ada.get(pathOf(world.acme, '+14165550331'))).status).toBe(404)
      expect((await world.ada.get(pathOf(world.acme, '+14155550330'))).data.state).toBe('in_service')
    })
  })

  inFullRun(() => {
    it('are changed several at once, and each refusal names its number', async () => {
      await makeNumber(world, world.acme, '+14155550400', { create_with_state: 'reserved' })
      const leaving = { number: '+14155550401', state: 'port_out', accountId: world.acme.id }
      await stockNumbers(world.server.store, [leaving])
      const { page } = await open(world.ada, 'numbers')
      await pressOn(page, page.getByRole('checkbox', { name: 'Select +14155550400' }), 'Space')
      await pressOn(page, page.getByRole('checkbox', { name: 'Select +14155550401' }), 'Space')
      await pressOn(page, page.getByRole('button', { name: 'Activate' }))
      const dialog = page.getByRole('dialog', { name: 'Results' })
      await dialog.getByText('1 done. 1 refused.').waitFor()
      await dialog.getByText('invalid state transition: from port_out to in_service').waitFor()
      await dialog.getByText('In service').waitFor()
      await expectForEverybody(page)
      const state = async (number: string) => (await world.ada.get(pathOf(world.acme, number))).data.state
      expect(await state('+14155550400')).toBe('in_service')
      expect(await state('+14155550401')).toBe('port_out')
    })

    it('show a user without permission why none can be added, and are released by their account', async () => {
      await makeNumber(world, world.rival, '+14155550500')
      const { page } = await open(world.rex, 'numbers/new')
      await page.getByText('You lack the permission wnm_allow_additions', { exact: false }).waitFor()
      await expectForEverybody(page)
      await openEntry(page, 'Numbers')
      await pressOn(page, page.getByRole('link', { name: '+14155550500' }))
      await pressOn(page, page.getByRole('button', { name: 'Release' }))
      const dialog = page.getByRole('dialog', { name: 'Release this number?' })
      await pressOn(page, dialog.getByRole('button', { name: 'Release' }))
      await page.getByText('No numbers yet', { exact: false }).waitFor()
      expect((await world.rex.get(pathOf(world.rival, '+14155550500'))).status).toBe(404)
    })

    it('are sold by a reseller to a customer who owes money', async () => {
      const { acme, reseller, master, ross, operator } = world
      const balance = async () => (await ross.get(`${acme.path}/ledgers/total`)).data.amount
      expect(await operator.patch(`${acme.path}/limits/operator`, { prepaid: true })).toSucceed()
      const sold = { number_carriers: { _all: { rate: 1.5, activation_charge: 10 } } }
      const plan = await ross.put(`${reseller.path}/service_plans`, { name: 'Numbers', plan: sold })
      await ross.post(`${acme.path}/services`, { add: [plan.data.id] })
      // The operator sells to the reseller what the reseller's customers have.
      const bought = { number_carriers: { _all: { rate: 0.5, activation_charge: 1, cascade: true } } }
      const wholesale = await operator.put(`${master.path}/service_plans`, {
        name: 'Wholesale',
        plan: bought,
      })
      await operator.post(`${reseller.path}/services`, { add: [wholesale.data.id] })
      await world.credit(reseller, 100)
      await operator.put(`${acme.path}/ledgers/debit`, {
        source: { service: 'payments', id: 'bounced' },
        usage: { type: 'debit', quantity: 1, unit: 'payment' },
        amount: 20,
      })
      const before = await balance()

      // The customer accepts the charge and is refused: there is no payment method.
      const own = await open(world.ada, 'numbers/stock')
      await typeInto(own.page, own.page.getByRole('textbox', { name: 'Prefix' }), '4155550')
      await pressOn(own.page, own.page.getByRole('button', { name: 'Search' }))
      await pressOn(own.page, own.page.getByRole('checkbox', { name: 'Select +14155550103' }), 'Space')
      await world.unchanged(async () => {
        await pressOn(own.page, own.page.getByRole('button', { name: 'Buy 1 number' }))
        await pressOn(own.page, own.page.getByRole('button', { name: 'Accept charges' }))
        await own.page.getByText('Payment or consent required').waitFor()
        await own.page.getByText(/not have enough credit/).waitFor()
      })

      // The reseller sees what the customer owes, and buys by keyboard alone.
      const { page } = await open(ross, 'numbers', { account: acme })
      const choose = async () => {
        await pressOn(page, page.getByRole('link', { name: 'Find numbers' }).first())
        await typeInto(page, page.getByRole('textbox', { name: 'Prefix' }), '4155550')
        await page.keyboard.press('Enter')
        await pressOn(page, page.getByRole('checkbox', { name: 'Select +14155550103' }), 'Space')
        await pressOn(page, page.getByRole('button', { name: 'Buy 1 number' }))
        await page.getByRole('dialog', { name: 'Charges' }).waitFor()
      }
      await choose()
      await page.getByText(`Acme owes $${(-before).toFixed(2)}`).waitFor()
      await page.getByText('number_carriers: $10.00 once per number, $1.50 monthly').waitFor()
      await world.unchanged(() => pressOn(page, page.getByRole('button', { name: 'Cancel' })))
      await pressOn(page, page.getByRole('link', { name: 'Go to billing of this account' }))
      await typeInto(page, page.getByRole('textbox', { name: 'Top-up amount' }), '50')
      await page.keyboard.press('Enter')
      await page.getByText('$50.00 credited. Nothing was charged.').waitFor()
      await page
        .getByRole('region', { name: 'Balance' })
        .getByText(`$${(before + 50).toFixed(2)}`)
        .waitFor()

      await pressOn(page, page.getByRole('button', { name: 'Numbers', exact: true }))
      await openEntry(page, 'Numbers')
      await choose()
      await pressOn(page, page.getByRole('button', { name: 'Accept charges' }))
      const outcome = page.getByRole('dialog', { name: 'Results' })
      await outcome.getByText('1 done.').waitFor()
      await tabTo(page, outcome.getByRole('button', { name: 'Close' }).last())
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: '+14155550103' }).waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Billing' }))
      await pressOn(page, page.getByRole('link', { name: 'Ledgers' }))
      const entry = page.getByRole('row', { name: /Activation of 1 number_carriers/ })
      await entry.getByText('-$10.00').waitFor()

      expect((await world.ada.get(pathOf(acme, '+14155550103'))).data.state).toBe('in_service')
      expect(await balance()).toBe(before + 40)
      expect((await ross.get(`${reseller.path}/ledgers/total`)).data.amount).toBe(99)
    })
  })

  it('are found in the stock and bought by keyboard alone, on accessible screens', async () => {
    const account = await world.account(world.master)
    const admin = await world.admin(account)
    const { page } = await open(admin, 'numbers')
    await expectScreensForEverybody(page, ['numbers', 'numbers/new', 'numbers/stock'])
    await typeInto(page, page.getByRole('textbox', { name: 'Prefix' }), '4155550')
    await page.keyboard.press('Enter')
    await pressOn(page, page.getByRole('checkbox', { name: 'Select +14155550105' }), 'Space')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'Buy 1 number' }))
    const outcome = page.getByRole('dialog', { name: 'Results' })
    await outcome.getByText('1 done.').waitFor()
    expect((await admin.get(pathOf(account, '+14155550105'))).data.state).toBe('in_service')
  })
})
