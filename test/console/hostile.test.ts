// Names, texts and pictures with which a user tries to run something in the browser of another user.
/// <reference lib="dom" />
import type { Dialog, Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { goTo } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const script = '<script>window.__ran = 1</script>'
const image = '<img src=x onerror="window.__ran = 1">'
const evil = `${script}${image}`
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.__ran = 1">${script}</svg>`

const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const hostilePage = `<h1>Seen</h1>${evil}${svg}<img alt="Dot" src="${dot}">
<style>h1 { color: #a03060 }</style>
<p style="color: red; background: url(javascript:window.__ran=1)" onclick="window.__ran = 1">Text</p>
<a href="javascript:window.top.__ran = 1">Link</a>
<iframe srcdoc="${script.replaceAll('"', '&quot;')}"></iframe>
<meta http-equiv="refresh" content="0;url=javascript:window.__ran=1">
<form action="https://evil.test"><button autofocus onfocus="window.top.__ran = 1">Button</button></form>
<math><mtext><style><img title="</style>${image.replaceAll('"', '&quot;')}">`

const arabic = 'مؤسسة الاتصالات الهاتفية'
const long = 'Überlandgesprächsvermittlungsgesellschaft'.repeat(5).slice(0, 128)

const whatRuns = 'script, svg, math, iframe, form, button, meta[http-equiv], [onclick], [onerror], [href]'

/** A page that another user wrote keeps its looks: nothing in it runs, sends a request or leads away. */
const expectHarmlessLooks = async (page: Page) => {
  const frame = page.frameLocator('iframe')
  const colorOf = (text: string) =>
    frame.getByText(text, { exact: true }).evaluate((element) => getComputedStyle(element).color)
  expect(await colorOf('Seen')).toBe('rgb(160, 48, 96)')
  expect(await colorOf('Text')).toBe('rgb(255, 0, 0)')
  expect(await frame.getByRole('img', { name: 'Dot' }).evaluate(isShown)).toBe(true)
  expect(await frame.locator(whatRuns).count()).toBe(0)
}

const isShown = (image: Element) => image instanceof HTMLImageElement && image.naturalWidth === 1

const ran = (page: Page) =>
  Promise.all(page.frames().map((frame) => frame.evaluate(() => Reflect.get(window, '__ran') === undefined)))

describeAnyEngine('content of other users, in the console', (engine) => {
  const { world, open, visit, expectForEverybody } = useConsole(engine)

  const expectNothingRan = async (page: Page) => {
    const answers = await ran(page)
    expect(answers).toEqual(answers.map(() => true))
  }

  it('does not run where it is the name of something', async () => {
    const account = await world.account(world.reseller, { name: evil })
    const user = await world.admin(account, { first_name: script, last_name: image, username: 'mallory' })
    const device = await world.device(account, { name: evil })
    await world.ross.put(`${account.path}/whitelabel`, {
      domain: 'evil.test',
      company_name: evil,
      application_title: image,
    })
    const { page } = await open(world.ross, 'devices', { account })
    const dialogs: string[] = []
    const noteDialog = async (dialog: Dialog) => {
      dialogs.push(dialog.message())
      await dialog.dismiss()
    }
    page.on('dialog', noteDialog)
    onTestFinished(() => void page.off('dialog', noteDialog))
    await page.getByRole('link', { name: evil }).first().waitFor()
    await expectNothingRan(page)
    const screens = [
      `devices/${device.id}`,
      'users',
      `users/${user.id}`,
      'accounts',
      'events',
      'brand',
      'alerts',
      'overview',
    ]
    for (const screen of screens) {
      await goTo(page, screen)
      await expectNothingRan(page)
    }
    expect(dialogs).toEqual([])
  })

  inFullRun(() => {
    it('does not run where it is a welcome, or a mail', async () => {
      const account = await world.account(world.reseller)
      await world.operator.put(`${account.path}/reseller`, {})
      await world.operator.put(`${account.path}/whitelabel`, { domain: 'welcome.test', company_name: long })
      const asHtml = { body: hostilePage, headers: { 'content-type': 'text/html' } }
      expect(await world.ross.post(`${account.path}/whitelabel/welcome`, undefined, asHtml)).toSucceed()
      const { page } = await open(world.ross, 'brand/welcome', { account })
      await page.frameLocator('iframe').getByRole('heading', { name: 'Seen' }).waitFor()
      await expectNothingRan(page)
      await world.ross.put(`${account.path}/notifications`, { id: 'password_recovery', subject: evil })
      const notice = `${account.path}/notifications/password_recovery`
      expect(await world.ross.post(notice, undefined, asHtml)).toSucceed()
      await goTo(page, 'brand/mails/password_recovery')
      await page.frameLocator('iframe').getByRole('heading', { name: 'Seen' }).waitFor()
      await expectNothingRan(page)

      const door = await visit('/', { origin: `http://welcome.test:${world.server.port}` })
      await door.page.getByText(long).first().waitFor()
      await door.page.frameLocator('iframe').getByRole('heading', { name: 'Seen' }).waitFor()
      await expectNothingRan(door.page)
      await expectHarmlessLooks(door.page)
      await expectForEverybody(door.page)
    })
  })

  it('does not run when a file of a brand is opened directly', async () => {
    const account = await world.account(world.reseller)
    // A domain that the operator sets needs no DNS records.
    await world.operator.put(`${account.path}/whitelabel`, { domain: 'files.test' })
    const put = (path: string, body: string, type: string) =>
      world.ross.post(path, undefined, { body, headers: { 'content-type': type } })
    const logo = `${account.path}/whitelabel/logo`
    expect(await put(logo, svg, 'image/svg+xml')).toFailWith(415, 'unsupported_media_type')
    expect(await put(logo, svg, 'image/png')).toBreak({ file: ['invalid'] })
    expect(await put(`${account.path}/whitelabel/welcome`, hostilePage, 'text/html')).toSucceed()
    for (const path of [`${account.path}/whitelabel/welcome`, '/v2/whitelabel/files.test/welcome']) {
      const { headers } = await world.client({ accept: 'text/html' }).get(path)
      expect(headers['content-security-policy']).toMatch(/default-src 'none'.*sandbox/)
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['content-disposition']).toMatch(/^attachment/)
    }
  })

  it('is no address of a script where links are shown', async () => {
    const account = await world.account(world.reseller)
    await world.unchanged(async () => {
      const nav = { help: 'javascript:window.__ran=1' }
      expect(await world.ross.put(`${account.path}/whitelabel`, { nav })).toBreak({
        'nav.help': ['wrong_format'],
      })
    })
  })

  inFullRun(() => {
    it('may be from right to left, or very long, on any width', async () => {
      const account = await world.account(world.reseller, { name: arabic })
      await world.device(account, { name: arabic })
      const wide = await world.device(account, { name: long })
      const { page } = await open(world.ross, 'devices', { account, width: 360 })
      const name = page.getByRole('link', { name: arabic }).last()
      await name.waitFor()
      const where = page.getByRole('navigation', { name: 'Breadcrumbs' }).getByText(arabic)
      expect(await where.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
      await expectForEverybody(page)
      await goTo(page, `devices/${wide.id}`)
      await page.getByRole('heading', { level: 1, name: long }).waitFor()
      await expectForEverybody(page)
    })
  })
})
