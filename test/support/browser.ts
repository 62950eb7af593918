// A real browser, which comes from npm: nothing to install by hand.
/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import sparticuz from '@sparticuz/chromium'
import { type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'

const named = process.env.CROSSPOINT_TEST_BROWSER

// Tests may run as root, where the sandbox does not start; shared memory of a container may be small.
const options = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

const launch = async (more: readonly string[] = []) =>
  chromium.launch({
    executablePath: named ?? (await sparticuz.executablePath()),
    args: [...options, ...more],
  })

/** A browser of its own that takes this machine for a host, as if DNS said so. The caller closes it. */
export const openBrowserFor = (host: string) => launch([`--host-resolver-rules=MAP ${host} 127.0.0.1`])

let launched: ReturnType<typeof launch> | undefined

/** The browser of this process of the tests: started for the first suite that looks at a page, and ended with the process. */
export const openBrowser = () => {
  launched ??= launch()
  return launched
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Look {
  width?: number
  height?: number
  dark?: boolean
  locale?: string
  /** What the page takes for the time; the machine's without. */
  time?: Date
}

/** A window of its own, with nothing kept from others, and what went wrong in it. */
export interface Visit {
  page: Page
  context: BrowserContext
  /** Scripts and styles that the policy kept from running, and errors that nobody caught. */
  faults: string[]
}

// Chromium says this of every answer from 400 on, which the page itself deals with.
const isOfAnAnswer = (text: string) => text.startsWith('Failed to load resource')

// Nor of a frame without rights that the scripts of the test itself, such as its clock, are put into.
const isOfAQuietFrame = (text: string) => text.startsWith("Blocked script execution in 'about:srcdoc'")

export const openVisit = async ({
  width = 1440,
  height = 900,
  dark = false,
  locale = 'en-US',
  time,
}: Look = {}): Promise<Visit> => {
  const browser = await openBrowser()
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    locale,
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  if (time) await context.clock.setSystemTime(time)
  // As long as a busy machine may need.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !isOfAnAnswer(text) && !isOfAQuietFrame(text)) faults.push(text)
  })
  return { page, context, faults }
}

/** Visits of a suite: closed with it, and none of them may have gone wrong. */
export const useVisits = () => {
  const open: Visit[] = []
  afterAll(async () => {
    await Promise.all(open.splice(0).map(({ context }) => context.close()))
  })
  return {
    async open(look?: Look) {
      const visit = await openVisit(look)
      open.push(visit)
      return visit
    },
    faults: () => open.flatMap(({ faults }) => faults),
  }
}

interface Violation {
  id: string
  help: string
  nodes: { html: string; failureSummary?: string }[]
}

declare const axe: { run(): Promise<{ violations: Violation[] }> }

/** What axe finds on the page as it is. */
export const violationsOn = async (page: Page) => {
  // Handed over by the debugger: the page's own policy would not let it in.
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => axe.run())
  return violations.map(({ id, help, nodes }) => ({
    id,
    help,
    at: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary ?? ''}`),
  }))
}

const overflowOf = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

const looks = [
  { width: 1440, dark: false },
  { width: 1440, dark: true },
  { width: 360, dark: false },
  { width: 360, dark: true },
]

/** Light and dark, wide and narrow: axe finds nothing, and nothing has to be scrolled sideways. */
export const expectForEverybody = async (page: Page) => {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
  const before = page.viewportSize() ?? { width: 1440, height: 900 }
  for (const { width, dark } of looks) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: before.height })
    const where = `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`
    expect({ where, violations: await violationsOn(page) }).toEqual({ where, violations: [] })
    expect({ where, overflow: await overflowOf(page) }).toEqual({ where, overflow: 0 })
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(before)
}

const isFocused = (locator: Locator) =>
  locator.evaluate(
    (element) => element === document.activeElement || element.contains(document.activeElement),
  )

// More stops than any screen has.
const mostStops = 250

/** Goes to an element by the Tab key alone, as somebody without a mouse does. */
export const tabTo = async (page: Page, locator: Locator) => {
  await locator.waitFor()
  for (let stop = 0; stop < mostStops; stop += 1) {
    if (await isFocused(locator)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${locator}`)
}

/** Does what a click would, by keyboard. */
export const pressOn = async (page: Page, locator: Locator, key = 'Enter') => {
  await tabTo(page, locator)
  await page.keyboard.press(key)
}

/** Types into a field by keyboard, over what stands there. */
export const typeInto = async (page: Page, locator: Locator, text: string) => {
  await tabTo(page, locator)
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(text)
}

// Longer than any list that a test looks through.
const mostOptions = 60

/** Chooses an entry of a field with a list by keyboard, narrowed by what is typed. */
export const choose = async (page: Page, field: Locator, name: string | RegExp, typed = '') => {
  await tabTo(page, field)
  if (typed !== '') await typeInto(page, field, typed)
  else if ((await field.getAttribute('aria-expanded')) !== 'true') await page.keyboard.press('ArrowDown')
  const option = page.getByRole('option', { name, exact: true })
  await option.waitFor()
  for (let stop = 0; stop < mostOptions; stop += 1) {
    if ((await option.getAttribute('data-combobox-selected')) === 'true') break
    await page.keyboard.press('ArrowDown')
  }
  await page.keyboard.press('Enter')
}
