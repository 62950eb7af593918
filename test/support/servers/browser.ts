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
import { afterAll, afterEach, expect } from 'vitest'
import { toastMs } from '../../../console/src/lib/toast-times.ts'
import { isFullRun } from '../run/run-length.ts'

const named = process.env.CROSSPOINT_TEST_BROWSER

// Tests may run as root, where the sandbox does not start; shared memory of a container may be small.
const options = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  // Pages live for seconds: optimizing their scripts costs more processor time than it saves.
  '--js-flags=--no-opt,--no-maglev,--single-threaded-gc',
  '--in-process-gpu',
  // SwiftShader sets a variable of the environment in the thread of that GPU while others read variables, and a start could crash.
  '--disable-software-rasterizer',
  // Names in `.test` resolve to this machine.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
]

const launch = async () =>
  chromium.launch({ executablePath: named ?? (await sparticuz.executablePath()), args: options })

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
  /** The time that the page reads. Default: the time of the machine. */
  time?: Date
  /** What the page finds in the storage of the browser, by key. Default: nothing. */
  storage?: Readonly<Record<string, string>>
  /** A new window, closed after the test: the test adds scripts, listeners, tabs or devices to it. */
  isNew?: boolean
}

/** A window with its own storage, and the errors that its page reported. */
export interface Visit {
  page: Page
  context: BrowserContext
  /** Scripts and styles that the content security policy blocked, and uncaught errors. */
  faults: string[]
}

// Chromium reports every response from 400 on, which the page itself handles.
const isResponse = (text: string) => text.startsWith('Failed to load resource')

// Scripts of the test, such as its clock, may not run in a frame without rights.
const isSandboxedFrame = (text: string) => text.startsWith("Blocked script execution in 'about:srcdoc'")

// The server sends this header on every connection. Chromium ignores it without TLS, except on this machine's own names.
const isWithoutTls = (text: string) =>
  text.startsWith('The Cross-Origin-Opener-Policy header has been ignored')

const isFault = (text: string) => !isResponse(text) && !isSandboxedFrame(text) && !isWithoutTls(text)

const openWindow = async (locale: string): Promise<Visit> => {
  const browser = await openBrowser()
  const context = await browser.newContext({
    locale,
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  // Generous, because a busy machine must not fail a test.
  context.setDefaultTimeout(120_000)
  // The dialog for the place of a file belongs to the system. Without it the page starts a download.
  await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker'))
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && isFault(text)) faults.push(text)
  })
  return { page, context, faults }
}

interface FirstLoad {
  /** Differs for each test. */
  mark: string
  storage: Readonly<Record<string, string>>
  toastMs: readonly number[]
}

/** Runs in each page before its own scripts. */
const prepare = ({ mark, storage, toastMs }: FirstLoad) => {
  // Frames may have no storage, and an empty page has none.
  if (window !== window.top || !location.protocol.startsWith('http')) return
  if (localStorage.getItem('test') !== mark) {
    localStorage.clear()
    sessionStorage.clear()
    localStorage.setItem('test', mark)
    for (const [key, value] of Object.entries(storage)) localStorage.setItem(key, value)
  }
  // A test on a busy machine needs longer than a toast is shown.
  const { setTimeout } = globalThis
  Reflect.set(globalThis, 'setTimeout', (act: TimerHandler, ms?: number, ...args: unknown[]) =>
    setTimeout(act, ms !== undefined && toastMs.includes(ms) ? 3_600_000 : ms, ...args),
  )
}

let marks = 0

const furnish = async (
  { page, context }: Visit,
  { width = 1440, height = 900, dark = false, time, storage = {} }: Look,
) => {
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
  if (time) await context.clock.setSystemTime(time)
  marks += 1
  return context.addInitScript(prepare, { mark: String(marks), storage, toastMs: Object.values(toastMs) })
}

/** A new window. The caller closes its context. */
export const openVisit = async (look: Look = {}): Promise<Visit> => {
  const visit = await openWindow(look.locale ?? 'en-US')
  await furnish(visit, look)
  return visit
}

/** Ends the scripts of a page. An address of the same server keeps the process, which has the scripts compiled. */
const leave = async (page: Page) => {
  const { origin } = new URL(page.url())
  await page.goto(`${origin}/healthz`).catch(() => page.goto('about:blank'))
}

