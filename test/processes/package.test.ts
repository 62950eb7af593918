// Crosspoint as others get it: packed, installed in an empty folder, and run there.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { nodeOptions } from '../support/run/program.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { credentialsOf } from '../support/world/world.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const place = mkdtempSync(join(tmpdir(), 'crosspoint-package-'))
const installed = join(place, 'node_modules/crosspoint')

/** Copies what npm would pack, and links the dependencies of the repository. npm takes twice as long to pack and install. */
const layOut = async () => {
  const modules = join(place, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  const { stdout } = await run('npm', ['pack', root, '--dry-run', '--json', '--ignore-scripts'], {
    cwd: place,
    maxBuffer: 2 ** 26,
  })
  const [{ files }] = JSON.parse(stdout)
  for (const { path } of files) cpSync(join(root, path), join(installed, path))
  const wanted = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  for (const name of wanted.filter((one) => existsSync(join(root, 'node_modules', one)))) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  const program = join(installed, manifest.bin.crosspoint)
  chmodSync(program, 0o755)
  symlinkSync(program, join(modules, '.bin/crosspoint'))
}

const install = async () => {
  const packing = ['pack', root, '--ignore-scripts', '--silent', '--pack-destination', place]
  const { stdout } = await run('npm', packing, { cwd: place })
  // npm has these packages from installing the repository, as a rule.
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${stdout.trim()}`]
  await run('npm', args, { cwd: place })
}

/** The content of the package before its first start. */
let contents: string[] = []

beforeAll(async () => {
  // The steps that `npm pack` runs before and after, without the launcher, which would install what is missing
  // here.
  const make = (...args: string[]) =>
    run(process.execPath, [join(root, 'scripts/build-package.mjs'), ...args])
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'operator', private: true }))
  await make()
  try {
    if (isFullRun) await install()
    else await layOut()
  } finally {
    await make('clear')
  }
  contents = readdirSync(installed, { recursive: true, encoding: 'utf8' })
})

afterAll(() => rmSync(place, { recursive: true, force: true }))

it('is made by what `npm pack` calls', () => {
  expect(manifest.scripts).toMatchObject({
    prepack: 'node scripts/bootstrap.mjs pack',
    postpack: 'node scripts/build-package.mjs clear',
  })
})

it('holds code without types, the console and the pages as they are shown, and no sources or tests', () => {
  expect(contents.filter((name) => !name.includes('/')).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin',
    'console',
    'lib',
    'openapi.json',
    'ops',
    'package.json',
    'scripts',
  ])
  expect(contents.filter((name) => name.endsWith('.ts'))).toEqual([])
  for (const name of ['console/dist/index.html', 'console/dist/docs/index.html', 'lib/crosspoint.js'])
    expect(contents).toContain(name)
})

// `npm test` puts the repository's own Node first.
const pathOfMachine = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.startsWith(root))
  .join(delimiter)

/** Runs the program as a person at a terminal does: what they press reaches all processes of it. */
const startAtTerminal = async () => {
  const env = {
    PATH: pathOfMachine,
    HOME: process.env.HOME,
    CROSSPOINT_PORT: '0',
    CROSSPOINT_ADMIN_PASSWORD: 'secret',
    NODE_OPTIONS: nodeOptions(''),
  }
  const child = spawn(join(place, 'node_modules/.bin/crosspoint'), ['serve'], {
    cwd: place,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      said += piece
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const press = (signal: NodeJS.Signals) => {
    const isThere = child.exitCode === null && child.signalCode === null
    if (child.pid !== undefined && isThere) process.kill(-child.pid, signal)
  }
  const [, url = ''] = await eventually(
    () => /ready at (http:\S+)/.exec(said) ?? [],
    ({ length }) => length > 0 || child.exitCode !== null,
  )
  return { url, press, ended, said: () => said }
}

it('serves in an empty folder, on whatever Node the machine has, and ends with Ctrl-C', async () => {
  const server = await startAtTerminal()
  try {
    expect(server.url, server.said()).not.toBe('')
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(await (await fetch(server.url)).text()).toContain('<html')
    expect((await fetch(`${server.url}/docs/`)).status).toBe(200)
    // Derived in a thread, read and written by others.
    const data = { credentials: credentialsOf('admin', 'secret'), account_name: 'master' }
    const signIn = await fetch(`${server.url}/v2/user_auth`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data }),
    })
    expect(signIn.status).toBe(201)
    server.press('SIGINT')
    expect(await server.ended, server.said()).toBe(0)
  } finally {
    server.press('SIGKILL')
  }
  expect(readdirSync(join(place, 'data'))).toContain('crosspoint.db')
})

inFullRun(() => {
  it('is called by npx', async () => {
    const { stdout } = await run('npx', ['--no-install', 'crosspoint', 'serve', '--help'], { cwd: place })
    expect(stdout).toContain('CROSSPOINT_DRAIN_SECONDS')
  })
})
