// Phones in the console.
import { expect, it } from 'vitest'
import { pressOn, typeInto } from '../support/browser.ts'
import { useConsole } from '../support/console.ts'
import { describeEngines } from '../support/world.ts'

describeEngines('phones in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are listed, and found by the beginning of their name', async () => {
    await world.device(world.acme, { name: 'Reception' })
    await world.device(world.acme, { name: 'Warehouse' })
    const { page } = await open(world.ada, 'devices')
    await page.getByRole('link', { name: 'Reception' }).waitFor()
    await page.getByRole('searchbox', { name: 'Search by name' }).fill('ware')
    await page.getByRole('link', { name: 'Reception' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Warehouse' }).click()
    await page.getByRole('heading', { level: 1, name: 'Warehouse' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
  })

  it('come into a list that was empty as soon as somebody makes one', async () => {
    const account = await world.account()
    const { page } = await open(world.operator, 'devices', { account })
    await page.getByText('No phones yet.', { exact: false }).waitFor()
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    await world.device(account, { name: 'The very first' })
    await page.getByRole('link', { name: 'The very first' }).waitFor()
  })

  it('are made and changed by keyboard alone', async () => {
    const { page } = await open(world.ada, 'devices')
    await pressOn(page, page.getByRole('link', { name: 'New phone' }))
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }).first(), 'Front door')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { level: 1, name: 'Front door' }).waitFor()
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }).first(), 'Back door')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('heading', { level: 1, name: 'Back door' }).waitFor()
    const { data } = await world.ada.get(`${world.acme.path}/devices?filter_name=Back%20door`)
    expect(data).toHaveLength(1)
  })

  it('show the field that a refusal is about', async () => {
    await world.device(world.acme, { name: 'Taken', mac_address: '00:11:22:33:44:55' })
    const { page } = await open(world.ada, 'devices/new')
    await page.getByRole('textbox', { name: /^Name/ }).first().fill('Second')
    await page.getByRole('textbox', { name: 'MAC address' }).fill('00:11:22:33:44:55')
    await world.unchanged(async () => {
      await page.getByRole('button', { name: 'Create' }).click()
      await page
        .getByText(/already|unique/i)
        .first()
        .waitFor()
    })
  })

  it('that two people edit at once show both versions, and nothing is written over unseen', async () => {
    const made = await world.device(world.acme, { name: 'Shared', mac_address: '00:11:22:33:44:66' })
    const first = await open(world.ada, `devices/${made.id}`)
    await first.page.getByRole('textbox', { name: /^Name/ }).first().fill('Mine')
    await world.ross.patch(made.path, { name: 'Theirs' })
    await first.page.getByRole('button', { name: 'Save' }).click()
    const dialog = first.page.getByRole('dialog', { name: 'Two versions' })
    await dialog.getByText('Mine', { exact: true }).waitFor()
    await dialog.getByText('Theirs', { exact: true }).last().waitFor()
    expect((await world.ada.get(made.path)).data.name).toBe('Theirs')
    await dialog.getByRole('button', { name: 'Save mine over it' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect((await world.ada.get(made.path)).data.name).toBe('Mine')
  })

  it('say plainly that no switch is there to ring them', async () => {
    const made = await world.device(world.acme, { name: 'Silent' })
    const { page } = await open(world.ada, `devices/${made.id}`)
    await page.getByText('Not registered').waitFor()
    await page.getByText(/^as of /).waitFor()
    await page.getByRole('tab', { name: 'Call and sync' }).click()
    const parts = [
      { name: 'Quick call', field: 'Number', text: '+15551234567', action: 'Call' },
      { name: 'Settings of the phone', action: 'Fetch settings' },
      { name: 'SIP NOTIFY', field: 'Event', text: 'check-sync', action: 'Send' },
    ]
    await world.unchanged(async () => {
      for (const { name, field, text = '', action } of parts) {
        const part = page.getByRole('region', { name })
        if (field) await part.getByRole('textbox', { name: field }).fill(text)
        await part.getByRole('button', { name: action }).click()
        await part.getByText('No switch is connected').waitFor()
      }
    })
    await expectForEverybody(page)
  })

  it('have an access list with a pattern of their own, and are asked for by their name', async () => {
    const made = await world.device(world.acme, { name: 'Fenced', sip: { username: 'fenced' } })
    const { page } = await open(world.ross, `devices/${made.id}`, { account: world.acme })
    await page.getByRole('tab', { name: 'Edge' }).click()
    const list = page.getByRole('region', { name: 'Access list' })
    await list.getByRole('radio', { name: 'Everybody but the networks below' }).check()
    await list.getByRole('textbox', { name: 'Pattern of the user agent' }).fill('^Yealink(')
    await world.unchanged(async () => {
      await list.getByRole('button', { name: 'Save' }).click()
      await list.getByText(/^The pattern /).waitFor()
    })
    await list.getByRole('textbox', { name: 'Pattern of the user agent' }).fill('^Yealink')
    await list.getByRole('button', { name: 'Save' }).click()
    await list.getByText('Every address passes.').waitFor()
    expect((await world.ross.get(`${made.path}/access_lists`)).data).toEqual({
      order: 'deny,allow',
      cidrs: [],
      user_agent: '^Yealink',
    })
    const tester = page.getByRole('region', { name: 'Would it pass?' })
    await tester.getByRole('textbox', { name: 'Address' }).fill('192.0.2.7')
    await tester.getByRole('textbox', { name: 'User agent' }).fill('Grandstream')
    await tester.getByRole('button', { name: 'Would it pass?' }).click()
    await tester.getByText('The user agent does not match the pattern of the device.').waitFor()
  })

  it.each(['devices', 'devices/new'])('are for everybody: %s', async (screen) => {
    const { page } = await open(world.ada, screen)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expectForEverybody(page)
  })
})
