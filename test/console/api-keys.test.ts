// API keys in the console.
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('API keys in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are created, shown once, changed and deleted by keyboard alone', async () => {
    const account = await world.account()
    const keys = `${account.path}/api_keys`
    const { page } = await open(world.operator, 'api-keys', { account })
    await page.getByText('No API keys yet.', { exact: false }).waitFor()
    await pressOn(page, page.getByRole('link', { name: 'New API key' }).first())
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Call export')
    const scopes = page.getByRole('combobox', { name: /^Permissions/ })
    await typeInto(page, scopes, 'cdrs:read')
    await page.keyboard.press('Enter')
    await page.getByLabel(/^Valid until/).fill('2026-01-31')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    const shown = page.getByRole('dialog', { name: 'API key created' })
    await shown.getByText('it is shown only this once', { exact: false }).waitFor()
    const key = await shown.locator('pre').innerText()
    const asProgram = (path: string) =>
      fetch(`http://127.0.0.1:${world.server.port}${path}`, { headers: { authorization: `Bearer ${key}` } })
    expect((await asProgram(`${account.path}/cdrs`)).status).toBe(200)
    expect((await asProgram(`${account.path}/limits`)).status).toBe(403)
    await expectForEverybody(page)
    await pressOn(page, shown.getByRole('button', { name: 'Close' }).last())
    await page.getByRole('row', { name: /^Call export cdrs:read Any Jan 31, 2026/ }).waitFor()
    expect(await page.getByText(key).count()).toBe(0)
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'Call export' }))
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Statistics')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('heading', { level: 1, name: 'Statistics' }).waitFor()
    expect((await world.operator.get(keys)).data).toMatchObject([
      { name: 'Statistics', scopes: ['cdrs:read'] },
    ])
    await pressOn(page, page.getByRole('button', { name: 'Delete' }))
    const question = page.getByRole('dialog', { name: 'Delete this API key?' })
    await question.getByText('Programs that use Statistics are refused', { exact: false }).waitFor()
    await pressOn(page, question.getByRole('button', { name: 'Delete' }))
    await page.getByText('No API keys yet.', { exact: false }).waitFor()
    expect((await world.operator.get(keys)).data).toEqual([])
    expect((await asProgram(`${account.path}/cdrs`)).status).toBe(401)
  })

  inFullRun(() => {
    it('show the field that a refusal is about, and create nothing', async () => {
      const account = await world.account()
      const { page } = await open(world.operator, 'api-keys/new', { account })
      await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Misplaced')
      await typeInto(page, page.getByRole('combobox', { name: /^Permissions/ }), '*')
      await page.keyboard.press('Enter')
      const networks = page.getByRole('combobox', { name: /^Networks/ })
      await typeInto(page, networks, 'the office')
      await page.keyboard.press('Enter')
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Create' }))
        await page.getByText('the office', { exact: false }).last().waitFor()
        await page.getByRole('alert').first().waitFor()
      })
    })

    it('are in the menu of admins only', async () => {
      const user = await world.user(world.acme)
      const { page } = await open(user, 'tasks')
      await page.getByRole('link', { name: 'Bulk tasks' }).first().waitFor()
      await page.getByRole('link', { name: 'API keys' }).waitFor({ state: 'detached' })
    })
  })
})
