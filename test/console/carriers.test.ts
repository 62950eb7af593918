// Carriers of accounts and of the system in the console.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const textbox = (page: Page, name: string | RegExp) => page.getByRole('textbox', { name })

const press = (page: Page, name: string) => pressOn(page, page.getByRole('button', { name, exact: true }))

const gatewayDefaults = { enabled: true, invite_format: 'route' }

describeAnyEngine('carriers in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are added with a gateway and a rule by keyboard, and a wrong rule is refused at its field', async () => {
    const { page } = await open(world.operator, 'carriers/system')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New carrier' }).first())
    await typeInto(page, textbox(page, /^Name/), 'North America')
    const gateway = page.getByRole('group', { name: 'Gateway 1' })
    await typeInto(page, gateway.getByRole('textbox', { name: /^Server/ }), '203.0.113.10')
    await typeInto(page, gateway.getByRole('textbox', { name: 'Port' }), '5080')
    await press(page, 'Add rule')
    await typeInto(page, textbox(page, 'Rule 1'), '^\\+1(\\d{10}$')
    await world.unchanged(async () => {
      await press(page, 'Create')
      await textbox(page, 'Rule 1').and(page.locator('[aria-invalid=true]')).waitFor()
      await page.getByText(/^The pattern cannot be read/).waitFor()
    })
    await typeInto(page, textbox(page, 'Rule 1'), '^\\+1(\\d{10})$')
    await typeInto(page, textbox(page, 'Test a number'), '+14155550100')
    await page.getByText('Rule 1 matches. The carrier gets 4155550100.').waitFor()
    await typeInto(page, textbox(page, 'Test a number'), '+4930555')
    await page.getByText('No rule matches this number.').waitFor()
    await expectForEverybody(page)
    await press(page, 'Create')
    await page.getByRole('heading', { level: 1, name: 'North America' }).waitFor()
    const id = page.url().split('/').at(-1)
    expect((await world.operator.get(`/v2/resources/${id}`)).data).toEqual({
      id,
      name: 'North America',
      enabled: true,
      weight_cost: 50,
      emergency: false,
      flags: [],
      gateways: [{ ...gatewayDefaults, server: '203.0.113.10', port: 5080 }],
      rules: ['^\\+1(\\d{10})$'],
    })
    await press(page, 'Delete carrier')
    const question = page.getByRole('dialog', { name: 'Delete this carrier?' })
    await question.getByText('No account can use North America any longer.', { exact: false }).waitFor()
    await pressOn(page, question.getByRole('button', { name: 'Delete carrier' }))
    await page.getByRole('heading', { level: 1, name: 'System carriers' }).waitFor()
    expect((await world.operator.get(`/v2/resources/${id}`)).status).toBe(404)
  })

  inFullRun(() => {
    it('of an account are listed with gateways and rules, and change only in the edited fields', async () => {
      const first = { server: '203.0.113.20', username: 'acme', password: 'a-password', mine: { kept: 1 } }
      const record = {
        name: 'Own line',
        gateways: [first, { server: '203.0.113.21' }],
        classifiers: { tollfree_us: { prefix: '9' } },
        custom: ['kept'],
      }
      const { data } = await world.ada.put(`${world.acme.path}/resources`, record)
      const path = `${world.acme.path}/resources/${data.id}`
      const { page } = await open(world.ada, 'carriers')
      await page.getByText('203.0.113.20, 203.0.113.21').waitFor()
      await page.getByText('By number class').waitFor()
      expect(await page.getByRole('link', { name: 'System carriers' }).count()).toBe(0)
      await pressOn(page, page.getByRole('link', { name: 'Own line' }))
      await expectForEverybody(page)
      await typeInto(page, textbox(page, 'Priority').first(), '7')
      await press(page, 'Save')
      await page.getByText('Saved', { exact: true }).waitFor()
      expect((await world.ada.get(path)).data).toEqual({ ...data, weight_cost: 7 })
      await press(page, 'Move Gateway 2 up')
      const second = page.getByRole('group', { name: 'Gateway 2' })
      await pressOn(page, second.getByRole('button', { name: 'More settings' }))
      await typeInto(page, second.getByRole('textbox', { name: 'Prefix' }), '00')
      await typeInto(page, second.getByRole('textbox', { name: /^User name/ }), ' ')
      await press(page, 'Add gateway')
      await typeInto(
        page,
        page.getByRole('group', { name: 'Gateway 3' }).getByRole('textbox', { name: /^Server/ }),
        '203.0.113.22',
      )
      await press(page, 'Remove Gateway 1')
      await press(page, 'Save')
      const gateways = async () => (await world.ada.get(path)).data.gateways
      await page.getByText('Saved', { exact: true }).nth(1).waitFor()
      expect(await gateways()).toEqual([
        { ...gatewayDefaults, ...first, username: ' ', prefix: '00' },
        { ...gatewayDefaults, server: '203.0.113.22' },
      ])
    })

    it('show the gateway that a refusal is about, also among its hidden settings', async () => {
      const { page } = await open(world.ada, 'carriers/new')
      await typeInto(page, textbox(page, /^Name/), 'Refused')
      const gateway = page.getByRole('group', { name: 'Gateway 1' })
      await typeInto(page, gateway.getByRole('textbox', { name: /^Server/ }), '203.0.113.30')
      const more = gateway.getByRole('button', { name: 'More settings' })
      await pressOn(page, more)
      await typeInto(page, gateway.getByRole('textbox', { name: 'Prefix' }), '"')
      await pressOn(page, more)
      await world.unchanged(async () => {
        await press(page, 'Create')
        await gateway
          .getByRole('textbox', { name: 'Prefix' })
          .and(page.locator('[aria-invalid=true]'))
          .waitFor()
      })
    })
  })
})
