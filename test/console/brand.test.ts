// How a reseller presents itself, in the console: from a domain to mail, and what visitors see of it.
import type { Answer as DnsRecord } from 'dns-packet'
import type { Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { verifyDkim } from '../support/matchers/dkim.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { choose, chooseFile, openEntry, pressOn, typeInto, violationsOn } from '../support/servers/browser.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { textOf } from '../support/servers/outbox.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const template = {
  A: { 'sip.{{domain}}': { name: 'Proxy', mapping: ['203.0.113.1'] } },
  CNAME: { 'portal.{{domain}}': { name: 'Web GUI', mapping: ['ui.vendor.example'] } },
  SRV: { '_sip._udp.{{domain}}': { name: 'Service', mapping: ['10 10 7000 sip.{{domain}}'] } },
}

const recordOf = (line: string): DnsRecord => {
  const [, name = '', type = '', text = ''] = /^(\S+)\. IN (\S+) (.+)$/.exec(line) ?? []
  if (type === 'A' || type === 'CNAME') return { type, name, data: text }
  if (type === 'TXT')
    return { type, name, data: [...text.matchAll(/"([^"]*)"/g)].map(([, part = '']) => part) }
  const [priority = 0, weight = 0, port = 0] = text.split(' ').map(Number)
  return { type: 'SRV', name, data: { priority, weight, port, target: text.split(' ')[3] ?? '' } }
}

const picture = { name: 'logo.png', mimeType: 'image/png', buffer: qrPng('a logo') }

/** The lines that a person would copy to a name server. */
const linesOn = (page: Page) => page.locator('li pre').allInnerTexts()

describeAnyEngine('a brand in the console', (engine) => {
  let dns: DnsServer
  let smtp: SmtpServer
  const { world, open, visit, expectForEverybody, expectScreensForEverybody } = useConsole(
    engine,
    (made) => made.configure('whitelabel', { domains: template }),
    async () => {
      dns = await startDnsServer()
      smtp = await startSmtpServer()
      return { dnsServers: [dns.text], smtpUrl: smtp.url }
    },
  )
  afterAll(() => Promise.all([dns.close(), smtp.close()]))

  it('is begun by keyboard alone, and shows the field that a refusal is about', async () => {
    const { page } = await open(world.ada, 'brand')
    await page.getByText('has no branding yet').waitFor()
    await expectForEverybody(page)
    const domain = page.getByRole('textbox', { name: 'Domain', exact: true })
    await typeInto(page, page.getByRole('textbox', { name: 'Brand name' }), 'Acme Voice')
    await typeInto(page, page.getByRole('textbox', { name: 'Color' }), '#0a7d4f')
    await page.getByRole('img', { name: '#0a7d4f on light and dark' }).waitFor()
    await typeInto(page, domain, 'no host at all')
    await world.unchanged(async () => {
      await pressOn(page, page.getByRole('button', { name: 'Create' }))
      await page.getByText('Must be a web address or a host name').waitFor()
    })
    await typeInto(page, domain, 'voice.acme.test')
    await pressOn(page, page.getByRole('button', { name: 'Create' }))
    await page.getByRole('button', { name: 'Delete branding' }).waitFor()
    await typeInto(page, page.getByRole('textbox', { name: 'Title of the web interface' }), 'Voice')
    await pressOn(page, page.getByRole('button', { name: 'Save' }))
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await world.ada.get(`${world.acme.path}/whitelabel`)).data).toMatchObject({
      company_name: 'Acme Voice',
      application_title: 'Voice',
      brand_color: '#0a7d4f',
      domain: 'voice.acme.test',
    })
  })

  inFullRun(() => {
    it('goes from a domain to mail, by keyboard alone', async () => {
      const path = `${world.reseller.path}/whitelabel`
      await world.ross.put(path, {
        domain: 'brand.test',
        company_name: 'Brand Telephony',
        application_title: 'Brand Desk',
        brand_color: '#a03060',
      })
      const { page } = await open(world.ross, 'brand/domain')

      const records = page.getByRole('list', { name: 'DNS records' }).getByRole('listitem')
      await records.first().waitFor()
      expect(await records.getByText('Not checked').count()).toBe(3)
      dns.set({ type: 'A', name: 'sip.brand.test', data: '192.0.2.9' })
      await pressOn(page, page.getByRole('button', { name: 'Check DNS' }))
      await page.getByText('0 of 3 are correct').waitFor()
      await page.getByRole('listitem', { name: 'A sip.brand.test' }).getByText('192.0.2.9').waitFor()
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Copy A sip.brand.test' }))
      const copied = () => page.evaluate(() => navigator.clipboard.readText())
      await expect.poll(copied).toBe('sip.brand.test. IN A 203.0.113.1')
      dns.set(...(await linesOn(page)).map(recordOf))
      await pressOn(page, page.getByRole('button', { name: 'Check DNS' }))
      await page.getByText('3 of 3 are correct').waitFor()
      expect(await records.getByText('Correct').count()).toBe(3)

      await openEntry(page, 'Images')
      const logo = page.getByRole('region', { name: 'Logo' })
      await chooseFile(page, logo.getByRole('button', { name: 'Choose another logo' }), picture)
      await logo.getByRole('img', { name: 'Preview' }).waitFor()
      await pressOn(page, logo.getByRole('button', { name: 'Save logo' }))
      await logo.getByRole('img', { name: 'Current logo' }).waitFor()
      await expectForEverybody(page)

      await openEntry(page, 'Welcome text')
      const welcome = page.getByRole('textbox', { name: 'Welcome text as HTML' })
      await typeInto(page, welcome, '<h1 style="color: #a03060">Good day</h1>')
      await page.frameLocator('iframe').getByRole('heading', { name: 'Good day' }).waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Save' }))
      await page.getByText('Saved').last().waitFor()

      await openEntry(page, 'Email senders')
      await typeInto(page, page.getByRole('textbox', { name: 'New sender address' }), 'desk@brand.test')
      await pressOn(page, page.getByRole('button', { name: 'Add' }))
      await page.getByText('Code sent to desk@brand.test').waitFor()
      await world.deliverMail()
      const letter = smtp.mails.find(({ to }) => to.includes('desk@brand.test'))
      const code =
        /(\d{4})\. It is valid/.exec(textOf(letter?.message ?? '').replaceAll('\r\n', ' '))?.[1] ?? ''
      const sender = page.getByRole('region', { name: 'desk@brand.test' })
      await typeInto(page, sender.getByRole('textbox', { name: 'Code' }), code)
      await pressOn(page, sender.getByRole('button', { name: 'Verify' }))
      await sender.getByText('Verified', { exact: true }).waitFor()
      await pressOn(page, sender.getByRole('button', { name: 'Generate DKIM key' }))
      const key = sender.getByRole('listitem', { name: 'TXT crosspoint._domainkey.brand.test' })
      await key.waitFor()
      await pressOn(page, page.getByRole('button', { name: 'Check DNS' }))
      await key.getByText('Missing').waitFor()
      dns.set(...(await linesOn(page)).map(recordOf))
      await pressOn(page, page.getByRole('button', { name: 'Check DNS' }))
      await key.getByText('Correct').waitFor()
      await expectForEverybody(page)

      await openEntry(page, 'Email templates')
      const mail = page.getByRole('combobox', { name: 'Email' })
      await choose(page, mail, 'Password recovery', 'Password recovery')
      await page.frameLocator('iframe').getByText('Someone requested a new password').waitFor()
      await expectForEverybody(page)
      await typeInto(
        page,
        page.getByRole('textbox', { name: 'Send a test email to' }),
        'customer@elsewhere.test',
      )
      await pressOn(page, page.getByRole('button', { name: 'Send' }))
      await page.getByText('Test email sent to customer@elsewhere.test').waitFor()
      await world.deliverMail()
      const sample = smtp.mails.find(({ to }) => to.includes('customer@elsewhere.test'))?.message ?? ''
      expect(sample).toMatch(/^From: .*desk@brand\.test/m)
      expect(await verifyDkim(sample, dns.port)).toMatchObject([
        { result: 'pass', signingDomain: 'brand.test' },
      ])

      const origin = `http://brand.test:${world.server.port}`
      const { page: door } = await visit('/', { origin })
      await door.getByRole('img', { name: 'Brand Telephony' }).waitFor()
      expect(await door.title()).toBe('Sign in · Brand Desk')
      await door.frameLocator('iframe').getByRole('heading', { name: 'Good day' }).waitFor()
      const button = door.getByRole('button', { name: 'Sign in' })
      // A fifth darker than the colour itself, so that white is read on it.
      expect(await button.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(
        'rgb(128, 38, 77)',
      )
      expect(
        await door.locator('img').evaluate((image: HTMLImageElement) => image.naturalWidth),
      ).toBeGreaterThan(0)
      expect(await violationsOn(door)).toEqual([])
    })
  })

  inFullRun(() => {
    it('has accessible screens', async () => {
      const account = await world.account(world.reseller)
      await world.ross.put(`${account.path}/whitelabel`, { domain: 'all.test', brand_color: '#0a7d4f' })
      const { page } = await open(world.ross, 'brand', { account })
      await page.getByRole('tabpanel').first().waitFor()
      await expectScreensForEverybody(page, [
        'brand',
        'brand/pictures',
        'brand/welcome',
        'brand/domain',
        'brand/mails',
      ])
    })
  })

  it('takes no picture that is none', async () => {
    const account = await world.account(world.reseller)
    await world.ross.put(`${account.path}/whitelabel`, { domain: 'pictures.test' })
    const { page } = await open(world.ross, 'brand/pictures', { account })
    const logo = page.getByRole('region', { name: 'Logo' })
    const file = logo.getByRole('button', { name: 'Choose another logo' })
    await logo.getByText('No logo yet').waitFor()
    await world.unchanged(async () => {
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>window.__ran=1</script></svg>')
      await chooseFile(page, file, { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: svg })
      await expect.poll(() => logo.getByRole('button', { name: 'Save logo' }).isDisabled()).toBe(true)
      await chooseFile(page, file, { name: 'logo.png', mimeType: 'image/png', buffer: svg })
      await pressOn(page, logo.getByRole('button', { name: 'Save logo' }))
      await logo.getByText('The file content does not match its type').waitFor()
    })
  })
})
