// What surrounds each screen of the console: menu, account switcher, breadcrumbs, requests, and what all lists share.
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { chooseItem, openEntry, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('around each screen of the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('the menu groups the screens, and unfolds a group by keyboard', async () => {
    const { page } = await open(world.ada, 'devices')
    const menu = page.getByRole('navigation', { name: 'Sections' })
    await menu
      .getByRole('link', { name: 'Phones', exact: true })
      .and(page.locator('[aria-current=page]'))
      .waitFor()
    expect(await menu.getByRole('link', { name: 'Invoices' }).isVisible()).toBe(false)
    await pressOn(page, menu.getByRole('button', { name: 'Billing' }))
    await openEntry(page, 'Invoices')
    const trail = page.getByRole('navigation', { name: 'Breadcrumbs' })
    expect(await trail.innerText()).toMatch(/^Acme\s*\/\s*Billing$/)
    await expectForEverybody(page)
  })

  it('the switcher opens the same screen of another account, found by name or number, by keyboard alone', async () => {
    const customer = await world.account(world.reseller, { name: 'Switched to' })
    const { page } = await open(world.ross, 'devices')
    const switcher = page.getByRole('button', { name: /: switch account$/ })
    await pressOn(page, switcher)
    const search = page.getByRole('textbox', { name: 'Find by name, realm or number' })
    await typeInto(page, search, 'Switched')
    const found = page.getByRole('option')
    await expect.poll(() => found.allInnerTexts()).toEqual([expect.stringMatching(/^Switched to/)])
    await expectForEverybody(page)
    await page.locator('[data-combobox-selected]').filter({ hasText: 'Switched to' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/a/${customer.id}/devices`)
    await page.getByText('Managing this account').waitFor()
    await pressOn(page, page.getByRole('link', { name: 'Back to my account' }))
    await page.waitForURL(`**/a/${world.reseller.id}/overview`)
    expect(await page.getByText('Managing this account').count()).toBe(0)
  })

  it('the header counts the open alerts and leads to them', async () => {
    const account = await world.account()
    await world.operator.put(`${account.path}/alerts`, {
      title: 'Maintenance',
      message: 'On Sunday',
      from: [{ type: 'account', value: world.master.id }],
      to: [{ type: account.id, value: 'all' }],
    })
    const { page } = await open(world.operator, 'devices', { account })
    await pressOn(page, page.getByRole('link', { name: /^[1-9]\d* open alerts?$/ }))
    await page.getByRole('heading', { level: 2, name: 'Maintenance' }).waitFor()
  })

  it('the requests of a screen are shown as curl commands with their responses', async () => {
    const { page } = await open(world.ada, 'devices')
    await page.getByRole('heading', { level: 1, name: 'Phones' }).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'API requests' }))
    const panel = page.getByRole('dialog', { name: 'API requests' })
    await pressOn(page, panel.getByRole('button', { name: /^GET .*\/devices\?.* 200$/ }))
    await panel.getByText(/^curl -sS -H "X-Auth-Token: \$TOKEN" '.*\/devices\?/).waitFor()
    await panel.getByText('"page_size"', { exact: false }).first().waitFor()
    expect(await panel.innerText()).not.toContain(world.ada.token)
    await expectForEverybody(page)
  })

  inFullRun(() => {
    it('each entry of the menu opens the screen of its name, which is accessible', async () => {
      for (const person of [world.operator, world.ross, world.ada]) {
        const { page } = await open(person, 'overview')
        const menu = page.getByRole('navigation', { name: 'Sections' })
        await menu.getByRole('link').first().waitFor()
        const seen = new Set<string>()
        const groups = await menu.getByRole('button').allInnerTexts()
        for (const group of [undefined, ...groups]) {
          if (group) await menu.getByRole('button', { name: group, exact: true }).click()
          const names = (await menu.locator('a:visible').allInnerTexts()).filter((name) => !seen.has(name))
          for (const name of names) {
            await openEntry(page, name)
            await expectForEverybody(page)
            seen.add(name)
          }
        }
        expect(seen.size).toBeGreaterThan(20)
      }
    })

    it('a list hides the columns that the user does not want, also after a reload', async () => {
      const { page } = await open(world.ada, 'devices')
      const heading = page.getByRole('columnheader', { name: 'MAC address' })
      await world.device(world.acme, { name: 'With columns' })
      await heading.waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Columns' }))
      await pressOn(page, page.getByRole('checkbox', { name: 'MAC address', checked: true }), 'Space')
      await heading.waitFor({ state: 'detached' })
      await expectForEverybody(page)
      await page.reload()
      await page.getByRole('columnheader', { name: 'Type' }).waitFor()
      expect(await heading.count()).toBe(0)
    })

    it('a list is reversed by its heading, and saved as the CSV file of the API', async () => {
      const account = await world.account()
      for (const name of ['Anton', 'Berta']) await world.device(account, { name })
      const { page } = await open(world.operator, 'devices', { account })
      const names = () => page.getByRole('row').getByRole('link').allInnerTexts()
      await page
        .getByRole('columnheader', { name: 'Name' })
        .and(page.locator('[aria-sort=ascending]'))
        .waitFor()
      expect(await names()).toEqual(['Anton', 'Berta'])
      await pressOn(page, page.getByRole('columnheader', { name: 'Name' }).getByRole('button'))
      await page
        .getByRole('columnheader', { name: 'Name' })
        .and(page.locator('[aria-sort=descending]'))
        .waitFor()
      await expect.poll(names).toEqual(['Berta', 'Anton'])
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        pressOn(page, page.getByRole('button', { name: 'Save as CSV' })),
      ])
      expect(download.suggestedFilename()).toBe('Phones.csv')
      const saved = await readFile(await download.path(), 'utf8')
      expect(saved.split('\r\n').map((line) => /Anton|Berta/.exec(line)?.[0])).toEqual([
        undefined,
        'Berta',
        'Anton',
        undefined,
      ])
    })

    it('the user menu changes the language and the colors', async () => {
      const { page } = await open(world.ada, 'devices')
      await chooseItem(page, page.getByRole('button', { name: /^User menu of/ }), 'Deutsch')
      await page.getByRole('heading', { level: 1, name: 'Telefone' }).waitFor()
    })
  })
})
