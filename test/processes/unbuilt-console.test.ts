// A real server in a copy of the repository, without a console at first. The test writes what the build of the launcher writes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { nodeOptions, program as programHere } from '../support/run/program.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'crosspoint-unbuilt-'))
const consoleFolder = join(folder, 'console')
// The bundle finds the console as the sources do, and starts with half the processor time.
const program = relative(root, programHere)
const code = program.startsWith('bin') ? ['bin', 'src'] : [dirname(program)]
let url = ''
let end = async () => {}

beforeAll(async () => {
  for (const name of [...code, 'package.json', 'openapi.json', 'CHANGELOG.md'])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(consoleFolder)
  const child = spawn(process.execPath, [join(folder, program), 'serve'], {
    cwd: folder,
    env: {
      ...process.env,
      CROSSPOINT_PORT: '0',
      CROSSPOINT_DATA_DIR: join(folder, 'data'),
      CROSSPOINT_DATABASE_URL: undefined,
      CROSSPOINT_ADMIN_PASSWORD: 'secret',
      CROSSPOINT_DRAIN_SECONDS: '0',
      CROSSPOINT_HTTP_THREADS: '2',
      NODE_OPTIONS: nodeOptions(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const isOver = once(child, 'close')
  end = async () => {
    child.kill('SIGKILL')
    await isOver
  }
  const [, found = ''] = await eventually(
    () => /ready at (http:\S+)/.exec(output) ?? [],
    ({ length }) => length > 0 || child.exitCode !== null,
    120_000,
  )
  expect(found, output).not.toBe('')
  url = found
}, 150_000)

afterAll(async () => {
  await end()
  rmSync(folder, { recursive: true, force: true })
})

const get = async (path: string, method = 'GET') => {
  const response = await fetch(`${url}${path}`, { method })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const writeState = (state: object) =>
  writeFileSync(join(consoleFolder, '.build-state.json'), JSON.stringify(state))

const build = (text: string) => {
  const made = join(consoleFolder, 'dist.1')
  mkdirSync(join(made, 'docs'), { recursive: true })
  writeFileSync(join(made, 'index.html'), `<style nonce="__NONCE__"></style>${text}`)
  writeFileSync(join(made, 'docs', 'index.html'), `docs of ${text}`)
  rmSync(join(consoleFolder, 'dist'), { recursive: true, force: true })
  renameSync(made, join(consoleFolder, 'dist'))
}

const pages = [
  '/',
  '/?recovery=abc',
  '/a/0123/devices',
  '/sign-in',
  '/docs',
  '/docs/',
  '/docs/guides/console.html',
]

const expectNoPage = async () => {
  expect((await get('/')).status).toBe(404)
}

const expectProgress = async () => {
  writeState({ pid: process.pid, startedMs: Date.now() - 7000 })
  for (const path of pages) {
    const { status, headers, text } = await get(path)
    expect([path, status]).toEqual([path, 503])
    expect(text).toMatch(/The console is being built \(\d+ s\)/)
    expect(text).not.toMatch(/<script|<style| style=/)
    expect(headers.get('refresh')).toBe('2')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  }
  const head = await get('/', 'HEAD')
  expect([head.status, head.text]).toEqual([503, ''])
}

/** Files of the site and the API are unchanged. */
const expectOthers = async () => {
  for (const path of ['/assets/main-12345678.js', '/docs/assets/main.js', '/nothing'])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  expect((await get('/', 'POST')).status).not.toBe(503)
  expect((await get('/readyz')).status).toBe(200)
  expect((await get('/openapi.json')).status).toBe(200)
  expect((await get('/v2/about')).status).toBe(401)
}

const expectFailures = async () => {
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  for (const state of [{ pid: process.pid, failure: 'npm ci failed with status 1' }, { pid }]) {
    writeState({ startedMs: Date.now(), ...state })
    const { status, text } = await get('/')
    expect(status).toBe(503)
    expect(text).toContain('The console could not be built')
    expect(text).toContain('run npm start')
  }
}

const expectConsole = async () => {
  build('one')
  for (let count = 0; count < 20; count += 1) {
    const { status, text } = await get('/')
    expect([status, text]).toEqual([200, expect.stringMatching(/nonce="[0-9a-f]{32}".*one$/)])
  }
  expect((await get('/docs/')).text).toBe('docs of one')
}

const expectNewConsole = async () => {
  writeState({ pid: process.pid, startedMs: Date.now() })
  expect((await get('/')).text).toContain('one')
  build('two')
  expect((await get('/')).text).toContain('two')
  expect((await get('/docs/')).text).toBe('docs of two')
}

// A server that has served a console never again reports that there is none: this is one test.
it('has no page without a build, reports its progress and failures, and serves each console when it is built', async () => {
  await expectNoPage()
  await expectProgress()
  await expectOthers()
  await expectFailures()
  await expectConsole()
  await expectNewConsole()
})
