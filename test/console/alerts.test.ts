// Alerts and limits in the console.
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { openEntry, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('alerts and limits in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are written by the operator, and cleared by their recipients, by keyboard alone', async () => {
    const { page } = await open(world.operator, 'alerts', { account: world.acme })
    await pressOn(page, page.getByRole('link', { name: 'New alert' }))
    const title = page.getByRole('textbox', { name: 'Title' })
    await typeInto(page, page.getByRole('textbox', { name: 'Message' }), 'Phones are away from 2 to 3.')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await title.and(page.locator('[aria-invalid=true]')).waitFor()
    })
    await expectForEverybody(page)
    await typeInto(page, title, 'Maintenance on Sunday')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { name: 'Maintenance on Sunday' }).waitFor()

    const customer = await open(world.ada, 'alerts')
    await customer.page.getByText('Phones are away from 2 to 3.').waitFor()
    await expectForEverybody(customer.page)
    await pressOn(customer.page, customer.page.getByRole('button', { name: 'Clear Maintenance on Sunday' }))
    await customer.page.getByText('No open alerts.').waitFor()
    expect((await world.ada.get(`${world.acme.path}/alerts`)).data).toEqual([])
  })

  inFullRun(() => {
    it('say what holds of what an account wants and what it is allowed, and what is used of its minutes', async () => {
      await world.ross.post(`${world.acme.path}/limits`, { twoway_trunks: 7 })
      await world.ross.post(`${world.acme.path}/allotments`, {
        did_us: { amount: 6000, cycle: 'monthly', increment: 60 },
      })
      const { page } = await open(world.ross, 'limits/operator', { account: world.acme })
      await typeInto(page, page.getByRole('textbox', { name: /^Two-way trunks/ }), '3')
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved', { exact: true }).waitFor()
      await expectForEverybody(page)
      expect((await world.ross.get(`${world.acme.path}/limits/operator`)).data.twoway_trunks).toBe(3)
      await openEntry(page, 'Limits')
      const effective = page.getByRole('table', { name: 'Effective limits' })
      await effective.getByRole('row', { name: 'Two-way trunks 3' }).waitFor()
      await expectForEverybody(page)
      await openEntry(page, 'Included minutes')
      await page
        .getByRole('row', { name: /did_us/ })
        .getByText('1:40:00')
        .waitFor()
      await expectForEverybody(page)
    })
  })
})