/** Windows of this process that no test uses, by locale. A new one takes three times as long to show a page. */
const idle = new Map<string, Visit[]>()

/** Another server may get the port of one that has ended, and with it what the cache holds. */
const clearCaches = () =>
  Promise.all(
    [...idle.values()].flat().map(async ({ page, context }) => {
      const devtools = await context.newCDPSession(page)
      await devtools.send('Network.clearBrowserCache')
      await devtools.detach()
    }),
  )

/** Windows for the tests of a suite, each with an empty storage. At the end of a test no page has reported a fault. */
export const useVisits = () => {
  const endings: (() => Promise<Visit>)[] = []

  const openIdle = async (look: Look) => {
    const { locale = 'en-US' } = look
    const visit = idle.get(locale)?.pop() ?? (await openWindow(locale))
    const furniture = await furnish(visit, look)
    endings.push(async () => {
      const { page, context } = visit
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await context.setOffline(false)
      for (const other of context.pages()) if (other !== page) await other.close()
      await leave(page)
      await furniture.dispose()
      await context.clearCookies()
      idle.set(locale, [...(idle.get(locale) ?? []), visit])
      return visit
    })
    return visit
  }

  const openNew = async (look: Look) => {
    const visit = await openVisit(look)
    endings.push(async () => {
      await visit.context.close()
      return visit
    })
    return visit
  }

  afterEach(async () => {
    const ended = await Promise.all(endings.splice(0).map((end) => end()))
    expect(ended.flatMap(({ faults }) => faults.splice(0))).toEqual([])
  })
  afterAll(clearCaches)
  return { open: (look: Look = {}) => (look.isNew ? openNew(look) : openIdle(look)) }
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
  // Only a small result leaves the page: handing over all passed rules of axe takes longer than finding them.
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

// Light and dark differ in colours only, so all other rules run once for each width.
const looks: readonly ScreenLook[] = [
  { width: 1440, dark: false },
  { width: 360, dark: true },
  { width: 1440, dark: true, rules: colourRules },
  { width: 360, dark: false, rules: colourRules },
]

// All rules take three times as long as those of colours.
const shortLooks: readonly ScreenLook[] = [
  { width: 1440, dark: false },
  { width: 360, dark: true, rules: colourRules },
]

interface Extent {
  /** The page was checked in the other looks on another engine. */
  isRepeated?: boolean
  /** The page shows the first of several screens. */
  isFirst?: boolean
}

// `npm test` checks pages wide and light by all rules, and the first of several screens narrow and dark by those of colours.
const looksAt = ({ isRepeated = false, isFirst = false }: Extent) => {
  if (isRepeated) return looks.slice(0, 1)
  return isFullRun ? looks : shortLooks.slice(0, isFirst ? 2 : 1)
}

/** Waits until a screen has read what it shows. */
export const untilRead = async (page: Page) => {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
}

/** Axe finds no violation, and the page does not scroll sideways: wide and narrow, light and dark. */
export const expectForEverybody = async (page: Page, extent: Extent = {}) => {
  await untilRead(page)
  const before = page.viewportSize() ?? { width: 1440, height: 900 }
  for (const { width, dark, rules } of looksAt(extent)) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: before.height })
    const where = `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`
    expect({ where, violations: await violationsOn(page, rules) }).toEqual({ where, violations: [] })
    // Scripts that follow the width run a moment later.
    await expect.poll(() => overflowOf(page), { message: `overflow of ${where}` }).toBe(0)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(before)
}

/** Shows another screen of the same account, as a link of the page does: nothing is loaded again. */
export const goTo = async (page: Page, screen: string) => {
  await page.evaluate((path) => {
    const [, account = ''] = location.pathname.match(/^(\/a\/[^/]+)/) ?? []
    history.pushState(null, '', `${account}/${path}`)
  }, screen)
  await untilRead(page)
}

// More stops than any screen has.
const maxStops = 250

/** The position of an element for a user of the Tab key: the focus is in it, or it comes before or after. */
const wayTo = (element: ElementHandle<Node>) =>
  element.evaluate((node) => {
    const { activeElement } = document
    if (!node.isConnected) return 'gone'
    if (node.contains(activeElement)) return 'here'
    const position = activeElement?.compareDocumentPosition(node) ?? 0
    return position & Node.DOCUMENT_POSITION_PRECEDING ? 'Shift+Tab' : 'Tab'
  })

const turnsOfFocus = 8

