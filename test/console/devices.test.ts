// Phones in the console.
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { openTab, pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('phones in the console', (engine) => {
  const { world, open, expectForEverybody, expectScreensForEverybody } = useConsole(engine)

  inFullRun(() => {
    it('are listed, and found by the beginning of their name', async () => {
      await world.device(world.acme, { name: 'Reception' })
      await world.device(world.acme, { name: 'Warehouse' })
      const { page } = await open(world.ada, 'devices')
      await page.getByRole('link', { name: 'Reception' }).waitFor()
      await typeInto(page, page.getByRole('searchbox', { name: 'Search by name' }), 'ware')
      await page.getByRole('link', { name: 'Reception' }).waitFor({ state: 'detached' })
      await pressOn(page, page.getByRole('link', { name: 'Warehouse' }))
      await page.getByRole('heading', { level: 1, name: 'Warehouse' }).waitFor()
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Phones' }).waitFor()
    })
  })

  it('appear in a list that was empty as soon as one is created', async () => {
    const account = await world.account()
    const { page } = await open(world.operator, 'devices', { account })
    await page.getByText('No phones yet.', { exact: false }).waitFor()
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    await world.device(account, { name: 'The very first' })
    await page.getByRole('link', { name: 'The very first' }).waitFor()
  })

  it('are made, changed and deleted by keyboard alone, and show the field that a refusal is about', async () => {
    await world.device(world.acme, { name: 'Taken', mac_address: '00:11:22:33:44:55' })
    const { page } = await open(world.ada, 'devices')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New phone' }))
    await expectForEverybody(page)
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }).first(), 'Front door')
    const macAddress = page.getByRole('textbox', { name: 'MAC address' })
    await typeInto(page, macAddress, '00:11:22:33:44:55')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await macAddress.and(page.locator('[aria-invalid=true]')).waitFor()
    })
    await typeInto(page, macAddress, '00:11:22:33:44:5a')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { level: 1, name: 'Front door' }).waitFor()
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }).first(), 'Back door')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('heading', { level: 1, name: 'Back door' }).waitFor()
    const named = `${world.acme.path}/devices?filter_name=Back%20door`
    expect((await world.ada.get(named)).data).toHaveLength(1)
    await pressOn(page, page.getByRole('button', { name: 'Delete' }))
    const question = page.getByRole('dialog', { name: 'Delete this phone?' })
    await pressOn(page, question.getByRole('button', { name: 'Delete' }))
    await page.getByRole('heading', { level: 1, name: 'Phones' }).waitFor()
    expect((await world.ada.get(named)).data).toEqual([])
  })

  it('that two people edit at once show both versions, and nothing is written over unseen', async () => {
    const made = await world.device(world.acme, { name: 'Shared', mac_address: '00:11:22:33:44:66' })
    const first = await open(world.ada, `devices/${made.id}`)
    await typeInto(first.page, first.page.getByRole('textbox', { name: /^Name/ }).first(), 'Mine')
    await world.ross.patch(made.path, { name: 'Theirs' })
    await pressOn(first.page, first.page.getByRole('button', { name: 'Save' }))
    const dialog = first.page.getByRole('dialog', { name: 'Conflicting changes' })
    await dialog.getByText('Mine', { exact: true }).waitFor()
    await dialog.getByText('Theirs', { exact: true }).last().waitFor()
    expect((await world.ada.get(made.path)).data.name).toBe('Theirs')
    await pressOn(first.page, dialog.getByRole('button', { name: 'Overwrite with my version' }))
    await dialog.waitFor({ state: 'hidden' })
    expect((await world.ada.get(made.path)).data.name).toBe('Mine')
  })

  inFullRun(() => {
    it('show both versions in the JSON, too, when another user saved first', async () => {
      const made = await world.device(world.acme, { name: 'As text', mac_address: '00:11:22:33:44:77' })
      const { page } = await open(world.ada, `devices/${made.id}`)
      await page.getByRole('tab', { name: 'JSON' }).click()
      const text = page.getByRole('textbox', { name: 'Record as JSON' })
      const write = async (name: string) => {
        const record = JSON.parse(await text.inputValue())
        await text.fill(JSON.stringify({ ...record, name }, undefined, 2))
      }
      const dialog = page.getByRole('dialog', { name: 'Conflicting changes' })
      const save = async () => {
        await pressOn(page, page.getByRole('button', { name: 'Save' }))
        await dialog.getByText('Mine', { exact: true }).waitFor()
        await dialog.getByText('Theirs', { exact: true }).last().waitFor()
      }
      const name = async () => (await world.ada.get(made.path)).data.name
      // In either order of events, the form compares the input with the edited version.
      await write('Mine')
      await world.ross.patch(made.path, { name: 'Theirs', mac_address: '00:11:22:33:44:88' })
      await save()
      expect(await name()).toBe('Theirs')
      await pressOn(page, dialog.getByRole('button', { name: 'Discard my changes' }))
      await dialog.waitFor({ state: 'hidden' })
      expect(JSON.parse(await text.inputValue())).toMatchObject({
        name: 'Theirs',
        mac_address: '001122334488',
      })
      await write('Mine')
      await world.ross.patch(made.path, { mac_address: '00:11:22:33:44:99' })
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await dialog.getByText('Mine', { exact: true }).waitFor()
      await pressOn(page, dialog.getByRole('button', { name: 'Overwrite with my version' }))
      await dialog.waitFor({ state: 'hidden' })
      expect((await world.ada.get(made.path)).data).toMatchObject({
        name: 'Mine',
        mac_address: '001122334499',
      })
    })

    it('tell who changed them, page by page', async () => {
      const made = await world.device(world.acme, { name: 'Storied' })
      const pageLength = 50
      for (let count = 1; count <= pageLength; count += 1)
        await world.ada.patch(made.path, { name: `Name ${count}` })
      await world.ross.patch(made.path, { name: 'The last name' })
      const { page } = await open(world.ada, `devices/${made.id}`)
      await page.getByRole('tab', { name: 'History' }).click()
      const history = page.getByRole('tabpanel', { name: 'History' })
      await history.getByText('The last name', { exact: true }).waitFor()
      await history.getByText('Ada Admin').first().waitFor()
      // A customer cannot read users of other accounts, so the page shows their ID.
      await history.getByText(`User ${world.ross.id.slice(0, 8)}`).waitFor()
      expect(await history.getByText('Created', { exact: true }).count()).toBe(0)
      await pressOn(page, page.getByRole('button', { name: 'Show more' }))
      await history.getByText('Created', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' })
      await expectForEverybody(page)
    })

    it('are restarted after a question', async () => {
      const made = await world.device(world.acme, { name: 'In a call' })
      const { page } = await open(world.ada, `devices/${made.id}`)
      await pressOn(page, page.getByRole('tab', { name: 'Form' }), 'ArrowRight')
      const restart = page.getByRole('button', { name: 'Restart' })
      const dialog = page.getByRole('dialog', { name: 'Restart this phone?' })
      await pressOn(page, restart)
      await dialog.waitFor()
      await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('button', { name: 'Cancel' }))
      await dialog.waitFor({ state: 'detached' })
      expect(await page.getByText('No phone switch connected').count()).toBe(0)
      await pressOn(page, restart)
      await pressOn(page, dialog.getByRole('button', { name: 'Restart' }))
      await page.getByText('No phone switch connected').waitFor()
    })

    it('say plainly that no switch is there to ring them', async () => {
      const made = await world.device(world.acme, { name: 'Silent' })
      const { page } = await open(world.ada, `devices/${made.id}`)
      await page.getByText('Not registered').waitFor()
      await page.getByText(/^as of /).waitFor()
      await openTab(page, 'Call and sync')
      const parts = [
        { name: 'Quick call', field: 'Number', text: '+15551234567', action: 'Call' },
        { name: 'Phone settings', action: 'Reload settings' },
        { name: 'SIP NOTIFY', field: 'Event', text: 'check-sync', action: 'Send' },
      ]
      await world.unchanged(async () => {
        for (const { name, field, text = '', action } of parts) {
          const part = page.getByRole('region', { name })
          if (field) await typeInto(page, part.getByRole('textbox', { name: field }), text)
          await pressOn(page, part.getByRole('button', { name: action }))
          await part.getByText('No phone switch connected').waitFor()
        }
      })
      await expectForEverybody(page)
    })

    it('have an access list with their own User-Agent pattern, and an access test that uses it', async () => {
      const made = await world.device(world.acme, { name: 'Fenced', sip: { username: 'fenced' } })
      const { page } = await open(world.ross, `devices/${made.id}`, { account: world.acme })
      await openTab(page, 'SIP access')
      const list = page.getByRole('region', { name: 'Access list' })
      await tabTo(page, list.getByRole('radio', { name: 'Allow only these networks' }))
      await page.keyboard.press('ArrowDown')
      await typeInto(page, list.getByRole('textbox', { name: 'User-agent pattern' }), '^Yealink(')
      await world.unchanged(async () => {
        await pressOn(page, list.getByRole('button', { name: 'Save' }))
        await list.getByText(/^The pattern /).waitFor()
      })
      await typeInto(page, list.getByRole('textbox', { name: 'User-agent pattern' }), '^Yealink')
      await pressOn(page, list.getByRole('button', { name: 'Save' }))
      await list.getByText('Every address is allowed.').waitFor()
      expect((await world.ross.get(`${made.path}/access_lists`)).data).toEqual({
        order: 'deny,allow',
        cidrs: [],
        user_agent: '^Yealink',
      })
      const tester = page.getByRole('region', { name: 'Access test' })
      await typeInto(page, tester.getByRole('textbox', { name: 'Address' }), '192.0.2.7')
      await typeInto(page, tester.getByRole('textbox', { name: 'User agent' }), 'Grandstream')
      await pressOn(page, tester.getByRole('button', { name: 'Test', exact: true }))
      await tester.getByText('The User-Agent does not match the pattern of the device.').waitFor()
    })

    it('have accessible screens', async () => {
      const { page } = await open(world.ada, 'overview')
      await expectScreensForEverybody(page, ['devices', 'devices/new'])
    })
  })
})
