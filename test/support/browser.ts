// A real browser, which comes from npm: nothing to install by hand.
/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import sparticuz from '@sparticuz/chromium'
import {
  type BrowserContext,
  chromium,
  type ElementHandle,
  type FileChooser,
  type Locator,
  type Page,
} from 'playwright-core'
import { afterEach, expect } from 'vitest'

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

/** Visits of a test: closed after it, and nothing may have gone wrong in any of them. */
export const useVisits = () => {
  const open: Visit[] = []
  afterEach(async () => {
    const ended = open.splice(0)
    await Promise.all(ended.map(({ context }) => context.close()))
    expect(ended.flatMap(({ faults }) => faults)).toEqual([])
  })
  return {
    async open(look?: Look) {
      const visit = await openVisit(look)
      open.push(visit)
      return visit
    },
  }
}

interface Violation {
  id: string
  help: string
  nodes: { html: string; failureSummary?: string }[]
}

interface AxeOptions {
  /** The ids of the rules; without them all. */
  runOnly?: string[]
  resultTypes: ['violations']
}

declare const axe: { run(options: AxeOptions): Promise<{ violations: Violation[] }> }

/** What axe finds on the page as it is, by these rules or by all of them. */
export const violationsOn = async (page: Page, rules?: string[]) => {
  // Handed over by the debugger: the page's own policy would not let it in.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource)
  // What leaves the page is small: all that axe says of what is right takes longer to hand over than to find.
  return page.evaluate(
    async (options) => {
      const { violations } = await axe.run(options)
      return violations.map(({ id, help, nodes }) => ({
        id,
        help,
        at: nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary ?? ''}`),
      }))
    },
    { resultTypes: ['violations'], ...(rules && { runOnly: rules }) } satisfies AxeOptions,
  )
}

const overflowOf = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

interface ScreenLook {
  width: number
  dark: boolean
  rules?: string[]
}

const colourRules = ['color-contrast', 'link-in-text-block']

// Light and dark differ in colours alone, so that every other rule is asked once for each width.
const looks: readonly ScreenLook[] = [
  { width: 1440, dark: false },
  { width: 1440, dark: true, rules: colourRules },
  { width: 360, dark: false, rules: colourRules },
  { width: 360, dark: true },
]

/**
 * Light and dark, wide and narrow: axe finds nothing, and nothing has to be scrolled sideways. `once` looks wide and light
 * only, at what has been looked at in the other ways on another store.
 */
export const expectForEverybody = async (page: Page, { once = false } = {}) => {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
  const before = page.viewportSize() ?? { width: 1440, height: 900 }
  for (const { width, dark, rules } of looks.slice(0, once ? 1 : undefined)) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: before.height })
    const where = `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`
    expect({ where, violations: await violationsOn(page, rules) }).toEqual({ where, violations: [] })
    // What follows the width by script comes a moment later.
    await expect.poll(() => overflowOf(page), { message: `overflow of ${where}`, timeout: 10_000 }).toBe(0)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(before)
}

// More stops than any screen has.
const mostStops = 250

/** Where an element lies for somebody who goes by the Tab key: the focus is in it, or it comes before or after. */
const wayTo = (element: ElementHandle<Node>) =>
  element.evaluate((node) => {
    const { activeElement } = document
    if (!node.isConnected) return 'gone'
    if (node.contains(activeElement)) return 'here'
    const position = activeElement?.compareDocumentPosition(node) ?? 0
    return position & Node.DOCUMENT_POSITION_PRECEDING ? 'Shift+Tab' : 'Tab'
  })

const turnsOfDialog = 8

/**
 * Whether an element keeps the focus. A dialog takes it when it is drawn and once more behind its effects, each time in a
 * timer: nobody's hands are fast enough to come between, but a test would press on what the focus has just left.
 */
const keepsFocus = (element: ElementHandle<Node>) =>
  element.evaluate(async (node, turns) => {
    const isInDialog = node instanceof Element && node.closest('[role="dialog"]') !== null
    for (let turn = 0; isInDialog && turn < turns; turn += 1) await new Promise((done) => setTimeout(done))
    return node.contains(document.activeElement)
  }, turnsOfDialog)

/** Goes to an element by the Tab key alone, as somebody without a mouse does. */
export const tabTo = async (page: Page, locator: Locator) => {
  await locator.waitFor()
  // Found anew only where the page has put another one in its place: to look for a role takes longer than a stop.
  let element = await locator.elementHandle()
  if (element) await keepsFocus(element)
  for (let stop = 0; stop < mostStops && element; stop += 1) {
    const way = await wayTo(element)
    if (way === 'here' && (await keepsFocus(element))) return
    if (way === 'here') continue
    if (way === 'gone') element = await locator.elementHandle()
    else await page.keyboard.press(way)
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
  if (text === '') await page.keyboard.press('Delete')
  else await page.keyboard.type(text)
  // A field of numbers places its caret again in a timer after each letter, which would undo what is selected meanwhile.
  await page.evaluate(() => new Promise((done) => setTimeout(done)))
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
    if ((await option.getAttribute('data-combobox-selected')) === 'true') {
      await page.keyboard.press('Enter')
      // A list that was drawn anew meanwhile has forgotten where one was.
      if ((await field.getAttribute('aria-expanded')) !== 'true') return
    }
    await page.keyboard.press('ArrowDown')
  }
  throw new Error(`${name} cannot be chosen in ${field}`)
}

/** Goes on by an arrow key to an element of what has the focus: a tab, an entry of a menu or of a tree. */
export const arrowTo = async (page: Page, locator: Locator, key: string) => {
  await locator.waitFor()
  for (let stop = 0; stop < mostStops; stop += 1) {
    if (await locator.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${key} does not lead to ${locator}`)
}

/** Opens a tab by keyboard: to the one that is open, and on by the arrow keys. */
export const openTab = async (page: Page, name: string) => {
  const tab = page.getByRole('tab', { name, exact: true })
  const isOpen = page.getByRole('tab', { selected: true })
  const list = page.getByRole('tablist').filter({ has: tab })
  await tabTo(page, list.getByRole('tab').and(isOpen))
  await arrowTo(page, tab, 'ArrowRight')
  await tab.and(isOpen).waitFor()
}

/** Chooses an entry of a menu by keyboard. */
export const chooseItem = async (page: Page, menu: Locator, name: string) => {
  await pressOn(page, menu)
  await arrowTo(page, page.getByRole('menuitem', { name }), 'ArrowDown')
  await page.keyboard.press('Enter')
}

/** Hands a file over by keyboard, up to the browser's own dialog. */
export const chooseFile = async (
  page: Page,
  button: Locator,
  file: Parameters<FileChooser['setFiles']>[0],
) => {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), pressOn(page, button)])
  await chooser.setFiles(file)
}
