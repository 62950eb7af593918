// Passkeys in the console, with an authenticator that the browser itself has.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { expectForEverybody, openTab, pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine, type Person } from '../support/world/world.ts'

/** The owner's action when the device requests verification. */
interface Device {
  isRecognised(recognised: boolean): Promise<unknown>
}

const giveDevice = async (page: Page): Promise<Device> => {
  const session = await page.context().newCDPSession(page)
  onTestFinished(() => session.detach())
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    isRecognised: (isUserVerified) =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  }
}

describeAnyEngine('passkeys in the console', (engine) => {
  const { world, open } = useConsole(engine)

  const someone = (username: string) =>
    world.user(world.acme, { first_name: 'Pat', last_name: 'Passkey', username, password: 'pat-secret' })

  const passkeysOf = async ({ path }: Person) => (await world.ada.get(`${path}/passkeys`)).data

  /** The tab that shows how a user signs in, at the one host name that has passkeys without settings. */
  const openSignIn = async (user: Person, viewer = user) => {
    const origin = `http://localhost:${world.server.port}`
    const { page } = await open(viewer, `users/${user.id}`, { origin, account: user.account })
    await openTab(page, 'Sign-in')
    await page.getByRole('heading', { name: 'Passkeys' }).waitFor()
    return { page, device: await giveDevice(page) }
  }

  const register = async (page: Page, name: string) => {
    await pressOn(page, page.getByRole('button', { name: 'Register a passkey' }))
    const dialog = page.getByRole('dialog', { name: 'Register a passkey' })
    await typeInto(page, dialog.getByRole('textbox', { name: 'Name' }), name)
    await page.keyboard.press('Enter')
    return dialog
  }

  it('are registered, renamed and removed by keyboard alone', async () => {
    const pat = await someone('pat')
    const { page } = await openSignIn(pat)
    await page.getByText(/^No passkeys yet/).waitFor()
    await register(page, 'My laptop')
    await page.getByText('Passkey registered').waitFor()
    await page.getByRole('cell', { name: 'My laptop', exact: true }).waitFor()
    expect(await passkeysOf(pat)).toMatchObject([{ name: 'My laptop', rp_id: 'localhost' }])
    await expectForEverybody(page)

    await pressOn(page, page.getByRole('button', { name: 'Rename My laptop' }))
    const naming = page.getByRole('dialog', { name: 'Rename My laptop' })
    if (isFullRun) await expectForEverybody(page)
    await typeInto(page, naming.getByRole('textbox', { name: 'Name' }), 'The old laptop')
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: 'The old laptop', exact: true }).waitFor()
    expect(await passkeysOf(pat)).toMatchObject([{ name: 'The old laptop' }])

    await pressOn(page, page.getByRole('button', { name: 'Remove The old laptop' }))
    const question = page.getByRole('dialog', { name: 'Remove this passkey?' })
    await pressOn(page, question.getByRole('button', { name: 'Remove' }))
    await page.getByText(/^No passkeys yet/).waitFor()
    expect(await passkeysOf(pat)).toEqual([])
  })

  inFullRun(() => {
    it('are not made when the device knows its owner not, or has one already; nothing is changed then', async () => {
      const una = await someone('una')
      const { page, device } = await openSignIn(una)
      await device.isRecognised(false)
      await world.unchanged(async () => {
        const dialog = await register(page, 'Not mine')
        await dialog.getByText('No passkey was registered: the request was not confirmed in time.').waitFor()
        await expectForEverybody(page)
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      })
      await device.isRecognised(true)
      await register(page, 'Mine')
      await page.getByRole('cell', { name: 'Mine', exact: true }).waitFor()
      await world.unchanged(async () => {
        const dialog = await register(page, 'Mine again')
        await dialog.getByText('This device already has a passkey of yours.').waitFor()
      })
    })

    it('are not created at a host without passkeys, which the page explains', async () => {
      const nick = await someone('nick')
      const { page } = await open(nick, `users/${nick.id}`)
      await page.getByRole('tab', { name: 'Sign-in' }).click()
      await world.unchanged(async () => {
        await register(page, 'Nowhere')
        await page.getByText(/passkeys are not set up for this host/).waitFor()
      })
    })
  })

  it('are registered by the user alone: an admin finds no button for it', async () => {
    const owen = await someone('owen')
    const { page } = await openSignIn(owen, world.ada)
    await page.getByText('No passkeys. Users register passkeys in their own session.').waitFor()
    expect(await page.getByRole('button', { name: 'Register a passkey' }).count()).toBe(0)
  })
})
