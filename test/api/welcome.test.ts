// The mail to a new user, and the link in it.
import { afterAll, expect, it } from 'vitest'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { credentialsOf, describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const recovery = '/v2/user_auth/recovery'
const linkIn = (text: string) => /https:\/\/\S+?recovery=[0-9a-f]+/.exec(text)?.[0] ?? ''
const resetIdIn = (text: string) => /recovery=([0-9a-f]+)/.exec(text)?.[1] ?? ''

describeAnyEngine('the mail to a new user', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })

  afterAll(() => dns.close())

  let made = 0

  /** Makes a user of an account; what they are mailed. */
  const newcomerIn = async (account: TestAccount, fields: Record<string, unknown> = {}) => {
    made += 1
    const username = `zoe${made}`
    const email = `${username}@mail.test`
    const person = await world.user(account, {
      first_name: 'Zoe',
      last_name: 'Ze',
      username,
      email,
      ...fields,
    })
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, email)
    return { person, username, texts: mails.map(textOf) }
  }

  const withHosts = async <T>(hosts: readonly string[], act: () => Promise<T>) => {
    await world.configure('crossbar', { recovery_ui_hosts: hosts })
    try {
      return await act()
    } finally {
      await world.configure('crossbar', { recovery_ui_hosts: [] })
    }
  }

  const byOperator = (account: TestAccount, fields: Record<string, unknown> = {}) =>
    withHosts(['*', 'ui.acme.test'], () => newcomerIn(account, fields))

  const redeem = (text: string) => world.anonymous.post(recovery, { reset_id: resetIdIn(text) })

  const expired = { message: 'forbidden', reason: 'reset id expired', cause: expect.any(String) }

  it('leads to a personal password, once', async () => {
    const account = await world.account()
    const { person, username, texts } = await byOperator(account)
    expect(texts).toHaveLength(1)
    const [text = ''] = texts
    expect(text).toContain(
      [
        'Hello Zoe Ze,',
        `an administrator created a user for you in the account ${account.name}.`,
        'Open this address within 24 hours to choose your password:',
        linkIn(text),
        `User name: ${username}\r\nRealm: ${account.realm}`,
      ].join('\r\n\r\n'),
    )
    expect(linkIn(text)).toMatch(/^https:\/\/ui\.acme\.test\/\?recovery=[0-9a-f]{137}$/)
    const answer = await redeem(text)
    expect(answer).toSucceed()
    const session = world.clientWithToken(answer.body.auth_token ?? '')
    expect(await session.get(person.path)).toFailWith(403, 'forbidden')
    const change = { password: 'Fresh-secret-1', require_password_update: false }
    expect(await session.patch(person.path, change)).toSucceed()
    const credentials = credentialsOf(username, 'Fresh-secret-1')
    expect(
      await world.anonymous.put('/v2/user_auth', { credentials, account_realm: account.realm }),
    ).toSucceed()
    expect(await redeem(text)).toBreak({ user: ['not_found'] })
  })

  it('holds no password, and is stored without its text', async () => {
    const { texts } = await byOperator(await world.account(), { password: 'Chosen-for-her-1' })
    expect(texts.join()).not.toContain('Chosen-for-her-1')
    const tables = ['records', 'work', 'mail_attempts', 'audit_log']
    const content = await Promise.all(tables.map((name) => world.server.store.all(`SELECT * FROM ${name}`)))
    expect(JSON.stringify(content)).not.toContain(resetIdIn(texts.join()))
  })

  it("leads to the host of the nearest brand whose DNS is set up, and else to the operator's", async () => {
    const reseller = await world.account()
    await world.operator.put(`${reseller.path}/reseller`, {})
    await world.operator.put(`${reseller.path}/whitelabel`, { domain: 'brand.test' })
    const customer = await world.account(reseller)
    expect(linkIn((await byOperator(customer)).texts.join())).toMatch(/^https:\/\/ui\.acme\.test\/\?/)
    dns.set({ type: 'CNAME', name: 'portal.brand.test', data: 'portal.example.com' })
    expect(linkIn((await byOperator(customer)).texts.join())).toMatch(/^https:\/\/portal\.brand\.test\/\?/)
    const stranger = await world.account()
    expect(linkIn((await byOperator(stranger)).texts.join())).toMatch(/^https:\/\/ui\.acme\.test\/\?/)
  })

  it('says so where no host is named that it could lead to', async () => {
    for (const hosts of [[], ['*']]) {
      const account = await world.account()
      const { texts, person } = await withHosts(hosts, () => newcomerIn(account))
      expect(texts).toHaveLength(1)
      expect(texts.join()).toContain('Your administrator will tell you how to sign in.')
      expect(texts.join()).not.toContain('recovery=')
      const resets = await world.server.store.all(
        `SELECT id FROM records WHERE kind = 'password_reset' AND id = '${person.id}'`,
      )
      expect(resets).toEqual([])
    }
  })

  it('carries no link for a disabled user, and is not sent where it is switched off or has no recipient', async () => {
    const account = await world.account()
    expect((await byOperator(account, { enabled: false })).texts.join()).not.toContain('recovery=')
    expect((await byOperator(account, { send_email_on_creation: false })).texts).toEqual([])
    await world.operator.post(`${account.path}/notifications/new_user`, { enabled: false })
    expect((await byOperator(account)).texts).toEqual([])
  })

  it('goes to the user only', async () => {
    const account = await world.account()
    const answer = await world.unchanged(() =>
      world.operator.post(`${account.path}/notifications/new_user`, { to: { type: 'admins' } }),
    )
    expect(answer).toBreak({ 'to.type': ['forbidden'] })
  })

  // The last one: the sessions of all others end with the day.
  it('is good for 24 hours, whatever the limit of password recovery is', async () => {
    const account = await world.account()
    const [early, late] = [await byOperator(account), await byOperator(account)]
    world.clock.advance({ hours: 24, seconds: -1 })
    expect(await redeem(early.texts[0] ?? '')).toSucceed()
    world.clock.advance({ seconds: 1 })
    expect(await world.unchanged(() => redeem(late.texts[0] ?? ''))).toFailWith(403, 'forbidden', expired)
  })
})
