// Callflows in the console.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, chooseItem, openTab, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type TestAccount } from '../support/world/world.ts'

const ring = (id: string, children: object = {}, timeout = 20) => ({
  module: 'user',
  data: { id, timeout, delay: 0 },
  children,
})

const dialogOf = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })

const actionsOf = (page: Page, step: string) =>
  page.getByRole('button', { name: `Actions for ${step}`, exact: true })

const save = async (page: Page) => {
  await pressOn(page, page.getByRole('button', { name: 'Save', exact: true }))
  await page.getByRole('button', { name: 'Discard changes', disabled: true }).waitFor()
}

describeAnyEngine('callflows in the console', (engine) => {
  const { world, open, expectForEverybody } = useConsole(engine)

  const makeUsers = async (account: TestAccount) => ({
    ann: await world.user(account, { first_name: 'Ann', last_name: 'First' }),
    ben: await world.user(account, { first_name: 'Ben', last_name: 'Second' }),
  })

  const makeFlow = async (account: TestAccount, fields: object) => {
    const answer = await world.operator.put(`${account.path}/callflows`, fields)
    expect(answer).toSucceed()
    const path = `${account.path}/callflows/${answer.data.id}`
    return {
      path,
      screen: `callflows/${answer.data.id}`,
      flow: async () => (await world.operator.get(path)).data.flow,
    }
  }

  it('are built by keyboard alone: a user rings, and another one if the first does not answer', async () => {
    const account = await world.account()
    const { ann, ben } = await makeUsers(account)
    const { page } = await open(world.operator, 'callflows', { account })
    await page.getByText('No callflows yet.', { exact: false }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New callflow' }).first())
    await typeInto(page, page.getByRole('textbox', { name: 'Name' }), 'Front door')
    await typeInto(page, page.getByRole('combobox', { name: 'Numbers' }), '100')
    await page.keyboard.press('Enter')
    const addRing = async (button: string, user: RegExp) => {
      await pressOn(page, page.getByRole('button', { name: button, exact: true }))
      const dialog = dialogOf(page, 'New step')
      await choose(page, dialog.getByRole('combobox', { name: 'User' }), user)
      await pressOn(page, dialog.getByRole('button', { name: 'Add step' }))
      await dialog.waitFor({ state: 'detached' })
    }
    await addRing('Add first step', /^Ann First/)
    await addRing('Add step after step 1', /^Ben Second/)
    await page.getByRole('button', { name: /^2\. Ring user Ben Second/ }).waitFor()
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { level: 1, name: 'Front door' }).waitFor()
    await expectForEverybody(page)
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const made = await world.operator.get(`${account.path}/callflows/${id}`)
    expect(made.data).toMatchObject({ name: 'Front door', numbers: ['100'] })
    expect(made.data.flow).toEqual(ring(ann.id, { _: ring(ben.id) }))
    await pressOn(page, page.getByRole('button', { name: 'Delete callflow' }))
    const question = dialogOf(page, 'Delete this callflow?')
    await pressOn(page, question.getByRole('button', { name: 'Delete callflow' }))
    await page.getByText('No callflows yet.', { exact: false }).waitFor()
  })

  inFullRun(() => {
    it('keep steps of unknown modules, which show their settings as JSON', async () => {
      const account = await world.account()
      const { ann } = await makeUsers(account)
      const unknown = {
        module: 'lava_lamp',
        data: { glow: { from: 1, to: [2, 3] } },
        children: { hot: { module: 'hangup', data: {}, children: {} } },
        color: 'red',
      }
      const made = await makeFlow(account, { numbers: ['100'], flow: ring(ann.id, { _: unknown }) })
      const { page } = await open(world.operator, made.screen, { account })
      await page.getByText('1 step needs a media server').waitFor()
      await pressOn(page, page.getByRole('button', { name: /^2\. lava_lamp/ }))
      const dialog = dialogOf(page, 'Step settings')
      const settings = dialog.getByRole('textbox', { name: 'Settings (JSON)' })
      expect(JSON.parse(await settings.inputValue())).toEqual(unknown.data)
      await expectForEverybody(page)
      await settings.fill('{"glow"')
      await pressOn(page, dialog.getByRole('button', { name: 'Apply' }))
      await dialog.getByText('Not valid JSON').waitFor()
      await settings.fill('{"glow": {"from": 1, "to": []}}')
      await pressOn(page, dialog.getByRole('button', { name: 'Apply' }))
      await save(page)
      const changed = { ...unknown, data: { glow: { from: 1, to: [] } } }
      expect(await made.flow()).toEqual(ring(ann.id, { _: changed }))
    })

    it('move steps up, down and below another step, and the focus follows them', async () => {
      const account = await world.account()
      const { ann, ben } = await makeUsers(account)
      const menu = (children: object) => ({ module: 'menu', data: { id: 'sales' }, children })
      const made = await makeFlow(account, {
        numbers: ['100'],
        flow: menu({ 1: ring(ann.id, { _: ring(ben.id) }), _: { module: 'hangup', data: {}, children: {} } }),
      })
      const { page } = await open(world.operator, made.screen, { account })
      await chooseItem(page, actionsOf(page, '3. Ring user'), 'Move up')
      await expect
        .poll(() => page.evaluate(() => document.activeElement?.textContent))
        .toMatch(/^2\. Ring user ?Ben/)
      await save(page)
      const hangup = { module: 'hangup', data: {}, children: {} }
      expect(await made.flow()).toEqual(menu({ 1: ring(ben.id, { _: ring(ann.id) }), _: hangup }))
      await chooseItem(page, actionsOf(page, '3. Ring user'), 'Move…')
      const dialog = dialogOf(page, 'Move step')
      await choose(page, dialog.getByRole('combobox', { name: 'New parent step' }), '1. Menu')
      await typeInto(page, dialog.getByRole('textbox', { name: 'Branch' }), '2')
      await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('button', { name: 'Move step' }))
      await page.getByText('Key 2', { exact: true }).waitFor()
      await save(page)
      expect(await made.flow()).toEqual(menu({ 1: ring(ben.id, {}), 2: ring(ann.id, {}), _: hangup }))
    })

    it('name the steps that go before a step is removed, and keep the next ones if asked to', async () => {
      const account = await world.account()
      const { ann, ben } = await makeUsers(account)
      const hangup = { module: 'hangup', data: {}, children: {} }
      const made = await makeFlow(account, {
        numbers: ['100'],
        flow: ring(ann.id, { _: ring(ben.id, { _: hangup }) }),
      })
      const { page } = await open(world.operator, made.screen, { account })
      await chooseItem(page, actionsOf(page, '2. Ring user'), 'Remove step')
      const dialog = dialogOf(page, 'Remove this step?')
      await dialog.getByText('These 2 steps are removed when you save:').waitFor()
      expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
        '2. Ring user: Ben Second',
        '3. Hang up',
      ])
      await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('checkbox'), 'Space')
      expect(await dialog.getByRole('listitem').allTextContents()).toEqual(['2. Ring user: Ben Second'])
      await pressOn(page, dialog.getByRole('button', { name: 'Remove 1 step' }))
      await dialog.waitFor({ state: 'detached' })
      expect(await made.flow()).toEqual(ring(ann.id, { _: ring(ben.id, { _: hangup }) }))
      await save(page)
      expect(await made.flow()).toEqual(ring(ann.id, { _: hangup }))
    })

    it('that two people edit at once are never mixed: one flow replaces the other one as a whole', async () => {
      const account = await world.account()
      const { ann, ben } = await makeUsers(account)
      const phone = await world.device(account, { name: 'Lobby' })
      const made = await makeFlow(account, { numbers: ['100'], flow: ring(ann.id) })
      const { page } = await open(world.operator, made.screen, { account })
      await pressOn(page, page.getByRole('button', { name: /^1\. Ring user/ }))
      const settings = dialogOf(page, 'Step settings')
      await choose(page, settings.getByRole('combobox', { name: 'User' }), /^Ben Second/)
      await pressOn(page, settings.getByRole('button', { name: 'Apply' }))
      const theirs = { module: 'device', data: { id: phone.id, timeout: 9 }, children: { _: ring(ann.id) } }
      expect(
        await world.operator.patch(made.path, { flow: { ...theirs, data: { ...theirs.data, delay: null } } }),
      ).toSucceed()
      await pressOn(page, page.getByRole('button', { name: 'Save', exact: true }))
      const dialog = dialogOf(page, 'Conflicting changes')
      await dialog.getByRole('button', { name: 'Overwrite with my version' }).waitFor()
      expect(await made.flow()).toEqual(theirs)
      await expectForEverybody(page)
      await pressOn(page, dialog.getByRole('button', { name: 'Overwrite with my version' }))
      await dialog.waitFor({ state: 'hidden' })
      expect(await made.flow()).toEqual(ring(ben.id))
    })

    it('say which callflow has a number, and are found by a number', async () => {
      const account = await world.account()
      const { ann } = await makeUsers(account)
      await makeFlow(account, { name: 'Reception', numbers: ['100'], flow: ring(ann.id) })
      await makeFlow(account, { name: 'Workshop', numbers: ['2'], flow: ring(ann.id) })
      const { page } = await open(world.operator, 'callflows', { account })
      await page.getByRole('link', { name: 'Workshop' }).waitFor()
      await typeInto(page, page.getByRole('searchbox', { name: 'Search by name or number' }), '10')
      await page.getByRole('link', { name: 'Workshop' }).waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Reception' }).waitFor()
      await pressOn(page, page.getByRole('link', { name: 'New callflow' }))
      await typeInto(page, page.getByRole('combobox', { name: 'Numbers' }), '100')
      await page.keyboard.press('Enter')
      const note = page.getByRole('alert').filter({ hasText: 'Already used: 100' })
      await note.getByRole('link', { name: 'Reception' }).waitFor()
      await world.unchanged(async () => {
        await pressOn(page, page.getByRole('button', { name: 'Create' }))
        await page
          .getByText(/^flow: /)
          .first()
          .waitFor()
      })
      await expectForEverybody(page)
    })

    it('scroll inside the page if their tree is deep and their texts are long', async () => {
      const account = await world.account()
      let flow: object = { module: 'x'.repeat(64), data: { ['k'.repeat(64)]: 'v'.repeat(300) } }
      for (let depth = 1; depth < 20; depth += 1)
        flow = { module: 'menu', data: {}, children: { ['w'.repeat(30 + depth)]: flow } }
      const made = await makeFlow(account, { numbers: ['7'.repeat(36)], flow })
      const { page } = await open(world.operator, made.screen, { account })
      await page.getByText('20 steps need a media server').waitFor()
      await expectForEverybody(page)
    })

    it('show their steps in German on a phone, and as JSON', async () => {
      const account = await world.account()
      const { ann } = await makeUsers(account)
      const made = await makeFlow(account, {
        numbers: ['100'],
        flow: { module: 'menu', data: {}, children: { 1: ring(ann.id), timeout: { module: 'voicemail' } } },
      })
      const admin = await world.admin(account, { language: 'de' })
      const { page } = await open(admin, made.screen, { locale: 'de-DE', width: 390 })
      await page.getByRole('button', { name: /^2\. Benutzer klingeln Ann First · 20 s/ }).waitFor()
      await page.getByText('Taste 1', { exact: true }).waitFor()
      await page.getByText('2 Schritte benötigen einen Medienserver').waitFor()
      await expectForEverybody(page)
      await openTab(page, 'JSON')
      const json = await page.getByRole('textbox', { name: 'Datensatz als JSON' }).inputValue()
      expect(JSON.parse(json).flow).toEqual(await made.flow())
    })
  })
})
