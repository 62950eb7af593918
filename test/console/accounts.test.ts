// Accounts in the console: found, made, changed, moved, deleted.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { arrowTo, choose, chooseItem, pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const arabic = 'شركة الاتصالات العربية المتحدة للتجارة والخدمات'
// As long as the API lets a name be.
const long = `Long ${'W'.repeat(123)}`
const onePage = 50
const plan = { users: { user: { rate: 4 } }, devices: { sip_device: { rate: 3 } } }

/** Does one of the actions on an account, by keyboard. */
const act = (page: Page, name: string) =>
  chooseItem(page, page.getByRole('button', { name: 'Actions' }), name)

describeAnyEngine('accounts in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  inFullRun(() => {
    it('open level by level, by the arrow keys', async () => {
      const { page } = await open(world.operator, 'accounts')
      const item = (name: string) => page.getByRole('treeitem', { name: new RegExp(`^${name}`) })
      await item('Reseller').waitFor()
      await tabTo(page, page.getByRole('tree'))
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowRight')
      await item('Acme').waitFor()
      expect(await item('Reseller').getAttribute('aria-expanded')).toBe('true')
      await arrowTo(page, item('Reseller'), 'ArrowUp')
      await page.keyboard.press('ArrowLeft')
      await item('Acme').waitFor({ state: 'detached' })
      await page.keyboard.press('ArrowRight')
      await item('Acme').waitFor()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
      await expectForEverybody(page)
    })
  })

  inFullRun(() => {
    it('are read page by page, however many stand below one', async () => {
      const crowd = await world.account(world.reseller, { name: 'Crowd' })
      await Promise.all(
        Array.from({ length: onePage + 5 }, (_, index) =>
          world.account(crowd, { name: `Member ${String(index).padStart(2, '0')}` }),
        ),
      )
      const { page } = await open(world.operator, 'accounts', { account: crowd })
      await page.getByRole('treeitem', { name: 'Member 49' }).waitFor()
      expect(await page.getByRole('treeitem', { name: /^Member/ }).count()).toBe(onePage)
      await tabTo(page, page.getByRole('tree'))
      await arrowTo(page, page.getByRole('treeitem', { name: 'Member 49' }), 'ArrowDown')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.getByRole('treeitem', { name: 'Member 54' }).waitFor()
      expect(await page.getByRole('treeitem', { name: 'Show more' }).count()).toBe(0)
      await pressOn(page, page.getByRole('tab', { name: 'Tree' }))
      await page.keyboard.press('ArrowRight')
      await page.getByRole('table', { name: 'Accounts' }).getByRole('link', { name: 'Member 00' }).waitFor()
    })

    it('are found by name, by realm and by number', async () => {
      await makeNumber(world, world.acme, '+14155550100')
      const { page } = await open(world.ross, 'accounts')
      const box = page.getByRole('searchbox', { name: 'Search by name, realm or number' })
      const rows = page.getByRole('table', { name: 'Accounts' }).getByRole('link')
      const searches = [
        ['acme.te', 'Acme'],
        ['rival.t', 'Rival'],
        ['riva', 'Rival'],
        ['(415) 555-0100', 'Acme'],
      ] as const
      for (const [typed, name] of searches) {
        await typeInto(page, box, typed)
        await eventually(
          () => rows.allTextContents(),
          (names) => names.length === 1 && names[0] === name,
        )
      }
      await page.getByText('Has the number +14155550100').waitFor()
      await expectForEverybody(page)
      await typeInto(page, box, 'no such account')
      await page.getByText('No sub-account has a name').waitFor()
    })
  })

  it('are made in steps by keyboard alone: account, admin, plan, numbers', async () => {
    const made = await world.operator.put(`${world.reseller.path}/service_plans`, { name: 'Office', plan })
    const { page } = await open(world.ross, 'accounts/new')
    const name = page.getByRole('textbox', { name: /^Name/ })
    await typeInto(page, name, 'Acme')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await name.and(page.locator('[aria-invalid=true]')).waitFor()
    })
    await typeInto(page, name, 'Fresh and Co')
    await choose(page, page.getByRole('combobox', { name: /^Time zone/ }), 'Europe/Berlin', 'Europe/Ber')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await typeInto(page, page.getByRole('textbox', { name: /^First name/ }), 'Nora')
    await typeInto(page, page.getByRole('textbox', { name: /^Last name/ }), 'New')
    await typeInto(page, page.getByRole('textbox', { name: /^User ?name/i }), 'nora')
    await typeInto(page, page.locator('input[type=password]'), 'nora-secret-1')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await choose(page, page.getByRole('combobox', { name: 'Plan' }), 'Office')
    await page.getByRole('table', { name: 'Charges' }).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Assign this plan' }))
    await page.getByRole('link', { name: 'Go to numbers' }).waitFor()
    await pressOn(page, page.getByRole('link', { name: 'Open the account' }))
    await page.getByRole('heading', { level: 1, name: 'Fresh and Co' }).waitFor()
    const found = await world.ross.get(`${world.reseller.path}/search?t=account&q=name&v=fresh`)
    const path = `/v2/accounts/${found.data[0].id}`
    expect((await world.ross.get(path)).data.timezone).toBe('Europe/Berlin')
    const users = await world.ross.get(`${path}/users`)
    expect(users.data).toMatchObject([{ username: 'nora', priv_level: 'admin' }])
    expect(Object.keys((await world.ross.get(`${path}/services`)).data.plans)).toEqual([made.data.id])
  })

  inFullRun(() => {
    it('show what a plan costs together with the plans that they have', async () => {
      const { ross, reseller } = world
      const account = await world.account(reseller, { name: 'Has a plan' })
      await world.device(account)
      const planOf = async (name: string, rate: number) => {
        const prices = { devices: { sip_device: { rate } } }
        return (await ross.put(`${reseller.path}/service_plans`, { name, plan: prices })).data.id as string
      }
      const base = await planOf('Base', 3)
      const overrides = { devices: { sip_device: { rate: 2 } } }
      await ross.post(`${account.path}/services`, { add: [{ id: base, overrides: { plan: overrides } }] })
      const sold = await ross.put(`${reseller.path}/service_plans`, {
        name: 'Admins',
        plan: { users: { admin: { rate: 5 } } },
      })
      await world.admin(account)
      const { page } = await open(ross, `accounts/new/${account.id}/plan`)
      const field = page.getByRole('combobox', { name: 'Plan' })
      await field.waitFor()
      await field.focus()
      await page.keyboard.press('ArrowDown')
      await page.getByRole('option', { name: 'Admins', exact: true }).waitFor()
      expect(await page.getByRole('option', { name: 'Base', exact: true }).count()).toBe(0)
      await choose(page, field, 'Admins')
      const wanted = await ross.post(`${account.path}/services/quote`, {
        add: [{ id: base, overrides: { plan: overrides } }, sold.data.id],
      })
      const [invoice] = wanted.data.invoices
      expect(invoice.summary.recurring).toBe(7)
      await page.getByText('$7.00', { exact: false }).first().waitFor()
    })
  })

  inFullRun(() => {
    it('that do not exist or are not visible to the user show an error inside the console', async () => {
      const nowhere = 'f'.repeat(32)
      for (const id of isFullRun ? [nowhere, world.rival.id] : [world.rival.id]) {
        const { page } = await open(world.ada, 'devices', { account: { ...world.acme, id } })
        await page.getByRole('heading', { level: 1, name: 'This account cannot be displayed' }).waitFor()
        await page.getByRole('alert').waitFor()
        await page.getByRole('navigation', { name: 'Sections' }).waitFor()
        await page.getByRole('button', { name: 'User menu of ada' }).waitFor()
        if (isFullRun) await expectForEverybody(page)
        await pressOn(page, page.getByRole('link', { name: 'Back to my account' }))
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
        expect(new URL(page.url()).pathname).toBe(`/a/${world.acme.id}/overview`)
      }
    })
  })

  inFullRun(() => {
    it('are left half made, and gone on with later', async () => {
      const { page } = await open(world.operator, 'accounts/new?reseller=true')
      await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Half made')
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByText('The admin manages everything').waitFor()
      await page.reload()
      await page.getByText('Half made').first().waitFor()
      await pressOn(page, page.getByRole('link', { name: 'Skip', exact: true }))
      await pressOn(page, page.getByRole('link', { name: 'Skip', exact: true }))
      await pressOn(page, page.getByRole('link', { name: 'Open the account' }))
      await page.getByText('Reseller', { exact: true }).waitFor()
      await pressOn(page, page.getByRole('link', { name: 'Continue setup' }))
      await page.getByText('The admin manages everything').waitFor()
    })

    it('are disabled by those above, and enabled again at once', async () => {
      const account = await world.account(world.reseller, { name: 'On and off' })
      const { page } = await open(world.ross, `accounts/${account.id}`)
      await act(page, 'Disable')
      await page.getByText('Disabled', { exact: true }).waitFor()
      expect((await world.ross.get(account.path)).data.enabled).toBe(false)
      await pressOn(page, page.getByRole('button', { name: 'Undo' }))
      await page.getByText('Disabled', { exact: true }).waitFor({ state: 'detached' })
      expect((await world.ross.get(account.path)).data.enabled).toBe(true)
    })

    it('get a new API key; the sessions of the old one end unless the box is cleared', async () => {
      const account = await world.account(world.reseller, { name: 'Keyed' })
      const { page } = await open(world.ross, 'api-keys', { account })
      const dialog = page.getByRole('dialog')
      const keyOf = async () => (await world.ross.get(`${account.path}/api_key`)).data.api_key as string
      const renew = async ({ ends }: { ends: boolean }) => {
        await pressOn(page, page.getByRole('button', { name: 'Renew main key' }))
        const box = dialog.getByRole('checkbox', { name: /^End sessions opened/ })
        expect(await box.isChecked()).toBe(true)
        if (!ends) await pressOn(page, box, 'Space')
        await pressOn(page, dialog.getByRole('button', { name: 'Renew main key' }))
        const shown = page.getByRole('dialog', { name: 'New main API key' })
        await shown.getByText(await shown.locator('pre').innerText()).waitFor()
        expect(await shown.locator('pre').innerText()).toBe(await keyOf())
        await expectForEverybody(page)
        await pressOn(page, shown.getByRole('button', { name: 'Close' }).last())
        await shown.waitFor({ state: 'detached' })
      }
      const first = await world.keyHolder(account)
      await renew({ ends: false })
      expect(await first.get(account.path)).toSucceed()
      world.clock.advance({ seconds: 1 })
      const second = await world.keyHolder(account)
      await renew({ ends: true })
      for (const session of [first, second]) expect((await session.get(account.path)).status).toBe(401)
    })

    it('become resellers, and no resellers', async () => {
      const account = await world.account(world.reseller)
      const { page } = await open(world.operator, `accounts/${account.id}`)
      await act(page, 'Make reseller')
      await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Make reseller' }))
      await page.getByText('Reseller', { exact: true }).waitFor()
      expect((await world.operator.get(account.path)).data.is_reseller).toBe(true)
      await act(page, 'Remove reseller status')
      await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Remove reseller status' }))
      await eventually(
        async () => (await world.operator.get(account.path)).data.is_reseller,
        (isReseller) => isReseller === false,
      )
    })

    it('move under another account by keyboard, with all below them', async () => {
      const target = await world.account(world.master, { name: 'New home' })
      const account = await world.account(world.reseller, { name: 'Wanderer' })
      await world.account(account)
      const { page } = await open(world.operator, `accounts/${account.id}`)
      await act(page, 'Move')
      const dialog = page.getByRole('dialog', { name: 'Move Wanderer' })
      await dialog.getByText('The account and its 1 sub-account move under the selected account.').waitFor()
      await typeInto(page, dialog.getByRole('combobox', { name: 'New parent account' }), 'New ho')
      await eventually(
        () => page.getByRole('option').allTextContents(),
        (options) => options.length === 1 && options[0]?.startsWith('New home') === true,
      )
      await choose(page, dialog.getByRole('combobox', { name: 'New parent account' }), /^New home/)
      await pressOn(page, dialog.getByRole('button', { name: 'Move' }))
      await page.waitForURL(`**/a/${target.id}/accounts/${account.id}`)
      const parents = await world.operator.get(`${account.path}/parents`)
      expect(parents.data.map(({ id }: { id: string }) => id)).toEqual([world.master.id, target.id])
    })
  })

  inFullRun(() => {
    it('are deleted after their name is typed, once they have no sub-accounts', async () => {
      const account = await world.account(world.reseller, { name: 'Short lived' })
      const child = await world.account(account)
      const { page } = await open(world.ross, `accounts/${account.id}`)
      await act(page, 'Delete')
      const dialog = page.getByRole('dialog', { name: 'Delete this account?' })
      await dialog.getByText('1 sub-account exists').waitFor()
      expect(await dialog.getByRole('button', { name: 'Delete' }).count()).toBe(0)
      await world.operator.delete(child.path)
      await page.reload()
      await act(page, 'Delete')
      const typed = dialog.getByRole('textbox', { name: /^Type the name/ })
      await typeInto(page, typed, 'Short')
      expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
      await typeInto(page, typed, 'Short lived')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
      const { data } = await world.ross.get(`${world.reseller.path}/search?t=account&q=name&v=shortlived`)
      expect(data).toEqual([])
    })
  })

  inFullRun(() => {
    it('look right with a long name, and with one in Arabic', async () => {
      const account = await world.account(world.reseller, { name: arabic })
      const below = await world.account(account, { name: long })
      const { page } = await open(world.operator, 'accounts', { account })
      await page.getByRole('treeitem', { name: /^Long/ }).waitFor()
      await page.getByRole('link', { name: long }).click()
      await page.getByRole('heading', { level: 1, name: long }).waitFor()
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('link', { name: 'Manage' }))
      await page.waitForURL(`**/a/${below.id}/overview`)
      await page.getByRole('region', { name: 'Calls today' }).waitFor()
    })

    it('with long or Arabic names have an accessible tree', async () => {
      const account = await world.account(world.reseller, { name: `${arabic} 2` })
      await world.account(account, { name: `Second ${'W'.repeat(121)}` })
      const { page } = await open(world.operator, 'accounts', { account })
      await page.getByRole('treeitem', { name: /WWW/ }).last().waitFor()
      await expectForEverybody(page)
    })

    it('have an accessible dialog for a move', async () => {
      const account = await world.account(world.reseller)
      const { page } = await open(world.operator, `accounts/${account.id}`)
      await act(page, 'Move')
      await page.getByRole('dialog').getByText('Admins above the new parent').waitFor()
      await expectForEverybody(page)
    })

    it('show the costs of a plan on an accessible page', async () => {
      await world.operator.put(`${world.reseller.path}/service_plans`, { name: 'Shop', plan })
      const account = await world.account(world.reseller)
      await world.user(account)
      const { page } = await open(world.ross, `accounts/new/${account.id}/plan`)
      await choose(page, page.getByRole('combobox', { name: 'Plan' }), 'Shop')
      await page.getByRole('table', { name: 'Charges' }).waitFor()
      await expectForEverybody(page)
    })
  })
})
