// A way back in by mail.
import { afterAll, expect, it } from 'vitest'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { mailsIn, mailsTo, textOf } from '../support/servers/outbox.ts'
import { credentialsOf, describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

const path = '/v2/user_auth/recovery'
const uiUrl = 'https://ui.acme.test/login'
const sentence =
  'Request for password recovery handled: if the user exists and has an email address, an email will be sent'

const forAPassword = {
  message: 'forbidden',
  cause: 'the token can only be used to set a new password',
}

const resetIdIn = (mail: string | undefined) => /recovery=([0-9a-f]+)/.exec(textOf(mail ?? ''))?.[1] ?? ''

describeAnyEngine('password recovery', (engine) => {
  const world = useWorld(engine, ({ configure }) =>
    configure('crossbar', { recovery_ui_hosts: ['ui.acme.test'] }),
  )

  /** A user with an email address, and a function that requests a reset. */
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
    expect(await session.get(zoe.person.path)).toFailWith(403, 'forbidden', forAPassword)
    expect(await userOf(zoe.person)).toMatchObject({ require_password_update: true })
    const again = await world.refused(() => world.anonymous.post(path, { reset_id: resetId }))
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

  it('refuses an unknown reset id', async () => {
    const resetId = 'ab'.repeat(30)
    const answer = await world.refused(() => world.anonymous.post(path, { reset_id: resetId }))
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
    const answer = await world.refused(() => world.anonymous.post(path, { reset_id: resetId }))
    expect(answer).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      reason: 'reset id expired',
      cause: expect.stringMatching(/^\d{11}$/),
    })
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
    const zoe = await forgetful()
    const refused = await world.refused(() => zoe.ask({ ui_url: 'https://ui.acme.test.evil.test/' }))
    expect(refused).toBreak({ ui_url: ['forbidden'] })
    expect(await zoe.ask()).toSucceedWith(sentence)
    await world.configure('crossbar', { recovery_ui_hosts: [] })
    expect(await zoe.ask()).toBreak({ ui_url: ['forbidden'] })
    await world.configure('crossbar', { recovery_ui_hosts: ['*'] })
    expect(await zoe.ask({ ui_url: 'https://anywhere.test/' })).toSucceedWith(sentence)
  })

  it('opens a session that is good for a new password of its user and for nothing else', async () => {
    const zoe = await forgetful({ priv_level: 'admin' })
    const other = await world.user(zoe.account)
    const answer = await world.anonymous.post(path, { reset_id: await resetIdFor(zoe) })
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    const { path: own } = zoe.person
    const attempts = [
      () => session.get(zoe.account.path),
      () => session.get(own),
      () => session.get('/v2/token_auth'),
      () => session.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } }),
      () => session.get(`${zoe.account.path}/api_key`),
      () => session.patch(own, { first_name: 'Other' }),
      () => session.patch(own, { password: 'Fresh-secret-1', email: 'mine@evil.test' }),
      () => session.patch(own, { require_password_update: false }),
      () => session.patch(other.path, { password: 'Fresh-secret-1' }),
      () => session.post(own, { first_name: 'Z', last_name: 'Z', password: 'Fresh-secret-1' }),
      () => session.delete(own),
    ]
    for (const attempt of attempts) {
      expect(await world.refused(attempt)).toFailWith(403, 'forbidden', forAPassword)
    }
    expect(await session.patch(own, { password: 'Fresh-secret-1' })).toSucceed()
  })

  it('leaves the second factor to the next sign-in', async () => {
    const zoe = await forgetful()
    const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
    await world.operator.put(`${zoe.account.path}/multi_factor`, provider)
    const factor = { cb_user_auth: { multi_factor: { enabled: true } } }
    await world.operator.post(`${zoe.account.path}/security`, { auth_modules: factor })
    const answer = await world.anonymous.post(path, { reset_id: await resetIdFor(zoe) })
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    expect(await session.patch(zoe.person.path, { password: 'Fresh-secret-1' })).toSucceed()
    const login = { credentials: credentialsOf('zoe', 'Fresh-secret-1'), account_realm: zoe.account.realm }
    expect(await world.anonymous.put('/v2/user_auth', login)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
      multi_factor_request: { provider_name: 'otp', enrolled: false },
      user_id: zoe.person.id,
    })
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
    expect(await session.get(zoe.person.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    const credentials = credentialsOf('zoe', 'Fresh-secret-1')
    const login = await world.anonymous.put('/v2/user_auth', {
      credentials,
      account_realm: zoe.account.realm,
    })
    expect(login).toSucceed()
  })
})

describeAnyEngine('the link of a recovery mail', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })

  afterAll(() => dns.close())

  /** A customer of a reseller whose brand lives at this domain. */
  const branded = async (domain: string) => {
    const reseller = await world.account(world.master)
    await world.operator.put(`${reseller.path}/reseller`, {})
    await world.operator.put(`${reseller.path}/whitelabel`, { domain })
    const customer = await world.account(reseller)
    const email = `zoe@${customer.realm}`
    await world.user(customer, { username: 'zoe', email, send_email_on_creation: false })
    const ask = (host: string, realm = customer.realm) =>
      world.anonymous.put(path, { username: 'zoe', account_realm: realm, ui_url: `https://${host}/login` })
    const mails = async () => {
      await world.deliverMail()
      return mailsTo(world.place.dataDir, email)
    }
    return { reseller, customer, ask, mails }
  }

  const setUp = (domain: string) =>
    dns.set({ type: 'CNAME', name: `portal.${domain}`, data: 'portal.example.com' })

  it("leads to a brand's host once its DNS is set up, for those below the brand", async () => {
    const brand = await branded('brand.test')
    expect(await brand.ask('portal.brand.test')).toSucceedWith(sentence)
    expect(await brand.mails()).toEqual([])
    setUp('brand.test')
    expect(await brand.ask('portal.brand.test')).toSucceedWith(sentence)
    expect(await brand.mails()).toHaveLength(1)
    expect(await brand.ask('evil.test')).toBreak({ ui_url: ['forbidden'] })
    const other = await branded('other.test')
    expect(await other.ask('portal.brand.test')).toSucceedWith(sentence)
    expect(await other.mails()).toEqual([])
  })

  it("leads to a brand's host although a customer below asks for that host", async () => {
    const brand = await branded('fourth.test')
    setUp('fourth.test')
    const admin = await world.admin(brand.customer)
    const host = 'portal.fourth.test'
    const path = `${brand.customer.path}/whitelabel`
    for (const field of ['domain', 'conference_public_domain']) {
      const answer = await world.refused(() => admin.put(path, { [field]: host }))
      expect(answer).toBreak({ [field]: ['unique'] })
    }
    expect(await admin.put(path, { domain: 'own.fourth.test' })).toSucceed()
    expect(await brand.ask(host)).toSucceedWith(sentence)
    expect(await brand.mails()).toHaveLength(1)
  })

  it('is not for ordinary users to choose, by the domain of the brand', async () => {
    const { reseller } = await branded('third.test')
    const rita = await world.user(reseller)
    for (const data of [{ domain: 'evil.test' }, {}, { domain: '' }, { domain: null }]) {
      const answer = await world.refused(() => rita.post(`${reseller.path}/whitelabel`, data))
      expect(answer).toFailWith(400, 'validation error', {
        domain: { forbidden: { message: 'Only an admin may change this', cause: 'domain' } },
      })
    }
    expect(
      await rita.post(`${reseller.path}/whitelabel`, { domain: 'third.test', company_name: 'T' }),
    ).toSucceed()
  })
})
