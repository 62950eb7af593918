// Behavior of the console when something goes wrong: sessions end, or servers are away, busy or respond with
// errors.
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openEntry, openVisit, pressOn, typeInto, violationsOn } from '../support/servers/browser.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const nameIn = (page: Page) => page.getByRole('textbox', { name: /^Name/ }).first()

const tokenIn = (page: Page) =>
  page.evaluate(() => JSON.parse(localStorage.getItem('crosspoint.session') ?? '{}').token as string)

const signInAgain = async (page: Page, password: string) => {
  const dialog = page.getByRole('dialog', { name: 'Please sign in again' })
  await typeInto(page, dialog.getByRole('textbox', { name: 'Password', exact: true }), password)
  await pressOn(page, dialog.getByRole('button', { name: 'Sign in' }))
  await dialog.waitFor({ state: 'hidden' })
}

describeAnyEngine('bad days in the console', (engine) => {
  const { world, open } = useConsole(engine)

  const endSession = async (page: Page) =>
    expect(await world.clientWithToken(await tokenIn(page)).delete('/v2/token_auth')).toSucceed()

  // Another request of the page may have opened the dialog already. The keyboard does not reach what is below it.
  const save = (page: Page) => page.getByRole('button', { name: 'Save' }).dispatchEvent('click')

  it('a session that ends in the middle of a form is opened again, and the form goes through', async () => {
    const device = await world.device(world.acme, { name: 'Before' })
    const { page } = await open(world.ada, `devices/${device.id}`)
    await typeInto(page, nameIn(page), 'Typed before the end')
    await endSession(page)
    await save(page)
    const dialog = page.getByRole('dialog', { name: 'Please sign in again' })
    await dialog.getByText('The session of ada in Acme has ended').waitFor()
    expect(await nameIn(page).inputValue()).toBe('Typed before the end')
    expect((await world.ross.get(device.path)).data.name).toBe('Before')
    await signInAgain(page, 'ada-secret')
    await page.getByRole('heading', { level: 1, name: 'Typed before the end' }).waitFor()
    expect((await world.ross.get(device.path)).data.name).toBe('Typed before the end')
  })

  it('a session is opened again although its account has another name by then', async () => {
    const account = await world.account(world.acme, { name: 'Named before' })
    const admin = await world.admin(account, { username: 'ren', password: 'ren-secret' })
    const device = await world.device(account, { name: 'Kept' })
    const { page } = await open(admin, `devices/${device.id}`)
    await typeInto(page, nameIn(page), 'Kept and saved')
    expect(await world.ross.patch(account.path, { name: 'Named after' })).toSucceed()
    await endSession(page)
    await save(page)
    const dialog = page.getByRole('dialog', { name: 'Please sign in again' })
    await dialog.getByText('The session of ren in Named before has ended').waitFor()
    await signInAgain(page, 'ren-secret')
    await page.getByRole('heading', { level: 1, name: 'Kept and saved' }).waitFor()
  })

  it('after a session has ended, only its user can continue it, or sign out instead', async () => {
    const device = await world.device(world.acme, { name: 'Phone of ada' })
    const aki = await world.admin(world.acme, { username: 'aki', password: 'aki-secret' })
    const { page } = await open(aki, `devices/${device.id}`)
    await nameIn(page).fill('Not to be sent as another user')
    await endSession(page)
    await world.unchanged(async () => {
      await save(page)
      const dialog = page.getByRole('dialog', { name: 'Please sign in again' })
      const user = dialog.getByRole('textbox', { name: 'User name' })
      await user.waitFor()
      expect(await user.inputValue()).toBe('aki')
      expect(await user.isEditable()).toBe(false)
      expect(await dialog.getByRole('textbox', { name: 'Account' }).isEditable()).toBe(false)
      expect(await violationsOn(page)).toEqual([])
      await pressOn(page, dialog.getByRole('button', { name: 'Sign out instead' }))
      await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    })
    expect(await page.getByRole('textbox', { name: 'User name' }).isEditable()).toBe(true)
  })

  it('when the server asks to wait, the console waits and shows that it waits', async () => {
    const device = await world.device(world.acme, { name: 'Patient' })
    const { page } = await open(world.ross, `devices/${device.id}`, { account: world.acme })
    await nameIn(page).waitFor()
    await world.configure('token_buckets', { max_bucket_tokens: 1, tokens_fill_rate: 1 })
    await world.configure('crossbar', { token_costs: 1 })
    await typeInto(page, nameIn(page), 'Patient and saved')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Rate limit reached. Retrying').waitFor()
    await world.configure('crossbar', { token_costs: 0 })
    await page.getByRole('heading', { level: 1, name: 'Patient and saved' }).waitFor()
    await page.getByText('Rate limit reached. Retrying').waitFor({ state: 'detached' })
  })

  it('a lost connection is reported, and a pending form is sent once it is back', async () => {
    const { page, context } = await open(world.ross, 'devices/new', { account: world.acme })
    await typeInto(page, nameIn(page), 'Made across a cut')
    await context.setOffline(true)
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    const note = page.getByText('Connection lost. Retrying')
    await note.waitFor()
    await context.setOffline(false)
    await page.getByRole('heading', { level: 1, name: 'Made across a cut' }).waitFor()
    await note.waitFor({ state: 'detached' })
    const { data } = await world.ross.get(`${world.acme.path}/devices?filter_name=Made%20across%20a%20cut`)
    expect(data).toHaveLength(1)
  })
})

