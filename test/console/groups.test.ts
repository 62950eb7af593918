// Groups in the console.
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('groups in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  it('are made with members, changed and deleted by keyboard alone', async () => {
    const account = await world.account()
    const user = await world.user(account, { first_name: 'Una', last_name: 'Member' })
    const phone = await world.device(account, { name: 'Lobby' })
    const { page } = await open(world.operator, 'groups', { account })
    await page.getByText('No groups yet.', { exact: false }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New group' }).first())
    await expectForEverybody(page)
    await typeInto(page, page.getByRole('textbox', { name: /^Name/ }), 'Sales')
    const member = page.getByRole('combobox', { name: 'Member' })
    const add = page.getByRole('button', { name: 'Add member' })
    await choose(page, member, /^Una Member/)
    await pressOn(page, add)
    await choose(page, page.getByRole('combobox', { name: 'Kind' }), 'Phone')
    await choose(page, member, 'Lobby')
    await pressOn(page, add)
    const lobby = page.getByRole('listitem', { name: 'Lobby' })
    await typeInto(page, lobby.getByRole('textbox', { name: 'Delay (s)' }), '5')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { level: 1, name: 'Sales' }).waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const endpoints = async () => (await world.operator.get(`${account.path}/groups/${id}`)).data.endpoints
    expect(await endpoints()).toEqual({
      [user.id]: { type: 'user' },
      [phone.id]: { type: 'device', delay: 5 },
    })
    await page.getByText('No number leads to this group yet.', { exact: false }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: /^Remove Una Member/ }))
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await endpoints()).toEqual({ [phone.id]: { type: 'device', delay: 5 } })
    await pressOn(page, page.getByRole('button', { name: 'Delete group' }))
    const question = page.getByRole('dialog', { name: 'Delete this group?' })
    await pressOn(page, question.getByRole('button', { name: 'Delete group' }))
    await page.getByText('No groups yet.', { exact: false }).waitFor()
    expect((await world.operator.get(`${account.path}/groups`)).data).toEqual([])
  })

  inFullRun(() => {
    it('show a refusal next to the member that it is about', async () => {
      const { data: inner } = await world.ada.put(`${world.acme.path}/groups`, {
        name: 'Inner',
        endpoints: {},
      })
      const endpoints = { [inner.id]: { type: 'group' } }
      await world.ada.put(`${world.acme.path}/groups`, { name: 'Outer', endpoints })
      const { page } = await open(world.ada, `groups/${inner.id}`)
      await choose(page, page.getByRole('combobox', { name: 'Kind' }), 'Group')
      await choose(page, page.getByRole('combobox', { name: 'Member' }), 'Outer')
      await pressOn(page, page.getByRole('button', { name: 'Add member' }))
      const outer = page.getByRole('listitem', { name: 'Outer' })
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Save' }))
        await outer.getByText('The group cannot contain itself').waitFor()
      })
      await expectForEverybody(page)
    })

    it('show the numbers that lead to them, in German on a phone as well', async () => {
      const { data: group } = await world.ada.put(`${world.acme.path}/groups`, {
        name: 'Vertrieb',
        endpoints: {},
      })
      const made = await world.ada.put(`${world.acme.path}/callflows`, {
        name: 'Durchwahl',
        numbers: ['4711'],
        group_id: group.id,
        flow: {
          module: 'ring_group',
          data: { endpoints: [{ endpoint_type: 'group', id: group.id }] },
        },
      })
      expect(made).toSucceed()
      const admin = await world.admin(world.acme, { language: 'de' })
      const { page } = await open(admin, 'groups', { locale: 'de-DE', width: 390 })
      await pressOn(page, page.getByRole('link', { name: 'Vertrieb' }))
      const numbers = page.getByRole('region', { name: 'Nummern' })
      await numbers.getByText('4711').waitFor()
      await expectForEverybody(page)
      await pressOn(page, numbers.getByRole('link', { name: 'Durchwahl' }))
      await page.getByRole('heading', { level: 1, name: 'Durchwahl' }).waitFor()
    })
  })
})
