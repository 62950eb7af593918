// Costs of the first page: time until it can be used, size of its scripts, and memory in the server.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inFullRun } from '../support/run/run-length.ts'
import { openVisit } from '../support/servers/browser.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { useConsole } from '../support/world/console.ts'
import { describeOnce } from '../support/world/world.ts'

const maxScript = 300_000

const site = join(import.meta.dirname, '..', '..', 'console', 'dist')

const compressedBytes = (path: string) => {
  const file = join(site, path)
  return statSync(existsSync(`${file}.gz`) ? `${file}.gz` : file).size
}

/** Scripts that a page loads, and their total compressed size. */
const scriptsOf = async (page: Page, ready: Locator) => {
  const paths = new Set<string>()
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.endsWith('.js')) paths.add(pathname)
  })
  await page.reload()
  await ready.waitFor()
  const all = [...paths]
  return { all, bytes: all.reduce((sum, path) => sum + compressedBytes(path), 0) }
}

describeOnce('the first page', (engine) => {
  const { world, visit, open } = useConsole(engine)

  it('loads less than 300 kB of script, on the sign-in page and on the overview', async () => {
    const stranger = await visit('/', { isNew: true })
    const signIn = await scriptsOf(stranger.page, stranger.page.getByRole('button', { name: 'Sign in' }))
    const ada = await open(world.ada, 'overview', { isNew: true })
    const heading = ada.page.getByRole('heading', { level: 1, name: 'Overview' })
    const overview = await scriptsOf(ada.page, heading)
    console.log(`script, compressed: sign-in ${signIn.bytes} bytes, overview ${overview.bytes} bytes`)
    expect(signIn.bytes).toBeGreaterThan(50_000)
    expect(signIn.bytes).toBeLessThan(maxScript)
    expect(overview.bytes).toBeLessThan(maxScript)
    expect(overview.all.filter((path) => /Chart/.test(path))).toEqual([])
  })

  inFullRun(() => {
    it('logs how soon it can be used', async () => {
      const { page } = await openVisit()
      const began = performance.now()
      await page.goto(`http://127.0.0.1:${world.server.port}/`)
      await page.getByRole('textbox', { name: 'User name' }).fill('ada')
      console.log(`first page with a cold cache: usable after ${Math.round(performance.now() - began)} ms`)
      await page.context().close()
    })
  })
})

/** Kilobytes that a process has in memory. */
const residentOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)

inFullRun(() => {
  it.skipIf(process.platform !== 'linux')('costs the server hardly any memory', async () => {
    const server = await startServerProcess()
    const before = residentOf(server.process.pid ?? 0)
    const { page } = await openVisit()
    await page.goto(server.url)
    await page.getByRole('textbox', { name: 'User name' }).waitFor()
    await page.context().close()
    const after = residentOf(server.process.pid ?? 0)
    console.log(`memory of a server at rest: ${before} kB before it has sent the console, ${after} kB after`)
    expect(after).toBeGreaterThan(0)
    await server.end()
  })
})
