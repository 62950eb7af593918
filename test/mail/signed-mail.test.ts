// A brand's mail, from the settings to the mailbox: verified address, uploaded key, signature checked with DNS.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { verifyDkim } from '../support/matchers/dkim.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { textOf } from '../support/servers/outbox.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const support = 'support@brand.test'

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()

const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  ed25519: generateKeyPairSync('ed25519').privateKey,
}

const publicDer = (key: KeyObject) => createPublicKey(key).export({ type: 'spki', format: 'der' })

const records = {
  rsa: `v=DKIM1; p=${publicDer(keys.rsa).toString('base64')}`,
  ed25519: `v=DKIM1; k=ed25519; p=${publicDer(keys.ed25519).subarray(-32).toString('base64')}`,
}

const anySmtp = startSmtpServer()

describeAnyEngine("a brand's mail", (engine) => {
  let smtp: SmtpServer
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => ({ smtpUrl: (await anySmtp).url }))

  beforeAll(async () => {
    smtp = await anySmtp
    dns = await startDnsServer()
    for (const [name, text] of Object.entries(records)) {
      dns.set({ name: `${name}._domainkey.brand.test`, type: 'TXT', data: text.match(/.{1,255}/g) ?? [] })
    }
  })

  beforeEach(() => {
    smtp.mails.splice(0)
  })

  afterAll(() => dns.close())

  const mailTo = async (address: string) => {
    await world.deliverMail()
    return smtp.mails.find(({ to }) => to.includes(address))?.message ?? ''
  }

  let welcomed = 0
  const welcomeIn = async (account: TestAccount) => {
    welcomed += 1
    const email = `customer${welcomed}@mail.test`
    await world.user(account, { email })
    return mailTo(email)
  }

  it('is signed with the key of the reseller for the accounts below it, and follows what changes', async () => {
    const { ross, reseller, acme } = world
    const emails = `${reseller.path}/whitelabel/emails`
    expect(
      await ross.put(`${reseller.path}/whitelabel`, { domain: 'brand.test', company_name: 'Brand & Co' }),
    ).toSucceed()
    const put = await ross.put(emails, { email: support })
    expect(put).toSucceed()
    const path = `${emails}/${put.body.metadata.id}`
    expect(await welcomeIn(acme)).toContain('From: crosspoint@localhost\r\n')

    const code = /verification code is (\d{4})/.exec(textOf(await mailTo(support)))?.[1]
    expect(await ross.post(`${path}/verify`, { code })).toSucceed()
    const unsigned = await welcomeIn(acme)
    expect(unsigned).toContain('From: "Brand & Co" <support@brand.test>\r\n')
    expect(await verifyDkim(unsigned, dns.port)).toMatchObject([{ result: 'none' }])

    for (const kind of ['rsa', 'ed25519'] as const) {
      const pem = { headers: { 'content-type': 'application/x-pem-file' }, body: pemOf(keys[kind]) }
      expect(await ross.post(path, undefined, pem)).toSucceed()
      expect(await ross.post(path, { email: support, dkim_selector: kind })).toSucceed()
      const signed = await welcomeIn(acme)
      expect(await verifyDkim(signed, dns.port)).toEqual([
        { result: 'pass', signingDomain: 'brand.test', selector: kind, algo: `${kind}-sha256` },
      ])
    }
    const [entry] = (await world.ada.get(`${acme.path}/notifications/smtplog`)).data
    expect((await world.ada.get(`${acme.path}/notifications/smtplog/${entry.id}`)).data).toMatchObject({
      from: support,
      reply: '250 taken',
      signed_by: 'ed25519._domainkey.brand.test',
    })

    // A template may name the address, and only a proved one.
    const template = `${reseller.path}/notifications/new_user`
    expect(await ross.post(template, { from: support })).toSucceed()
    expect(await ross.post(template, { from: 'other@brand.test' })).toBreak({ from: ['unverified'] })
    expect(await welcomeIn(acme)).toContain('<support@brand.test>\r\n')

    expect(await ross.delete(path)).toSucceed()
    const after = await welcomeIn(acme)
    expect(after).toContain('From: crosspoint@localhost\r\n')
    expect(after).not.toMatch(/^DKIM-Signature/m)
  })

  it('of another brand is neither from its address nor signed by it', async () => {
    const other = await world.account(undefined)
    const mail = await welcomeIn(other)
    expect(mail).toContain('From: crosspoint@localhost\r\n')
    expect(mail).not.toMatch(/^DKIM-Signature/m)
  })
})

afterAll(async () => (await anySmtp).close())
