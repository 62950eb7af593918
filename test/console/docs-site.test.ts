// The reference and the guides in a real browser.
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { version } from '../../src/version.ts'
import { useBuiltDocs, useWebServer } from '../support/examples/built-docs.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { pressOn, typeInto } from '../support/servers/browser.ts'
import { useConsole } from '../support/world/console.ts'
import { describeOnce, type Person } from '../support/world/world.ts'

const operation = (page: Page, id: string) => {
  const whole = page.locator(`#${id}`)
  return {
    whole,
    async open() {
      await pressOn(page, whole.locator('summary'))
      await whole.getByText('Responses', { exact: true }).waitFor()
    },
    async execute() {
      await pressOn(page, whole.getByRole('button', { name: 'Try it out' }))
      await pressOn(page, whole.getByRole('button', { name: 'Execute' }))
      await whole.getByText('Server response').waitFor()
      return whole.locator('.live-responses-table').innerText()
    },
  }
}

describeOnce('the documentation at /docs', (engine) => {
  const { world, visit, expectForEverybody } = useConsole(engine)

  /** Opens a page with what the console stores when a user signs in. */
  const visitAs = ({ token, account }: Person, path: string) =>
    visit(path, { storage: { 'crosspoint.session': JSON.stringify({ token, accountId: account.id }) } })

  it('opens where guides and reference are found, by keyboard alone', async () => {
    const { page } = await visit('/docs')
    await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor()
    await pressOn(page, page.getByRole('link', { name: 'All operations of the API' }))
    await page.getByRole('heading', { level: 1, name: 'API' }).waitFor()
    // Axe takes seconds for the list of all operations.
    if (isFullRun) await expectForEverybody(page)
    await pressOn(
      page,
      page.getByRole('link', { name: 'Read the version and state of this server', exact: true }).first(),
    )
    await page.locator('#getAbout[open]').getByText('"used_memory": 150000000').first().waitFor()
  })

  it('tries operations as the signed-in user, by keyboard alone', async () => {
    const { page } = await visitAs(world.ada, '/docs/api/about.html')
    const about = operation(page, 'getAboutOfAccount')
    await about.open()
    const answered = await about.execute()
    expect(answered).toContain('200')
    expect(answered).toContain(`"version": "${version}"`)
    await expectForEverybody(page)
  })

  inFullRun(() => {
    it('says that the visitor is not signed in, and links to the sign-in page', async () => {
      const { page } = await visit('/docs/api/about.html')
      await page.getByText('You are not signed in').waitFor()
      expect(await page.getByRole('link', { name: 'Sign in', exact: true }).getAttribute('href')).toBe(
        '../../',
      )
      const about = operation(page, 'getAbout')
      await about.open()
      expect(await about.execute()).toContain('invalid_credentials')
    })

    it('tries an operation with a token that is typed in, before any session, by keyboard alone', async () => {
      const { page } = await visitAs(world.ada, '/docs/api/about.html')
      await typeInto(page, page.getByLabel('Another token'), world.operator.token)
      const about = operation(page, 'getAbout')
      await about.open()
      expect(await about.execute()).toContain(`"version": "${version}"`)
    })

    it('shows a body to be edited by keyboard alone, and every field with its name', async () => {
      const { page } = await visit('/docs/api/devices.html#createDevice')
      const device = operation(page, 'createDevice')
      await pressOn(page, device.whole.getByRole('button', { name: 'Try it out' }))
      const body = device.whole.getByRole('textbox', { name: 'Body of the request' })
      await typeInto(page, body, '{"data":{}}')
      expect(await body.inputValue()).toBe('{"data":{}}')
      await expectForEverybody(page)
    })
  })

  inFullRun(() => {
    it('is searched by keyboard alone', async () => {
      const { page } = await visit('/docs/')
      await page.keyboard.press('/')
      await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
      await page.keyboard.type('webhook delivries')
      await page.getByRole('option', { name: 'Webhooks' }).first().waitFor()
      await expectForEverybody(page)
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type('createAlert')
      await page.getByRole('option', { name: /^Create an alert/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/docs/api/alerts.html#createAlert')
      await page.locator('#createAlert[open]').waitFor()
    })
  })

  inFullRun(() => {
    it('has guides with anchors, code to copy by keyboard alone, and a dark side that is remembered', async () => {
      const { page } = await visit('/docs/guides/bulk-tasks.html#dry-runs')
      await expectForEverybody(page)
      await pressOn(page, page.getByRole('button', { name: 'Copy' }).first())
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
        'category=number_management',
      )
      await pressOn(page, page.getByRole('button', { name: 'Dark' }))
      await page.reload()
      await page.getByRole('button', { name: 'Light' }).waitFor()
      expect(await page.evaluate(() => document.documentElement.classList.contains('dark-mode'))).toBe(true)
    })
  })

  inFullRun(() => {
    it('has a menu on a phone', async () => {
      const { page } = await visit('/docs/guides/bulk-tasks.html', { width: 360 })
      const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' })
      expect(await link.isVisible()).toBe(false)
      await pressOn(page, page.getByRole('button', { name: 'Menu' }))
      await pressOn(page, link)
      await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    })
  })
})

inFullRun(() =>
  describe('the documentation below a path of another web server', () => {
    const { world, visit } = useConsole('sqlite')
    const site = useWebServer(useBuiltDocs(), '/manuals/crosspoint/')

    it('searches, and tries operations on the server that is named, by keyboard alone', async () => {
      const { page } = await visit('/healthz')
      await page.goto(site.url('api/about.html'))
      await page.getByText('To try operations, name a server.').waitFor()
      await typeInto(page, page.getByLabel('Address of the server'), `http://127.0.0.1:${world.server.port}`)
      await typeInto(page, page.getByLabel('Token'), world.operator.token)
      const about = operation(page, 'getAbout')
      await about.open()
      expect(await about.execute()).toContain(`"version": "${version}"`)
      await pressOn(page, page.getByRole('button', { name: 'Search' }))
      await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
      await page.keyboard.type('message bus')
      await page.getByRole('option', { name: 'Message bus' }).first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(site.url('guides/message-bus.html*'))
    })
  }),
)
