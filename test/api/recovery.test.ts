// A way back in by mail.
import { expect, it } from 'vitest'
import { mailsIn, mailsTo, textOf } from '../support/outbox.ts'
import { credentialsOf, describeEngines, type Person, useWorld } from '../support/world.ts'

const path = '/v2/user_auth/recovery'
const uiUrl = 'https://ui.acme.test/login'
const sentence =
  'Request for password recovery handled: if the user exists and has a mail address, a mail is on its way'

const resetIdIn = (mail: string | undefined) => /recovery=([0-9a-f]+)/.exec(textOf(mail ?? ''))?.[1] ?? ''

describeEngines('password recovery', (engine) => {
  const world = useWorld(engine)

  /** Somebody with a mail address, and how they ask. */
  const forgetful = async (fields: Record<string, unknown> = {}) => {
    const account = await world.account()
    const username = 'zoe'
    const email = `zoe@${account.realm}`
    const person = await world.user(account, { username, email, send_email_on_creation: false, ...fields })
    const ask = (more: Record<string, unknown> = {}) =>
      world.anonymous.put(path, { username, account_realm: account.realm, ui_url: uiUrl, ...more })
    const mails = async (count = 1) => {
      await world.deliverMail()
      const found = await mailsTo(world.place.dataDir, email)
      expect(found).toHaveLength(count)
      return found
    }
    return { account, person, email, ask, mails }
  }

  const resetIdFor = async ({ ask, mails }: Awaited<ReturnType<typeof forgetful>>) => {
    expect(await ask()).toSucceedWith(sentence)
    const [mail] = await mails()
    return resetIdIn(mail)
  }

  const userOf = async (person: Person) => (await world.operator.get(person.path)).data

  it('sends a mail whose address signs the user in, once', async () => {
    const zoe = await forgetful()
    const resetId = await resetIdFor(zoe)
    expect(resetId).toHaveLength(137)
    const answer = await world.anonymous.post(path, { reset_id: resetId.toUpperCase() })
    expect(answer).toSucceedWith({
      account_id: zoe.account.id,
      account_name: zoe.account.name,
      owner_id: zoe.person.id,
      reseller_id: world.master.id,
      is_reseller: false,
      is_master_account: false,
      language: 'en-US',
      apps: [],
      capabilities: {},
      ui_config: {},
      user_info: {
        first_name: 'Some',
        last_name: 'Body',
        full_name: 'Some Body',
        email: zoe.email,
        username: 'zoe',
        priv_level: 'user',
        has_avatar: false,
      },
    })
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    expect(await session.get(zoe.person.path)).toSucceed()
    expect(await userOf(zoe.person)).toMatchObject({ require_password_update: true })
    const again = await world.unchanged(() => world.anonymous.post(path, { reset_id: resetId }))
    expect(again).toFailWith(400, 'validation error', {
      user: { not_found: { message: 'The reset id is not known', cause: resetId } },
    })
  })

  it('answers a stranger as it answers a user, and leaves nothing behind', async () => {
    const stranger = { username: 'nobody', account_name: 'No such account', ui_url: uiUrl }
    const before = await mailsIn(world.place.dataDir)
    const answers = await world.unchanged(async () => {
      const unknown = await world.anonymous.put(path, stranger)
      const nobody = await world.anonymous.put(path, { ...stranger, account_realm: world.acme.realm })
      await world.deliverMail()
      return [unknown, nobody]
    })
    for (const answer of answers) expect(answer).toSucceedWith(sentence)
    expect(await mailsIn(world.place.dataDir)).toEqual(before)
    const kept = "SELECT id FROM work WHERE kind = 'password_recovery'"
    expect(await world.server.store.all(kept)).toEqual([])
  })

  it('refuses a reset id that nobody was given', async () => {
    const resetId = 'ab'.repeat(30)
    const answer = await world.unchanged(() => world.anonymous.post(path, { reset_id: resetId }))
    expect(answer).toFailWith(400, 'validation error', {
      user: { not_found: { message: 'The reset id is not known', cause: resetId } },
    })
  })

  it('refuses a reset id that was mailed too long ago', async () => {
    await world.configure('crossbar', { reset_id_expiry_s: 60, reset_id_size: 42 })
    const zoe = await forgetful()
    const resetId = await resetIdFor(zoe)
    expect(resetId).toHaveLength(42)
    world.clock.advance({ seconds: 60 })
    const answer = await world.unchanged(() => world.anonymous.post(path, { reset_id: resetId }))
    expect(answer).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      reason: 'reset id expired',
      cause: expect.stringMatching(/^\d{11}$/),
    })
    await world.configure('crossbar', { reset_id_expiry_s: 3600, reset_id_size: 137 })
  })

  it('ends every other reset id of the user with the first that is used', async () => {
    const zoe = await forgetful()
    await zoe.ask()
    await zoe.mails(1)
    await zoe.ask()
    const [first, second] = await zoe.mails(2)
    expect(await world.anonymous.post(path, { reset_id: resetIdIn(second) })).toSucceed()
    expect(await world.anonymous.post(path, { reset_id: resetIdIn(first) })).toBreak({ user: ['not_found'] })
  })

  it('stores a reset id only hashed', async () => {
    const resetId = await resetIdFor(await forgetful())
    expect(JSON.stringify(await world.snapshot())).not.toContain(resetId)
    const log = await world.server.store.all('SELECT before_doc, after_doc, changes FROM audit_log')
    expect(JSON.stringify(log)).not.toContain(resetId)
  })

  it('puts the reset id into the query of the address, whatever it has already', async () => {
    const zoe = await forgetful()
    await zoe.ask({ ui_url: 'https://ui.acme.test/?lang=en#/login' })
    const [mail] = await zoe.mails()
    expect(textOf(mail ?? '')).toContain(`https://ui.acme.test/?lang=en&recovery=${resetIdIn(mail)}#/login`)
  })

  it('sends at most five mails while their reset ids are good', async () => {
    const zoe = await forgetful()
    for (let count = 1; count <= 5; count += 1) {
      await zoe.ask()
      await zoe.mails(count)
    }
    expect(await zoe.ask()).toSucceedWith(sentence)
    await zoe.mails(5)
  })

  it('sends nothing to disabled users and accounts', async () => {
    const user = await forgetful({ enabled: false })
    const account = await forgetful()
    await world.operator.patch(account.account.path, { enabled: false })
    const before = (await mailsIn(world.place.dataDir)).length
    expect(await user.ask()).toSucceedWith(sentence)
    expect(await account.ask()).toSucceedWith(sentence)
    await world.deliverMail()
    expect(await mailsIn(world.place.dataDir)).toHaveLength(before)
  })

  it('asks for a user name, a web address and some name of the account', async () => {
    expect(await world.anonymous.put(path, {})).toBreak({
      username: ['required'],
      ui_url: ['required'],
      account_name: ['required'],
    })
    const data = { username: 'zoe', account_name: 'acme' }
    expect(await world.anonymous.put(path, { ...data, ui_url: 'javascript:alert(1)' })).toBreak({
      ui_url: ['wrong_format'],
    })
    expect(await world.anonymous.put(path, { ...data, ui_url: 'http://a' })).toBreak({
      ui_url: ['minLength'],
    })
    expect(await world.anonymous.post(path, { reset_id: 'xyz' })).toBreak({
      reset_id: ['minLength', 'pattern'],
    })
  })

  it('links only to the hosts that the operator names', async () => {
    await world.configure('crossbar', { recovery_ui_hosts: ['ui.acme.test'] })
    const zoe = await forgetful()
    expect(await zoe.ask({ ui_url: 'https://ui.acme.test.evil.test/' })).toBreak({ ui_url: ['forbidden'] })
    expect(await zoe.ask()).toSucceedWith(sentence)
    await world.configure('crossbar', { recovery_ui_hosts: [] })
  })

  it('forgets the reset ids of a user who is deleted', async () => {
    const zoe = await forgetful()
    const resetId = await resetIdFor(zoe)
    expect(await world.operator.delete(zoe.person.path)).toSucceed()
    expect(await world.anonymous.post(path, { reset_id: resetId })).toBreak({ user: ['not_found'] })
  })

  it('leads to a new password, which ends the session that set it', async () => {
    const zoe = await forgetful()
    const answer = await world.anonymous.post(path, { reset_id: await resetIdFor(zoe) })
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    const change = { password: 'Fresh-secret-1', require_password_update: false }
    expect(await session.patch(zoe.person.path, change)).toSucceed()
    expect(await session.get(zoe.person.path)).toFailWith(401, 'invalid credentials', {})
    const credentials = credentialsOf('zoe', 'Fresh-secret-1')
    const login = await world.anonymous.put('/v2/user_auth', {
      credentials,
      account_realm: zoe.account.realm,
    })
    expect(login).toSucceed()
  })
})
