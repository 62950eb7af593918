// Endpoints: whitelabel.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import type { Client } from '../support/world/client.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const defaults = { hide_credits: false, hide_powered: false, hide_registration: false }

const template = {
  A: { 'sip.{{domain}}': { name: 'Proxy', zone: 'east', mapping: ['203.0.113.1'] } },
  CNAME: { 'portal.{{domain}}': { name: 'Web GUI', mapping: ['ui.vendor.example'] } },
  MX: {},
}

const png = qrPng('a logo')
const files = [
  { kind: 'logo', type: 'image/png', body: png },
  { kind: 'icon', type: 'image/png', body: png },
  { kind: 'welcome', type: 'text/html', body: '<h1>Welcome</h1>' },
] as const

const upload = (by: Client, path: string, { type, body }: { type: string; body: string | Uint8Array }) =>
  by.post(path, undefined, { body, headers: { 'content-type': type } })

const missing = (cause: string) => saidError(404, 'bad_identifier', { message: 'bad identifier', cause })

const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const pemOf = (key: KeyObject) => ({
  type: 'application/x-pem-file',
  body: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
})

const dkimRecordOf = (key: KeyObject) =>
  `v=DKIM1; p=${createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')}`

describeAnyEngine('Endpoints: whitelabel', (engine) => {
  let dns: DnsServer
  const world = useWorld(
    engine,
    async ({ operator }) => {
      expect(await operator.post('/v2/whitelabel/domains', template)).toSucceed()
    },
    async () => {
      dns = await startDnsServer()
      return { dnsServers: [dns.text] }
    },
  )
  afterAll(() => dns.close())

  const pathOf = ({ path }: TestAccount) => `${path}/whitelabel`
  let made = 0

  /** A customer with a brand, its domain and an admin. */
  const branded = async () => {
    made += 1
    const domain = `brand${made}.test`
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const settings = await admin.put(pathOf(account), { domain })
    return { admin, domain, path: pathOf(account), settings: settings.data }
  }

  const stamped = () => ({
    id: 'whitelabel',
    created: nowOf(world),
    modified: nowOf(world),
  })

  it('the paths below an account are for itself and those above', () =>
    expectNoStrangers(world, [
      ['PUT', '/v2/accounts/{account_id}/whitelabel'],
      ['GET', '/v2/accounts/{account_id}/whitelabel'],
      ['POST', '/v2/accounts/{account_id}/whitelabel'],
      ['DELETE', '/v2/accounts/{account_id}/whitelabel'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/domains'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/logo'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/icon'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/welcome'],
      ['PUT', '/v2/accounts/{account_id}/whitelabel/emails'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/emails/{email_id}/verify'],
      ['GET', '/v2/accounts/{account_id}/whitelabel/emails/{email_id}'],
      ['GET', '/v2/accounts/{account_id}/whitelabel/emails'],
      ['DELETE', '/v2/accounts/{account_id}/whitelabel/emails/{email_id}'],
      ['POST', '/v2/accounts/{account_id}/whitelabel/emails/{email_id}'],
    ]))

  describe('settings', () => {
    it('PUT …/whitelabel: the settings with defaults filled in plus id', async () => {
      const account = await world.account(world.reseller)
      const sent = { company_name: 'Brand', domain: 'brand.test', nav: { help: 'https://help.test/' } }
      expect(said(await world.ross.put(pathOf(account), sent))).toEqual({
        status: 201,
        data: { id: 'whitelabel', ...defaults, ...sent },
        metadata: stamped(),
      })
    })

    it('GET …/whitelabel: the same shape', async () => {
      const { admin, domain, path } = await branded()
      expect(said(await admin.get(path))).toEqual({
        status: 200,
        data: { id: 'whitelabel', ...defaults, domain },
        metadata: stamped(),
      })
    })

    it('POST …/whitelabel: the same shape', async () => {
      const { admin, path } = await branded()
      expect(said(await admin.post(path, { hide_powered: true }))).toEqual({
        status: 200,
        data: { id: 'whitelabel', ...defaults, hide_powered: true },
        metadata: stamped(),
      })
    })

    it('DELETE …/whitelabel: the same shape; then there is none', async () => {
      const { admin, domain, path } = await branded()
      expect(said(await admin.delete(path))).toEqual({
        status: 200,
        data: { id: 'whitelabel', ...defaults, domain },
        metadata: { ...stamped(), deleted: true },
      })
      expect(said(await admin.get(path))).toEqual(missing('whitelabel'))
    })
  })

  describe('domains', () => {
    const expanded = (domain: string) => JSON.parse(JSON.stringify(template).replaceAll('{{domain}}', domain))

    it('GET …/whitelabel/domains: the template expanded for the account’s domain, A entries with zone', async () => {
      const { admin, domain, path } = await branded()
      expect(said(await admin.get(`${path}/domains`))).toEqual({
        status: 200,
        data: {
          A: { [`sip.${domain}`]: { name: 'Proxy', zone: 'east', mapping: ['203.0.113.1'] } },
          CNAME: { [`portal.${domain}`]: { name: 'Web GUI', mapping: ['ui.vendor.example'] } },
          MX: {},
        },
        metadata: {},
      })
    })

    it('GET …/whitelabel/domains: or for `domain` of the query, or of the body', async () => {
      const { admin, path } = await branded()
      const query = { domain: 'asked.example' }
      expect(await admin.get(`${path}/domains`, { query })).toSucceedWith(expanded('asked.example'))
      expect(await admin.request('GET', `${path}/domains`, query)).toSucceedWith(expanded('asked.example'))
    })

    it('POST …/whitelabel/domains: what DNS holds and what it should, by type and host', async () => {
      const { admin, domain, path } = await branded()
      dns.set({ type: 'A', name: `sip.${domain}`, data: '203.0.113.1' })
      const checks = (actual: string[], host = domain) => ({
        A: {
          [`sip.${host}`]: {
            name: 'Proxy',
            zone: 'east',
            expected: ['203.0.113.1'],
            actual,
            matches: actual.length > 0,
          },
        },
        CNAME: {
          [`portal.${host}`]: {
            name: 'Web GUI',
            expected: ['ui.vendor.example'],
            actual: [],
            matches: false,
          },
        },
        MX: {},
      })
      const metadata = { senders: [] }
      expect(said(await admin.post(`${path}/domains`))).toEqual({
        status: 200,
        data: checks(['203.0.113.1']),
        metadata,
      })
      const other = await admin.post(`${path}/domains`, undefined, { query: { domain: 'other.example' } })
      expect(said(other)).toEqual({ status: 200, data: checks([], 'other.example'), metadata })
    })

    it('POST /v2/whitelabel/domains: system administrators store the domains object', async () => {
      const { operator, ross } = world
      const refused = await world.unchanged(() => ross.post('/v2/whitelabel/domains', template))
      expect(refused).toFailWith(403, 'forbidden')
      const answer = await operator.post('/v2/whitelabel/domains', template)
      expect(said(answer)).toEqual({ status: 200, data: template, metadata: {} })
    })
  })

  describe('files', () => {
    const expectFile = async (by: Client, path: string, { type, body }: (typeof files)[number]) => {
      const { status, headers, text } = await by.get(path)
      expect([status, headers['content-type'], text]).toEqual([200, type, Buffer.from(body).toString()])
    }

    it('POST …/whitelabel/logo, /icon, /welcome: raw image/png or text/html', async () => {
      const { admin, path, settings } = await branded()
      for (const file of files)
        expect(said(await upload(admin, `${path}/${file.kind}`, file))).toEqual({
          status: 200,
          data: settings,
          metadata: stamped(),
        })
    })

    it('POST /v2/whitelabel/{domain}/logo, /icon, /welcome: tied to a domain instead of an account', async () => {
      const { admin, domain, settings } = await branded()
      for (const file of files) {
        const place = `/v2/whitelabel/${domain}/${file.kind}`
        await world.unchanged(async () => {
          expect(await upload(world.anonymous, place, file)).toFailWith(401, 'invalid_credentials')
          expect(await upload(world.rex, place, file)).toFailWith(403, 'forbidden')
        })
        expect(said(await upload(admin, place, file))).toEqual({
          status: 200,
          data: settings,
          metadata: stamped(),
        })
      }
    })

    it('GET …/whitelabel/logo, /icon, /welcome: the file', async () => {
      const { admin, path } = await branded()
      for (const file of files) {
        const place = `${path}/${file.kind}`
        expect(said(await admin.get(place))).toEqual(missing(file.kind))
        await upload(admin, place, file)
        await expectFile(admin, place, file)
      }
    })

    it('GET /v2/whitelabel/{domain}/logo, /icon, /welcome: the file, for visitors of the domain', async () => {
      const { admin, domain, path } = await branded()
      // Without DNS the operator confirms the host.
      const confirmed = { envelope: { confirm_domain: true } }
      expect(await world.operator.post(path, { domain }, confirmed)).toSucceed()
      for (const file of files) {
        const place = `/v2/whitelabel/${domain}/${file.kind}`
        expect(await world.anonymous.get(place)).toFailWith(404, 'bad_identifier', missing(file.kind).data)
        await upload(admin, `${path}/${file.kind}`, file)
        await expectFile(world.anonymous, place, file)
      }
    })
  })

  describe('emails', () => {
    const codeTo = async (address: string) => {
      await world.deliverMail()
      const mail = (await mailsTo(world.place.dataDir, address)).at(-1) ?? ''
      return /\b(\d{4})\. It is valid/.exec(textOf(mail).replaceAll('\r\n', ' '))?.[1]
    }

    const withAddress = async () => {
      const brand = await branded()
      const email = `support@${brand.domain}`
      const put = await brand.admin.put(`${brand.path}/emails`, { email, dkim_selector: 'mail' })
      const id = String(put.body.metadata.id)
      return { ...brand, email, id, put, record: { id, email, dkim_selector: 'mail' } }
    }

    it('PUT …/emails: a message that a code was sent; metadata with id, created, modified, verified', async () => {
      const { put, id, email } = await withAddress()
      expect(said(put)).toEqual({
        status: 201,
        data: 'A verification code was sent to the email address',
        metadata: { id, created: nowOf(world), modified: nowOf(world), verified: false },
      })
      expect(await codeTo(email)).toMatch(/^\d{4}$/)
    })

    it('POST …/emails/{email_id}/verify: the email record, verified; wrong code: 400', async () => {
      const { admin, path, id, email, record } = await withAddress()
      const verify = (code: unknown) => admin.post(`${path}/emails/${id}/verify`, { code })
      const wrong = (await codeTo(email)) === '1111' ? '2222' : '1111'
      expect(await verify(wrong)).toFailWith(400, 'validation error')
      expect(said(await verify(await codeTo(email)))).toEqual({
        status: 200,
        data: record,
        metadata: { id, created: nowOf(world), modified: nowOf(world), verified: true },
      })
    })

    it('GET …/emails/{email_id}: the email record; metadata', async () => {
      const { admin, path, id, record } = await withAddress()
      expect(said(await admin.get(`${path}/emails/${id}`))).toEqual({
        status: 200,
        data: record,
        metadata: { id, created: nowOf(world), modified: nowOf(world), verified: false },
      })
    })

    it('GET …/emails: array of id, email, verified', async () => {
      const { admin, path, id, email } = await withAddress()
      expect(said(await admin.get(`${path}/emails`))).toEqual({
        status: 200,
        data: [{ id, email, verified: false }],
        metadata: {},
        page_size: 1,
      })
    })

    it('POST …/emails/{email_id}, JSON: the email record, changed', async () => {
      const { admin, path, id, email } = await withAddress()
      const sent = { email, dkim_selector: 'other' }
      expect(said(await admin.post(`${path}/emails/${id}`, sent))).toEqual({
        status: 200,
        data: { id, ...sent },
        metadata: { id, created: nowOf(world), modified: nowOf(world), verified: false },
      })
    })

    it('POST …/emails/{email_id}, a PEM private key: never returned, and a later one replaces it', async () => {
      const { admin, path, id, record } = await withAddress()
      const place = `${path}/emails/${id}`
      for (const key of [newKey(), newKey()]) {
        const answer = await upload(admin, place, pemOf(key))
        expect(answer).toSucceedWith(record)
        for (const { text, body } of [answer, await admin.get(place)]) {
          expect(text).not.toContain('PRIVATE KEY')
          expect(body.metadata.dkim).toMatchObject({ record: dkimRecordOf(key) })
        }
      }
    })

    it('DELETE …/emails/{email_id}: the email record; metadata.deleted true', async () => {
      const { admin, path, id, record } = await withAddress()
      expect(said(await admin.delete(`${path}/emails/${id}`))).toEqual({
        status: 200,
        data: record,
        metadata: { id, created: nowOf(world), modified: nowOf(world), verified: false, deleted: true },
      })
      expect(said(await admin.get(`${path}/emails/${id}`))).toEqual(missing(id))
    })
  })
})
