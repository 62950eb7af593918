// The ways into the console and out of it.
/// <reference lib="dom" />
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { hotp, totpStep } from '../../src/areas/accounts/multi-factor/rules.ts'
import { base32Decode } from '../support/run/base32.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { chooseItem, pressOn, tabTo, typeInto, type Visit } from '../support/servers/browser.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { useConsole } from '../support/world/console.ts'
import { credentialsOf, describeAnyEngine, type Person, type World } from '../support/world/world.ts'

const withFactor = { auth_modules: { cb_user_auth: { multi_factor: { enabled: true } } } }

const settle = async ({ operator }: World) => {
  await operator.put('/v2/multi_factor', { name: 'App', provider_name: 'otp', enabled: true })
}

interface Proof {
  username: string
  password: string
  account: string
}

const fieldsOf = (page: Page) => ({
  username: page.getByRole('textbox', { name: 'User name' }),
  password: page.getByRole('textbox', { name: 'Password', exact: true }),
  account: page.getByRole('textbox', { name: 'Account' }),
  submit: page.getByRole('button', { name: 'Sign in' }),
})

const signIn = async (page: Page, { username, password, account }: Proof) => {
  const fields = fieldsOf(page)
  await fields.username.fill(username)
  await fields.password.fill(password)
  await fields.account.fill(account)
  await fields.submit.click()
}

const signInByKeyboard = async (page: Page, { username, password, account }: Proof) => {
  const fields = fieldsOf(page)
  await typeInto(page, fields.username, username)
  await typeInto(page, fields.password, password)
  await typeInto(page, fields.account, account)
  await page.keyboard.press('Enter')
}

/** A virtual authenticator with passkeys, attached to the browser. */
const plugAuthenticatorIn = async ({ page, context }: Visit) => {
  const devtools = await context.newCDPSession(page)
  onTestFinished(() => devtools.detach())
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
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
    /** Whether it accepts any holder as its owner. */
    recognise: (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  }
}

const registerPasskey = async (page: Page, user: Person) => {
  const here = { headers: { host: new URL(page.url()).host } }
  const { data } = await user.put(`${user.path}/passkeys/options`, {}, here)
  const credential = await page.evaluate(async (options) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
    const made = await navigator.credentials.create({ publicKey })
    return made instanceof PublicKeyCredential ? made.toJSON() : undefined
  }, data.public_key)
  expect(await user.put(`${user.path}/passkeys`, { name: 'Plugged in', credential }, here)).toSucceed()
}

/** Opens the console again, in a browser that stores nothing. */
const forgetSession = async (page: Page) => {
  await page.evaluate(() => localStorage.clear())
  await page.goto(new URL('/', page.url()).href)
}

const tokenIn = (page: Page) =>
  page.evaluate(() => {
    const kept = localStorage.getItem('crosspoint.session')
    const session: { token?: string } = kept === null ? {} : JSON.parse(kept)
    return session.token
  })

