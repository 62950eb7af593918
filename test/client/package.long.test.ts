// The client as others get it: packed, installed in an empty folder, compiled against, bundled and run there.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildClient } from '../../scripts/generate-client.mjs'
import { lacks } from '../support/servers/installed.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'))
const readme = readFileSync(join(root, 'client/README.md'), 'utf8')

const place = mkdtempSync(join(tmpdir(), 'crosspoint-client-'))
let server: ServerProcess
let session: Session
/** Errors of the compiler for programs that use the client. */
let complaints: string

/** Packs folders into the place. */
const pack = async (folders: readonly string[]) => {
  const args = ['pack', ...folders, '--silent', '--pack-destination', place]
  const { stdout } = await run('npm', args, { cwd: place })
  return stdout
    .trim()
    .split('\n')
    .map((file) => `./${file}`)
}

const readmeProgram = () => /```ts\n(import [\s\S]*?)```/.exec(readme)?.[1] ?? ''

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2023',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  types: ['node'],
  outDir: 'out',
}

beforeAll(async () => {
  await buildClient()
  // Its dependencies are local, too: the test calls no registry.
  const needed = Object.keys(manifest.dependencies).map((name) => join(root, 'node_modules', name))
  const files = await pack([join(root, 'client'), ...needed])
  writeFileSync(
    join(place, 'package.json'),
    JSON.stringify({ name: 'consumer', type: 'module', private: true }),
  )
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...files], { cwd: place })
  symlinkSync(join(root, 'node_modules/@types'), join(place, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/undici-types'), join(place, 'node_modules/undici-types'))
  writeFileSync(join(place, 'readme.ts'), readmeProgram())
  writeFileSync(join(place, 'story.ts'), readFileSync(join(import.meta.dirname, 'consumer/story.ts')))
  writeFileSync(
    join(place, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['readme.ts', 'story.ts'] }),
  )
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  complaints = (await run(process.execPath, [compiler, '-p', place], { cwd: place }).catch((error) => error))
    .stdout
  server = await startServerProcess()
  session = await openSession(server)
  await freeRequests(session)
})

afterAll(async () => {
  session?.close()
  await server?.end()
  rmSync(place, { recursive: true, force: true })
})

const environment = () => ({
  ...process.env,
  CROSSPOINT_URL: server.url,
  CROSSPOINT_ADMIN_PASSWORD: 'secret',
})

it('has the version of the server, and takes in what it needs and nothing else', () => {
  expect(manifest.version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
  const installed = join(place, 'node_modules/@crosspoint/client')
  expect(existsSync(join(installed, 'dist/index.js'))).toBe(true)
  for (const name of ['src', 'tsconfig.json', 'dist/.made-from'])
    expect([name, existsSync(join(installed, name))]).toEqual([name, false])
})

it('asks for the packages that the server has, in the same versions', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect([name, version]).toEqual([name, dependencies[name]])
})

it('compiles in the strictest program, which reports a wrong call at compile time', () => {
  expect(complaints).toBe('')
})

it('does what its README says, in ten lines', async () => {
  const lines = readmeProgram()
    .split('\n')
    .filter((line) => line !== '')
  expect(lines.length).toBeLessThanOrEqual(10)
  const { stdout } = await run(process.execPath, ['out/readme.js'], { cwd: place, env: environment() })
  expect(stdout).toMatch(/^made Desk\nDesk [0-9a-f]{32}\n$/)
})

it('does by functions what the API can do', async () => {
  const story = ['out/story.js', server.url, session.token]
  const { stdout } = await run(process.execPath, story, { cwd: place, env: environment() })
  expect(stdout.trim().split('\n')).toEqual([
    'each One,Three,Two',
    'pages 2,1',
    'filtered Two',
    'csv One,Three,Two',
    'bytes id,call_id',
    'numbers 0',
    'edited Second',
    'stale true',
    'refused 400 name minLength',
    'charged false',
    'task +14155550100',
    'path',
    'type',
    'core true',
  ])
})

const lacksDeno = lacks('deno')

it.skipIf(lacksDeno)(`runs in Deno${lacksDeno}`, async () => {
  const args = ['run', '--allow-all', 'out/readme.js']
  const { stdout } = await run('deno', args, { cwd: place, env: environment() })
  expect(stdout).toMatch(/^made Desk/)
})

it('brings into a bundle what is used of it, and little else', async () => {
  const { build } = await import(
    pathToFileURL(join(root, 'console/node_modules/vite/dist/node/index.js')).href
  )
  const entry = join(place, 'page.js')
  writeFileSync(
    entry,
    "import { createCrosspoint, getAccount } from '@crosspoint/client'\nglobalThis.page = { createCrosspoint, getAccount }\n",
  )
  const made = await build({
    root: place,
    logLevel: 'silent',
    build: { write: false, minify: true, lib: { entry, formats: ['es'] } },
  })
  const [{ output }] = made
  const code: string = output[0].code
  expect(code).toContain('/v2/accounts/{account_id}')
  expect(code).not.toContain('/devices')
  expect(code).not.toContain('node:')
  expect(gzipSync(code).length).toBeLessThan(16_000)
})