describeAnyEngine('a mistake of the server', (engine) => {
  const server = { isMistaken: false }
  const { world, open } = useConsole(engine, undefined, undefined, {
    over: (db) => ({
      ...db,
      async write(write) {
        if (server.isMistaken) throw new Error('a mistake made on purpose')
        await db.write(write)
      },
    }),
  })

  it('is shown with the ID to quote, and the form keeps what was typed', async () => {
    const device = await world.device(world.acme, { name: 'Whole' })
    const { page } = await open(world.ada, `devices/${device.id}`)
    await typeInto(page, nameIn(page), 'Not to be lost')
    server.isMistaken = true
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    const toast = page.getByRole('alert').filter({ hasText: 'Server error' })
    await toast.waitFor()
    server.isMistaken = false
    const [id = 'no id'] = /[0-9a-f]{32}/.exec(await toast.innerText()) ?? []
    expect(JSON.stringify(world.takeErrors())).toContain(id)
    expect(await nameIn(page).inputValue()).toBe('Not to be lost')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('heading', { level: 1, name: 'Not to be lost' }).waitFor()
  })
})

it('while a server restarts, the console shows that it is away, and then works again', async () => {
  const first = await startServerProcess()
  const { page, context, faults } = await openVisit()
  let server = first
  try {
    await page.goto(`${first.url}/`)
    await typeInto(page, page.getByRole('textbox', { name: 'User name' }), 'admin')
    await typeInto(page, page.getByRole('textbox', { name: 'Password', exact: true }), 'secret')
    await typeInto(page, page.getByRole('textbox', { name: 'Account' }), 'master')
    await pressOn(page, page.getByRole('button', { name: 'Sign in' }))
    await pressOn(page, page.getByRole('button', { name: 'People and phones' }))
    await openEntry(page, 'Phones')
    await pressOn(page, page.getByRole('link', { name: 'New phone' }).first())
    await typeInto(page, nameIn(page), 'Made across a restart')
    await first.end()
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByText('Connection lost. Retrying').waitFor()
    server = await startServerProcess({ CROSSPOINT_PORT: String(first.port) }, first.dataDir)
    await page.getByRole('heading', { level: 1, name: 'Made across a restart' }).waitFor()
    await page.getByText('Connection lost. Retrying').waitFor({ state: 'detached' })
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    await openEntry(page, 'Phones')
    const rows = page.getByRole('link', { name: 'Made across a restart' })
    await rows.first().waitFor()
    expect(await rows.count()).toBe(1)
    expect(faults).toEqual([])
  } finally {
    await context.close()
    await server.end()
    removeDataDir(first)
  }
})

it('the link of the very first start leads to a new password', async () => {
  const server = await startServerProcess({ CROSSPOINT_ADMIN_PASSWORD: undefined })
  const { page, context, faults } = await openVisit()
  try {
    const link = /Sign in: (\S+)/.exec(server.output())?.[1] ?? ''
    await page.goto(link)
    await typeInto(
      page,
      page.getByRole('textbox', { name: 'New password', exact: true }),
      'a-password-of-my-own',
    )
    await typeInto(
      page,
      page.getByRole('textbox', { name: 'Repeat the new password' }),
      'a-password-of-my-own',
    )
    await pressOn(page, page.getByRole('button', { name: 'Save password' }))
    await page.getByRole('navigation', { name: 'Sections' }).waitFor()
    expect(faults).toEqual([])
  } finally {
    await context.close()
    await server.end()
    removeDataDir(server)
  }
})
