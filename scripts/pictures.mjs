// Makes the pictures of the README: the sample company in its own store, in a real browser.
//   node scripts/pictures.mjs [FOLDER]
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { chromium } from 'playwright-core'
import { programOf } from './bundle.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = process.argv[2] ?? join(root, 'docs', 'pictures')
const program = programOf(root)
const password = 'made-up-for-pictures'
const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-pictures-'))
const env = {
  ...process.env,
  CROSSPOINT_DATA_DIR: dataDir,
  CROSSPOINT_PORT: '0',
  CROSSPOINT_ADMIN_PASSWORD: password,
  CROSSPOINT_ACCESS_LOG: 'off',
}

const run = (args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.on('close', (status) =>
      status === 0 ? resolve(output) : reject(new Error(`${args[0]} ended with ${status}`)),
    )
  })

const serve = () =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (chunk) => {
      const ready = /ready at (\S+)/.exec(String(chunk))
      if (ready) resolve({ url: ready[1], end: () => child.kill('SIGINT') })
    })
  })

const width = 1280
const height = 800

const signIn = async (page, { username, account, password: own }, url) => {
  await page.goto(url)
  await page.getByRole('textbox', { name: 'User name' }).fill(username)
  await page.getByLabel(/^Password/).fill(own)
  await page.getByRole('textbox', { name: 'Account' }).fill(account)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL('**/a/**')
}

const settled = async (page) => {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
  await page.waitForLoadState('load')
  // Charts are drawn when they come.
  await page.waitForTimeout(1500)
}

const main = async () => {
  mkdirSync(folder, { recursive: true })
  const { sign_ins: people } = JSON.parse(await run(['demo', '--json', '--password', password]))
  const adminOf = (name) => people.find(({ account, role }) => account === name && role === 'admin')
  const customer = adminOf('Redwood Outfitters')
  const { url, end } = await serve()
  const executablePath = process.env.CROSSPOINT_TEST_BROWSER ?? (await sparticuz.executablePath())
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const visit = (scheme) =>
    browser.newPage({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' })
  const take = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) })
  try {
    const page = await visit('light')
    await page.goto(url)
    await page.getByRole('textbox', { name: 'User name' }).waitFor()
    await take(page, 'sign-in')
    await signIn(page, customer, url)
    await settled(page)
    await take(page, 'overview')
    await page.goto(page.url().replace('overview', 'calls'))
    await settled(page)
    await take(page, 'calls')
    const dark = await visit('dark')
    await signIn(dark, adminOf('Harbor Voice'), url)
    await settled(dark)
    await take(dark, 'reseller')
  } finally {
    await browser.close()
    end()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

await main()
