// People in the console.
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, chooseFile, goTo, openTab, pressOn, tabTo, typeInto } from '../support/servers/browser.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { createAuthenticator } from '../support/world/authenticator.ts'
import { useConsole } from '../support/world/console.ts'
import { credentialsOf, describeAnyEngine, type Person } from '../support/world/world.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pictureOf = (buffer: Buffer, mimeType = 'image/png') => ({ name: 'photo.png', mimeType, buffer })

describeAnyEngine('people in the console', (engine) => {
  const { world, open, expectForEverybody, expectScreensForEverybody } = useConsole(engine, ({ configure }) =>
    configure('crossbar', { recovery_ui_hosts: ['127.0.0.1'] }),
  )

  const signIn = (username: string, password: string) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf(username, password),
      account_name: world.acme.name,
    })

  const screenOf = ({ id }: Person, account = world.acme) => ({ screen: `users/${id}`, account })

  inFullRun(() => {
    it('are listed, and found by the beginning of a name or of a user name', async () => {
      await world.user(world.acme, { first_name: 'Zara', last_name: 'Zimt', username: 'cinnamon' })
      const { page } = await open(world.ada, 'users')
      await page.getByRole('link', { name: 'Uli User' }).waitFor()
      const box = page.getByRole('searchbox', { name: 'Search by name or user name' })
      for (const text of ['zar', 'cinn']) {
        await typeInto(page, box, text)
        await page.getByRole('link', { name: 'Uli User' }).waitFor({ state: 'detached' })
        await page.getByRole('link', { name: 'Zara Zimt' }).waitFor()
        await typeInto(page, box, '')
        await page.getByRole('link', { name: 'Uli User' }).waitFor()
      }
      await typeInto(page, box, 'no such user')
      await page.getByText('No name or user name starts with this text.').waitFor()
    })
  })

  it('are made, changed and deleted by keyboard alone, and choose their password by a mailed link', async () => {
    const { page } = await open(world.ada, 'users')
    await expectForEverybody(page)
    await pressOn(page, page.getByRole('link', { name: 'New user' }))
    await expectForEverybody(page)
    await typeInto(page, page.getByRole('textbox', { name: /^First name/ }), 'Mia')
    await typeInto(page, page.getByRole('textbox', { name: /^Last name/ }), 'Mailed')
    await typeInto(page, page.getByRole('textbox', { name: /^User name/ }), 'ULI')
    await typeInto(page, page.getByRole('textbox', { name: /^Email address/ }), 'mia@acme.test')
    await tabTo(page, page.getByRole('radio', { name: 'User' }))
    await page.keyboard.press('ArrowDown')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByText(/must be unique/).waitFor()
    })
    await typeInto(page, page.getByRole('textbox', { name: /^User name/ }), 'mia')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('heading', { level: 1, name: 'Mia Mailed' }).waitFor()
    await expectForEverybody(page)
    const [mia] = (await world.ada.get(`${world.acme.path}/users?filter_username=mia`)).data
    expect(mia).toMatchObject({ first_name: 'Mia', email: 'mia@acme.test', priv_level: 'admin' })
    await world.deliverMail()
    const [mail = ''] = await mailsTo(world.place.dataDir, 'mia@acme.test')
    expect(textOf(mail)).toMatch(/recovery=[0-9a-f]+/)
    await typeInto(page, page.getByRole('textbox', { name: /^First name/ }), 'Mira')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByRole('heading', { level: 1, name: 'Mira Mailed' }).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Delete' }))
    const question = page.getByRole('dialog', { name: 'Delete this user?' })
    await pressOn(page, question.getByRole('button', { name: 'Delete' }))
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    expect((await world.ada.get(`${world.acme.path}/users/${mia.id}`)).status).toBe(404)
  })

  inFullRun(() => {
    it('are given a password instead, which the panel of requests does not show', async () => {
      const { page } = await open(world.ada, 'users/new')
      await typeInto(page, page.getByRole('textbox', { name: /^First name/ }), 'Pia')
      await typeInto(page, page.getByRole('textbox', { name: /^Last name/ }), 'Password')
      await typeInto(page, page.getByRole('textbox', { name: /^User name/ }), 'pia')
      await typeInto(page, page.getByRole('textbox', { name: /^Email address/ }), 'pia@acme.test')
      await tabTo(page, page.getByRole('radio', { name: 'Send a link by email' }))
      await page.keyboard.press('ArrowDown')
      await typeInto(page, page.getByLabel('Password', { exact: true }), 'a "quoted" secret')
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByRole('heading', { level: 1, name: 'Pia Password' }).waitFor()
      expect(await signIn('pia', 'a "quoted" secret')).toSucceed()
      await world.deliverMail()
      expect(await mailsTo(world.place.dataDir, 'pia@acme.test')).toEqual([])
      await pressOn(page, page.getByRole('button', { name: 'API requests' }))
      await pressOn(page, page.getByRole('button', { name: /^PUT .*\/users\S* 201$/ }))
      await page.getByText(/curl .*"password":"\*\*\*"/).waitFor()
      expect(await page.content()).not.toContain('quoted')
    })

    it('have their calls and their place set in one form, and are deleted with their phones', async () => {
      const vera = await world.user(world.acme, { first_name: 'Vera', last_name: 'Various' })
      const { page } = await open(world.ada, screenOf(vera).screen)
      await pressOn(page, page.getByRole('switch', { name: /^Forward calls/ }), 'Space')
      await typeInto(page, page.getByRole('textbox', { name: 'Forward to' }), '+15551234567')
      await typeInto(page, page.getByRole('textbox', { name: 'External number' }), '+15557654321')
      await choose(page, page.getByRole('combobox', { name: 'Time zone' }), 'Europe/Berlin', 'Berlin')
      await pressOn(page, page.getByRole('switch', { name: /^Keep the original caller ID/ }), 'Space')
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved', { exact: true }).waitFor()
      expect((await world.ada.get(vera.path)).data).toMatchObject({
        call_forward: { enabled: true, number: '+15551234567', keep_caller_id: false, substitute: true },
        caller_id: { external: { number: '+15557654321' } },
        timezone: 'Europe/Berlin',
      })
      await openTab(page, 'Phones')
      await page.getByText('This user has no phones yet.').waitFor()
      await pressOn(page, page.getByRole('link', { name: 'Add a phone for this user' }))
      await typeInto(page, page.getByRole('textbox', { name: /^Name/ }).first(), "Vera's phone")
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByRole('heading', { level: 1, name: "Vera's phone" }).waitFor()
      expect((await world.ada.get(`${vera.path}/devices`)).data).toMatchObject([{ name: "Vera's phone" }])
      await goTo(page, `users/${vera.id}`)
      await pressOn(page, page.getByRole('button', { name: 'Delete' }))
      const question = page.getByRole('dialog', { name: 'Delete this user?' })
      await pressOn(
        page,
        question.getByRole('checkbox', { name: 'Also delete the phones of this user' }),
        'Space',
      )
      await pressOn(page, question.getByRole('button', { name: 'Delete' }))
      await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
      expect((await world.ada.get(vera.path)).status).toBe(404)
      expect((await world.ada.get(`${world.acme.path}/devices?filter_owner_id=${vera.id}`)).data).toEqual([])
    })

    it('get a photo, which is shown before it is kept; what is no photo is refused and changes nothing', async () => {
      const fay = await world.user(world.acme, { first_name: 'Fay', last_name: 'Face' })
      const { page } = await open(world.ada, screenOf(fay).screen)
      await openTab(page, 'Photo')
      await page.getByText('No photo yet.').waitFor()
      const file = page.getByRole('button', { name: 'Choose a photo' })
      const save = page.getByRole('button', { name: 'Save photo' })
      await world.unchanged(async () => {
        await chooseFile(page, file, pictureOf(png, 'application/pdf'))
        await page.getByText('Not a PNG, JPEG, GIF or WebP image.').waitFor()
        await chooseFile(page, file, pictureOf(Buffer.alloc(2_000_001)))
        await page.getByText('The file is 1.9 MB; the maximum is 1.9 MB.').waitFor()
        expect(await save.isDisabled()).toBe(true)
        await chooseFile(page, file, pictureOf(Buffer.from('<svg onload="alert(1)"/>')))
        await pressOn(page, save)
        await page.getByText('The file content does not match its type').waitFor()
      })
      await chooseFile(page, file, pictureOf(png))
      await page.getByRole('img', { name: 'Preview' }).waitFor()
      await pressOn(page, save)
      await page.getByRole('img', { name: 'Photo of Fay Face' }).waitFor()
      expect((await world.ada.get(fay.path)).data.has_avatar).toBe(true)
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Remove photo' }))
      await page.getByText('No photo yet.').waitFor()
      expect((await world.ada.get(fay.path)).data.has_avatar).toBe(false)
      await pressOn(page, page.getByRole('button', { name: 'Undo' }))
      await page.getByRole('img', { name: 'Photo of Fay Face' }).waitFor()
      expect((await world.ada.get(fay.path)).data.has_avatar).toBe(true)
    })
  })

  /** A user who signs in, and whose sign-ins are recorded. */
  const lost = async (username: string) => {
    const noted = { auth_modules: { cb_user_auth: { log_successful_attempts: true } } }
    expect(await world.ada.patch(`${world.acme.path}/security`, noted)).toSucceed()
    return world.user(world.acme, {
      first_name: 'Lou',
      last_name: 'Lost',
      username,
      password: 'lou-secret',
      email: `${username}@acme.test`,
      send_email_on_creation: false,
    })
  }

  const openSignIn = async (person: Person) => {
    const { page } = await open(world.ada, screenOf(person).screen)
    await openTab(page, 'Sign-in')
    const agree = async (title: string, action: string) => {
      const question = page.getByRole('dialog', { name: title })
      await pressOn(page, question.getByRole('button', { name: action }))
      await question.waitFor({ state: 'hidden' })
    }
    return { page, agree }
  }

  inFullRun(() => {
    it('who cannot sign in get another password or a link, by keyboard alone', async () => {
      const lou = await lost('lou')
      const { page, agree } = await openSignIn(lou)
      await page.getByText(/^No passkeys/).waitFor()
      await expectForEverybody(page)
      await typeInto(page, page.getByLabel('New password'), 'lou-has-a-new-one')
      await pressOn(page, page.getByRole('button', { name: 'Set password' }))
      await page.getByText(/^Password set/).waitFor()
      const { body } = await signIn('lou', 'lou-has-a-new-one')
      await pressOn(page, page.getByRole('button', { name: 'Send a link by email' }))
      await page.getByText('Link sent to lou@acme.test').waitFor()
      await world.deliverMail()
      expect(await mailsTo(world.place.dataDir, 'lou@acme.test')).toHaveLength(1)
      const session = world.clientWithToken(body.auth_token ?? '')
      expect(await session.get(lou.path)).toSucceed()
      await pressOn(page, page.getByRole('button', { name: 'End all sessions' }))
      await agree('End all sessions?', 'End all sessions')
      await page.getByText('All sessions have ended').waitFor()
      expect((await session.get(lou.path)).status).toBe(401)
    })
  })

  inFullRun(() => {
    it('who lost a phone lose its passkey and second factor, and their sign-ins are shown', async () => {
      const eve = await lost('eve')
      const here = { headers: { host: 'localhost' } }
      const { data: options } = await eve.put(`${eve.path}/passkeys/options`, {}, here)
      const credential = createAuthenticator().create(options)
      expect(await eve.put(`${eve.path}/passkeys`, { name: 'Old phone', credential }, here)).toSucceed()
      expect((await signIn('eve', 'wrong')).status).toBe(401)
      expect(await signIn('eve', 'lou-secret')).toSucceed()
      await eventually(
        () => world.ada.get(`${world.acme.path}/security/attempts?filter_metadata.owner_id=${eve.id}`),
        ({ data }) => data.length > 0,
      )
      const { page, agree } = await openSignIn(eve)
      const attempts = page.getByRole('table', { name: 'Sign-in history' })
      await attempts.getByText('Signed in', { exact: true }).waitFor()
      expect(await attempts.getByText('Refused').count()).toBe(0)
      await pressOn(page, page.getByRole('switch', { name: 'All users of the account' }), 'Space')
      await attempts.getByText('Refused').first().waitFor()
      await page.getByRole('cell', { name: 'Old phone', exact: true }).waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Remove Old phone' }))
      await agree('Remove this passkey?', 'Remove')
      await page.getByText(/^No passkeys/).waitFor()
      expect((await world.ada.get(`${eve.path}/passkeys`)).data).toEqual([])

      const forget = async (told: string) => {
        await pressOn(page, page.getByRole('button', { name: 'Reset second factor' }))
        await agree('Reset the second factor?', 'Reset second factor')
        await page.getByText(told).waitFor()
      }
      await forget('Lou Lost has no second factor.')
      await world.operator.put('/v2/multi_factor', { name: 'App', provider_name: 'otp', enabled: true })
      const code = await eve.get(`${eve.path}/qrcode`, { headers: { accept: 'image/png' } })
      expect(code.status).toBe(200)
      await forget('Second factor reset')
      expect((await world.ada.delete(`${eve.path}/qrcode`)).status).toBe(404)
    })
  })

  inFullRun(() => {
    it('are acted for by the operator, who comes back as who they were', async () => {
      const { page } = await open(world.operator, `users/${world.uli.id}`, { account: world.acme })
      await openTab(page, 'Sign-in')
      await pressOn(page, page.getByRole('button', { name: 'Sign in as this user' }))
      const question = page.getByRole('dialog', { name: 'Sign in as Uli User?' })
      await pressOn(page, question.getByRole('button', { name: 'Sign in as this user' }))
      await page.getByRole('button', { name: 'User menu of uli' }).waitFor()
      await page.getByText('You are signed in as a user of Acme.').waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Return to my account' }))
      await page.getByRole('button', { name: 'User menu of operator' }).waitFor()
      await page.getByText('You are signed in as a user of').waitFor({ state: 'detached' })
    })
  })

  inFullRun(() => {
    it('see plainly what only an admin may do', async () => {
      const { page } = await open(world.uli, screenOf(world.ada).screen)
      await openTab(page, 'Sign-in')
      await page.getByText('Not allowed').first().waitFor()
      expect(await page.getByRole('button', { name: 'Sign in as this user' }).count()).toBe(0)
      await world.unchanged(async () => {
        await typeInto(page, page.getByLabel('New password'), 'ulis-own-choice')
        await pressOn(page, page.getByRole('button', { name: 'Set password' }))
        await page.getByText('Only an admin may create or change an admin').waitFor()
      })
    })

    it('have accessible screens', async () => {
      const { page } = await open(world.ada, 'overview')
      await expectScreensForEverybody(page, ['users', 'users/new', screenOf(world.uli).screen])
    })
  })
})
