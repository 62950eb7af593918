// The launcher in a copy of its own, with a npm that only pretends: no network, no real packages.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const scripts = join(import.meta.dirname, '..', 'scripts')

const fakeNpm = `#!/bin/sh
echo "$@" >> npm-calls
echo "npm says much"
if [ -n "$NPM_FAILS" ]; then echo "npm error: the registry is away" >&2; exit 7; fi
if [ -n "$NPM_SHOWS" ]; then mkdir -p node_modules/pg; echo '{}' > node_modules/pg/package.json; fi
sleep "\${NPM_SECONDS:-0}"
if [ "$1" = ci ]; then rm -rf node_modules; fi
mkdir -p node_modules/node/bin
printf '#!/bin/sh\\nPINNED=yes exec "%s" "$@"\\n' "$REAL_NODE" > node_modules/node/bin/node
chmod +x node_modules/node/bin/node
mkdir -p node_modules/node/node_modules/node-linux/include
if [ "$2" = --omit=dev ]; then exit 0; fi
mkdir -p node_modules/vitest node_modules/typescript/bin node_modules/@biomejs/biome/bin
cp tool.cjs node_modules/@biomejs/biome/bin/biome
cp tool.cjs node_modules/typescript/bin/tsc
cp tool.cjs node_modules/vitest/vitest.mjs
`

const fakeTool = `
const name = process.argv[1].match(/biome|tsc|vitest/)[0]
if (process.env.TELL) {
  const counts = Object.entries(process.env).filter(([key]) => key.startsWith('CROSSPOINT_TEST_'))
  console.log(JSON.stringify(Object.fromEntries(counts)))
  console.log(...process.argv.slice(2))
} else process.stdout.write(name + ' on ' + (process.env.ENGINE || process.env.CROSSPOINT_TEST_ENGINES) + '\\n')
process.exitCode = process.env.FAILING === name ? 3 : 0
`

const fakeServer = `
const [command, value] = process.argv.slice(2)
const end = (why) => { console.log('ends after ' + why); process.exit(0) }
if (command === 'serve') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(signal))
  process.on('disconnect', () => end('disconnect'))
  if (process.env.TELL) console.log(...process.execArgv, process.env.MALLOC_MMAP_THRESHOLD_, process.env.MALLOC_TRIM_THRESHOLD_, process.env.MALLOC_ARENA_MAX)
  console.log('ready')
} else if (command === 'exit') process.exit(Number(value))
else if (command === 'die') process.kill(process.pid, value)
else console.log(JSON.stringify({ args: process.argv.slice(2), pinned: process.env.PINNED ?? 'no' }))
`

let root: string
const started: ChildProcess[] = []

const write = async (path: string, text: string) => writeFile(join(root, path), text)

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'crosspoint-bootstrap-'))
  for (const folder of ['scripts', 'bin', 'fake']) await mkdir(join(root, folder))
  for (const name of ['bootstrap.mjs', 'bundle.mjs', 'face-sources.mjs', 'server-process.mjs'])
    await copyFile(join(scripts, name), join(root, 'scripts', name))
  await write('fake/npm', fakeNpm)
  await chmod(join(root, 'fake', 'npm'), 0o755)
  // The tools of an installation are scripts of either module system; this text is valid in both.
  await write('tool.cjs', fakeTool)
  await write('bin/crosspoint.mjs', fakeServer)
  await write('package-lock.json', '{}')
})

afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  await rm(root, { recursive: true, force: true })
})