describeAnyEngine('signing in to the console', (engine) => {
  const { world, visit, expectForEverybody } = useConsole(engine, settle)

  const isInside = (page: Page) => page.getByRole('navigation', { name: 'Sections' }).waitFor()

  it('says that a password is wrong, lets in with the right one, and out for good, by keyboard alone', async () => {
    const { page, context } = await visit('/')
    const fields = fieldsOf(page)
    await expectForEverybody(page)
    await typeInto(page, fields.username, 'ada')
    await typeInto(page, fields.password, 'wrong')
    await typeInto(page, fields.account, 'Acme')
    await pressOn(page, fields.submit)
    const refusal = page.getByRole('alert')
    await refusal.getByText('Not signed in').waitFor()
    expect(await refusal.innerText()).toMatch(/[0-9a-f]{32}/)
    expect(await tokenIn(page)).toBeUndefined()
    if (isFullRun) await expectForEverybody(page)
    await typeInto(page, fields.password, 'ada-secret')
    await page.keyboard.press('Enter')
    await isInside(page)
    expect(new URL(page.url()).pathname).toBe(`/a/${world.acme.id}/overview`)

    // Signing out ends the token at the server, and the session of the other tabs.
    const other = await context.newPage()
    await other.goto(page.url())
    await isInside(other)
    const token = (await tokenIn(page)) ?? ''
    expect(await world.clientWithToken(token).get(world.acme.path)).toSucceed()
    await chooseItem(page, page.getByRole('button', { name: 'User menu of ada' }), 'Sign out')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await world.clientWithToken(token).get(world.acme.path)).toFailWith(401, 'invalid_credentials')
    await other.close()
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await tokenIn(page)).toBeUndefined()
  })

  it('sets up a second factor by QR code, and shows the recovery codes once, by keyboard alone', async () => {
    const account = await world.account()
    const user = await world.admin(account, { username: 'ann', password: 'ann-secret' })
    expect(await user.post(`${account.path}/security`, withFactor)).toSucceed()
    const proof = { username: 'ann', password: 'ann-secret', account: account.name }
    const { page } = await visit('/')
    await signInByKeyboard(page, proof)
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    await expectForEverybody(page)
    const link = page.getByRole('link', { name: 'Open in an app on this device' })
    await tabTo(page, link)
    const address = new URL((await link.getAttribute('href')) ?? '')
    const secret = base32Decode(address.searchParams.get('secret') ?? '') ?? new Uint8Array()
    const codeNow = () => hotp(secret, totpStep(world.clock.now() / 1000))
    const code = page.getByRole('textbox', { name: 'Code' })
    const submit = page.getByRole('button', { name: 'Sign in' })
    await typeInto(page, code, String((Number(codeNow()) + 1) % 1_000_000).padStart(6, '0'))
    await pressOn(page, submit)
    await page.getByRole('alert').waitFor()
    await typeInto(page, code, codeNow())
    await pressOn(page, submit)
    const kept = page.getByRole('button', { name: 'I have stored them' })
    await kept.waitFor()
    const recoveryCodes = await page.getByRole('listitem').allInnerTexts()
    expect(recoveryCodes).toHaveLength(10)
    await pressOn(page, kept)
    await isInside(page)

    await forgetSession(page)
    await signInByKeyboard(page, proof)
    await typeInto(page, page.getByRole('textbox', { name: 'Code' }), recoveryCodes[0] ?? '')
    expect(await page.getByRole('img', { name: 'QR code for the authenticator app' }).count()).toBe(0)
    await page.keyboard.press('Enter')
    await isInside(page)
    expect(await page.getByRole('button', { name: 'I have stored them' }).count()).toBe(0)
  })

  inFullRun(() => {
    it('accepts a passkey, with or without the password, and offers no authenticator app to a user with a passkey', async () => {
      const account = await world.account()
      const user = await world.admin(account, { username: 'pia', password: 'pia-secret' })
      expect(await user.post(`${account.path}/security`, withFactor)).toSucceed()
      // Browsers have no passkeys at addresses without a name.
      const visited = await visit('/', { origin: `http://localhost:${world.server.port}` })
      const { page } = visited
      const authenticator = await plugAuthenticatorIn(visited)
      await registerPasskey(page, user)

      await signIn(page, { username: 'pia', password: 'pia-secret', account: account.name })
      await page.getByText('Use one of your passkeys').waitFor()
      await page.getByText('Ask an account admin to remove it').waitFor()
      expect(await page.getByRole('img', { name: 'QR code for the authenticator app' }).count()).toBe(0)
      expect(await page.getByRole('textbox', { name: 'Code' }).count()).toBe(0)
      await expectForEverybody(page)
      await authenticator.recognise(false)
      await pressOn(page, page.getByRole('button', { name: 'Use a passkey' }))
      await page.getByRole('alert').getByText('No passkey received').waitFor()
      await authenticator.recognise(true)
      await pressOn(page, page.getByRole('button', { name: 'Use a passkey' }))
      await isInside(page)
      expect(new URL(page.url()).pathname).toBe(`/a/${account.id}/overview`)

      await forgetSession(page)
      await pressOn(page, page.getByRole('button', { name: 'Use a passkey' }))
      await isInside(page)
      await page.getByRole('button', { name: 'User menu of pia' }).waitFor()

      // At another address the passkey is not valid, and no authenticator app is offered instead.
      await page.goto(`http://127.0.0.1:${world.server.port}/`)
      await signIn(page, { username: 'pia', password: 'pia-secret', account: account.name })
      await page.getByText('belongs to another address than 127.0.0.1').waitFor()
      expect(await page.getByRole('textbox', { name: 'Code' }).count()).toBe(0)
    })
  })

  inFullRun(() => {
    it('leads back in by mail after a password was forgotten, once, by keyboard alone', async () => {
      const account = await world.account()
      const email = 'eve@mail.test'
      await world.admin(account, {
        username: 'eve',
        password: 'eve-secret',
        email,
        send_email_on_creation: false,
      })
      const { page } = await visit('/')
      await pressOn(page, page.getByRole('button', { name: 'Forgot your password?' }))
      await typeInto(page, page.getByRole('textbox', { name: 'User name' }), 'eve')
      await typeInto(page, page.getByRole('textbox', { name: 'Account' }), account.name)
      await pressOn(page, page.getByRole('button', { name: 'Send link' }))
      await page.getByText('a link has been sent').waitFor()
      if (isFullRun) await expectForEverybody(page)
      await world.deliverMail()
      const [mail = ''] = await mailsTo(world.place.dataDir, email)
      const link = /http:\/\/127\.0\.0\.1:\d+\/\?recovery=[\w-]+/.exec(textOf(mail))?.[0] ?? ''
      await page.goto(link)
      const chosen = page.getByRole('textbox', { name: 'New password', exact: true })
      await typeInto(page, chosen, 'eve-secret-2')
      const repeated = page.getByRole('textbox', { name: 'Repeat the new password' })
      await typeInto(page, repeated, 'something else')
      await pressOn(page, page.getByRole('button', { name: 'Save password' }))
      await page.getByText('The passwords differ').waitFor()
      await expectForEverybody(page)
      await typeInto(page, repeated, 'eve-secret-2')
      await pressOn(page, page.getByRole('button', { name: 'Save password' }))
      await isInside(page)
      expect(
        await world.anonymous.put('/v2/user_auth', {
          credentials: credentialsOf('eve', 'eve-secret-2'),
          account_realm: account.realm,
        }),
      ).toSucceed()
      await page.evaluate(() => localStorage.clear())
      await page.goto(link)
      await typeInto(page, page.getByRole('textbox', { name: 'New password', exact: true }), 'eve-secret-3')
      await typeInto(page, page.getByRole('textbox', { name: 'Repeat the new password' }), 'eve-secret-3')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      await pressOn(page, page.getByRole('link', { name: 'Back to sign-in' }))
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    })
  })
})