/**
 * Whether an element keeps the focus. A dialog or menu takes it when it is drawn, and again after its effects, each time in a
 * timer. A test that presses a key between them would press it on another element.
 */
const keepsFocus = (element: ElementHandle<Node>) =>
  element.evaluate(async (node, turns) => {
    const isTrapped = node instanceof Element && node.closest('[role="dialog"], [role="menu"]') !== null
    for (let turn = 0; isTrapped && turn < turns; turn += 1) await new Promise((done) => setTimeout(done))
    return node.contains(document.activeElement)
  }, turnsOfFocus)

const stopsOfTab = 'a[href], button, input, select, textarea, [tabindex]'

/** Moves the focus to the last stop of the Tab key before an element, unless the focus is in the element. */
const focusBefore = (element: ElementHandle<Node>) =>
  element.evaluate((node, selector) => {
    if (node.contains(document.activeElement)) return
    const dialog = node instanceof Element ? node.closest('[role="dialog"]') : null
    const isBefore = (stop: Element) =>
      (stop.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
    const isStop = (stop: HTMLElement) =>
      stop.tabIndex >= 0 && !stop.matches(':disabled') && stop.checkVisibility() && isBefore(stop)
    const stops = [...(dialog ?? document).querySelectorAll<HTMLElement>(selector)]
    stops.findLast(isStop)?.focus()
  }, stopsOfTab)

/** Goes to an element by the Tab key only. `npm test` begins next to it: each stop makes the browser draw the page. */
export const tabTo = async (page: Page, locator: Locator) => {
  await locator.waitFor()
  // Searched again only if the page has replaced it: a search by role takes longer than a stop.
  let element = await locator.elementHandle()
  if (element) await keepsFocus(element)
  if (element && !isFullRun) await focusBefore(element)
  for (let stop = 0; stop < maxStops && element; stop += 1) {
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

// A field of numbers places its caret in a timer after each input, which would undo a later selection.
const untilCaretIsPlaced = (page: Page) => page.evaluate(() => new Promise((done) => setTimeout(done)))

/**
 * Types text by keyboard. `npm test` sends the first character as keys and the rest as one input: the page draws its form
 * again for each.
 */
const type = async (page: Page, text: string) => {
  const keys = isFullRun ? text.length : 1
  await page.keyboard.type(text.slice(0, keys))
  await untilCaretIsPlaced(page)
  if (keys >= text.length) return
  await page.keyboard.insertText(text.slice(keys))
  await untilCaretIsPlaced(page)
}

/** Replaces the text of a field by keyboard. */
export const typeInto = async (page: Page, locator: Locator, text: string) => {
  await tabTo(page, locator)
  await page.keyboard.press('ControlOrMeta+A')
  if (text === '') await page.keyboard.press('Delete')
  else await type(page, text)
}

// Longer than any list that a test looks through.
const maxOptions = 60

/** Chooses an entry of a field with a list by keyboard, narrowed by what is typed. */
export const choose = async (page: Page, field: Locator, name: string | RegExp, typed = '') => {
  await tabTo(page, field)
  if (typed !== '') await typeInto(page, field, typed)
  else if ((await field.getAttribute('aria-expanded')) !== 'true') await page.keyboard.press('ArrowDown')
  const option = page.getByRole('option', { name, exact: true })
  await option.waitFor()
  for (let stop = 0; stop < maxOptions; stop += 1) {
    if ((await option.getAttribute('data-combobox-selected')) === 'true') {
      await page.keyboard.press('Enter')
      // A list that was drawn again has lost its position.
      if ((await field.getAttribute('aria-expanded')) !== 'true') return
    }
    await page.keyboard.press('ArrowDown')
  }
  throw new Error(`${name} cannot be chosen in ${field}`)
}

/** Moves by an arrow key to an element inside the focused widget: a tab, an entry of a menu or of a tree. */
export const arrowTo = async (page: Page, locator: Locator, key: string) => {
  await locator.waitFor()
  for (let stop = 0; stop < maxStops; stop += 1) {
    const element = await locator.elementHandle()
    if (element && (await keepsFocus(element))) return
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

/** Opens a screen of the open group of the menu by keyboard. */
export const openEntry = async (page: Page, name: string) => {
  const menu = page.getByRole('navigation', { name: 'Sections' })
  await pressOn(page, menu.getByRole('link', { name, exact: true }))
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
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