const start = (args: string[], env: Record<string, string> = {}, folder = root) => {
  const path = [join(root, 'fake'), process.env.PATH].join(delimiter)
  const child = spawn(process.execPath, [join(folder, 'scripts', 'bootstrap.mjs'), ...args], {
    cwd: folder,
    env: { PATH: path, REAL_NODE: process.execPath, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  const run = {
    child,
    out: '',
    err: '',
    status: once(child, 'close').then(([status]) => status as number | null),
  }
  child.stdout.on('data', (chunk) => {
    run.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    run.err += chunk
  })
  return run
}

const finish = async (args: string[], env?: Record<string, string>) => {
  const run = start(args, env)
  return { status: await run.status, out: run.out, err: run.err }
}

const npmCalls = async (folder = '.') =>
  (await readFile(join(root, folder, 'npm-calls'), 'utf8').catch(() => '')).split('\n').length - 1

const startedServer = async (env?: Record<string, string>) => {
  const run = start(['serve'], env)
  await expect.poll(() => run.out, { timeout: 60_000 }).toContain('ready')
  return run
}

describe('the console', () => {
  const built = () => readFile(join(root, 'console', 'dist', 'index.html'), 'utf8')

  beforeEach(async () => {
    await mkdir(join(root, 'console', 'src'), { recursive: true })
    await write('console/package-lock.json', '{}')
    await write('console/src/main.tsx', 'one')
    await write('console/tool.cjs', fakeTool)
    await write(
      'scripts/build-faces.mjs',
      `import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtStampFile, sourceStamp } from './face-sources.mjs'
mkdirSync('console/dist', { recursive: true })
writeFileSync('console/dist/index.html', readFileSync('console/src/main.tsx', 'utf8') + ' ' + process.env.PINNED)
if (process.env.BUILD_FAILS) throw new Error('the sources make no sense')
writeFileSync(builtStampFile('console/dist'), await sourceStamp('.'))
`,
    )
  })

  it('is built once, on the pinned runtime, before the server starts', async () => {
    const run = await startedServer()
    expect(await built()).toBe('one yes')
    expect(run.err).toContain('building the console')
    expect((await startedServer()).err).toBe('')
    expect(await npmCalls('console')).toBe(1)
  })

  it('is built again when its sources have changed, with the tools that are there', async () => {
    await startedServer()
    await write('console/src/main.tsx', 'two')
    await startedServer()
    expect(await built()).toBe('two yes')
    expect(await npmCalls('console')).toBe(1)
  })

  it('is not built for commands that do not show it', async () => {
    await finish(['account'])
    expect(existsSync(join(root, 'console', 'dist'))).toBe(false)
    expect(await npmCalls()).toBe(1)
  })

  it('is not looked for where a package brought it built, without sources', async () => {
    await rm(join(root, 'console', 'package-lock.json'))
    await startedServer()
    expect(await npmCalls()).toBe(1)
  })

  it('does not keep the API away when it cannot be built', async () => {
    const run = await startedServer({ BUILD_FAILS: 'yes' })
    expect(run.err).toContain('the sources make no sense')
    expect(run.err).toContain('the server starts without its console')
    // Tests are not run on a console of yesterday.
    expect((await finish(['test'], { BUILD_FAILS: 'yes' })).status).toBe(1)
  })

  it('is built by one of two that start at once, while the other waits', async () => {
    const both = await Promise.all([1, 2].map(() => startedServer({ NPM_SECONDS: '5' })))
    expect(both.filter(({ err }) => err.includes('building the console'))).toHaveLength(1)
    expect(await built()).toBe('one yes')
  })
})

describe('the dependencies', () => {
  it('are installed once, before the command runs on the pinned runtime', async () => {
    const { status, out, err } = await finish(['account', '--name', 'a b'])
    expect(JSON.parse(out)).toEqual({ args: ['account', '--name', 'a b'], pinned: 'yes' })
    expect(err.split('\n')).toEqual([
      expect.stringContaining('installing'),
      expect.stringContaining('installed'),
      '',
    ])
    expect(status).toBe(0)
    expect(await readFile(join(root, 'npm-calls'), 'utf8')).toMatch(/^ci --omit=dev .*\n$/)

    const second = await finish(['account'])
    expect(second.err).toBe('')
    expect(await npmCalls()).toBe(1)
  })

  it('are installed again when the lock file has changed', async () => {
    await finish(['account'])
    await write('package-lock.json', '{"changed":true}')
    await finish(['account'])
    await finish(['account'])
    expect(await npmCalls()).toBe(2)
  })

  it('are what the server needs, until tests, checks and benchmarks ask for the rest', async () => {
    await finish(['account'])
    expect(existsSync(join(root, 'node_modules', 'vitest'))).toBe(false)
    await write('node_modules/in-use', '')
    expect((await finish(['check'])).status).toBe(0)
    // What a server may run on just now is still there.
    expect(existsSync(join(root, 'node_modules', 'in-use'))).toBe(true)
    for (const command of ['account', 'test', 'check']) await finish([command])
    expect(await readFile(join(root, 'npm-calls'), 'utf8')).toMatch(
      /^ci --omit=dev .*\ninstall --no-save --include=dev .*\n$/,
    )
  })

  it('are all installed at once where tests come first', async () => {
    await finish(['check'])
    expect((await finish(['account'])).err).toBe('')
    expect(await readFile(join(root, 'npm-calls'), 'utf8')).toMatch(/^ci --include=dev .*\n$/)
  })

  it('are whole for both of a server and tests that start at once', async () => {
    const both = await Promise.all([['account'], ['check']].map((args) => finish(args, { NPM_SECONDS: '1' })))
    expect(both.map(({ status }) => status)).toEqual([0, 0])
    expect(existsSync(join(root, 'node_modules', 'vitest', 'vitest.mjs'))).toBe(true)
    expect((await finish(['check'])).err).toBe('')
  })

  it('show how far they are while they take long', async () => {
    const packages = {
      '': {},
      'node_modules/pg': {},
      'node_modules/jose': {},
      'node_modules/vitest': { dev: true },
    }
    await write('package-lock.json', JSON.stringify({ packages }))
    const { err } = await finish(['account'], { NPM_SECONDS: '4', NPM_SHOWS: 'yes' })
    expect(err).toMatch(/\n(?:crosspoint: 1 of 2 packages after \d+ s\n)+crosspoint: installed in \d+ s\n$/)
  })

  it('come without what the package of the runtime has besides its program', async () => {
    await finish(['account'])
    expect(existsSync(join(root, 'node_modules', 'node', 'bin', 'node'))).toBe(true)
    expect(existsSync(join(root, 'node_modules', 'node', 'node_modules'))).toBe(false)
  })

  it('are not installed through a link, which others work with', async () => {
    await mkdir(join(root, 'of-others'))
    await write('of-others/in-use', '')
    await symlink(join(root, 'of-others'), join(root, 'node_modules'))
    const { status, err } = await finish(['account'])
    expect([status, err]).toEqual([1, expect.stringContaining('is a link')])
    expect(existsSync(join(root, 'of-others', 'in-use'))).toBe(true)
    expect(existsSync(join(root, 'npm-calls'))).toBe(false)
  })

  it('stop the command when they cannot be installed, and say all that npm said', async () => {
    const failed = await finish(['account'], { NPM_FAILS: 'yes' })
    expect(failed.status).toBe(1)
    expect(failed.out).toBe('')
    expect(failed.err).toContain('npm says much\nnpm error: the registry is away\n')
    expect(failed.err).toContain('npm failed with status 7')
    expect((await finish(['account'])).status).toBe(0)
  })

  it('are installed by one of two that start at once, while the other waits', async () => {
    const both = await Promise.all([1, 2].map(() => finish(['account'], { NPM_SECONDS: '5' })))
    expect(both.map(({ status }) => status)).toEqual([0, 0])
    expect(both.filter(({ err }) => err.includes('waiting'))).toHaveLength(1)
    expect(await npmCalls()).toBe(1)
  })

  it('are installed although a killed launcher left its lock', async () => {
    await mkdir(join(root, '.installing'))
    expect((await finish(['account'])).status).toBe(0)
    expect(existsSync(join(root, '.installing'))).toBe(false)
  })

  it('leave no lock and no npm behind when stopped halfway', async () => {
    const run = start(['serve'], { NPM_SECONDS: '5' })
    await expect.poll(() => npmCalls(), { timeout: 10_000 }).toBe(1)
    run.child.kill('SIGTERM')
    expect(await run.status).toBe(128 + 15)
    expect(run.out).toBe('')
    expect(existsSync(join(root, '.installing'))).toBe(false)
    expect(existsSync(join(root, 'node_modules'))).toBe(false)
  })
})

describe('a package', () => {
  /** The launcher where a package manager puts it, with the runtime beside the package. */
  const installPackage = async () => {
    const folder = join(root, 'app', 'node_modules', 'crosspoint')
    for (const name of ['scripts', 'bin']) await cp(join(root, name), join(folder, name), { recursive: true })
    const runtime = join(folder, '..', 'node', 'bin')
    await mkdir(runtime, { recursive: true })
    await writeFile(join(runtime, 'node'), '#!/bin/sh\nPINNED=yes exec "$REAL_NODE" "$@"\n', { mode: 0o755 })
    return folder
  }

  it('runs on the pinned runtime beside it, and installs nothing', async () => {
    const folder = await installPackage()
    const run = start(['account'], {}, folder)
    expect(await run.status).toBe(0)
    expect(JSON.parse(run.out)).toEqual({ args: ['account'], pinned: 'yes' })
    expect(run.err).toBe('')
    expect(existsSync(join(folder, 'npm-calls'))).toBe(false)
  })
})

describe('the end of a command', () => {
  beforeEach(async () => {
    await finish(['account'])
  })

  it.each([0, 1, 42])('passes on exit status %i', async (status) => {
    expect((await finish(['exit', String(status)])).status).toBe(status)
  })

  it('becomes 128 and the number of the signal that killed it', async () => {
    expect((await finish(['die', 'SIGKILL'])).status).toBe(128 + 9)
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('follows %s sent to the launcher', async (signal) => {
    const run = await startedServer()
    run.child.kill(signal)
    expect(await run.status).toBe(0)
    expect(run.out).toBe(`ready\nends after ${signal}\n`)
  })

  it('of the server comes from a process whose memory is bounded', async () => {
    const run = await startedServer({ TELL: 'yes' })
    run.child.kill('SIGTERM')
    await run.status
    expect(run.out).toContain(
      '--min-semi-space-size=4 --max-semi-space-size=8 --no-parallel-scavenge 4194304 4194304 2\n',
    )
  })

  it('reaches a server whose launcher is killed without a chance to tell', async () => {
    const run = await startedServer()
    run.child.kill('SIGKILL')
    // The pipe closes when the last process that holds it has ended: the server.
    expect(await run.status).toBe(null)
    expect(run.out).toBe('ready\nends after disconnect\n')
  })
})

describe('the tests with other programs', () => {
  it('run one file at a time, with the counts of the goals but where the environment says others', async () => {
    const { status, out } = await finish(['machines'], { TELL: 'yes', CROSSPOINT_TEST_FAILOVERS: '2' })
    const [counts = '', args = ''] = out.trim().split('\n')
    expect(JSON.parse(counts)).toEqual({
      CROSSPOINT_TEST_ARCHIVE_KILLS: '40',
      CROSSPOINT_TEST_BACKUPS: '20',
      CROSSPOINT_TEST_COORDINATOR_CRASHES: '10',
      CROSSPOINT_TEST_FAILOVERS: '2',
      CROSSPOINT_TEST_FAILOVER_CREATES: '500',
      CROSSPOINT_TEST_FEED_EVENTS: '100000',
      CROSSPOINT_TEST_ROLLING_RESTARTS: '40',
      CROSSPOINT_TEST_WORKER_AWAY_SECONDS: '60',
    })
    expect(args).toMatch(/^run test\/\S+\.test\.ts .* --no-file-parallelism$/)
    expect(status).toBe(0)
  })

  it('run those that are named', async () => {
    const { out } = await finish(['machines', 'test/ops.test.ts'], { TELL: 'yes' })
    expect(out.trim().split('\n')[1]).toBe('run test/ops.test.ts --no-file-parallelism')
  })
})

describe('the quick check', () => {
  it('runs format and lint, types, and the tests on SQLite', async () => {
    const { status, out } = await finish(['check'], { ENGINE: 'postgres' })
    expect(out).toBe(`biome on postgres\n${'tsc on postgres\n'.repeat(3)}vitest on sqlite\n`)
    expect(status).toBe(0)
  })

  it('ends with the first step that fails', async () => {
    const { status, out } = await finish(['check'], { ENGINE: 'sqlite', FAILING: 'tsc' })
    expect(out).toBe('biome on sqlite\ntsc on sqlite\n')
    expect(status).toBe(3)
  })
})
