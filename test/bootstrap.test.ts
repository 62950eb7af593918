// The launcher in a separate folder, with a fake npm: no network, no real packages.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test as base, describe, expect } from 'vitest'
import { eventually } from './support/run/eventually.ts'
import { inFullRun, isFullRun } from './support/run/run-length.ts'
import { someOf } from './support/world/walk.ts'

const scripts = join(import.meta.dirname, '..', 'scripts')
const waitLimitMs = 120_000

const runtime = `node_modules/node-${process.platform}-${process.arch}`

// `wait` ends when the test creates the file, or when the test is over and its folder is gone.
const fakeNpm = `#!/bin/sh
echo "$@" >> npm-calls
echo $$ >> "$TEST_ROOT/pids"
wait() { while [ ! -e "$1" ] && [ -d "$TEST_ROOT" ]; do sleep 0.1; done; }
echo "npm says much"
if [ -n "$NPM_FAILS" ]; then echo "npm error: the registry is away" >&2; exit 7; fi
if [ -n "$NPM_SHOWS" ]; then mkdir -p node_modules/pg; echo '{}' > node_modules/pg/package.json; fi
if [ -n "$NPM_WAITS" ]; then wait "$TEST_ROOT/npm-may-end"; fi
if [ "$1" = ci ]; then rm -rf node_modules; fi
mkdir -p node_modules
if [ -n "$TOOLS_WAIT" ] && [ "$PWD" != "$TEST_ROOT" ]; then wait "$TEST_ROOT/tools-may-end"; fi
if [ -n "$TOOLS_FAIL" ] && [ "$PWD" != "$TEST_ROOT" ]; then echo "npm error: the registry is away" >&2; exit 7; fi
if [ -n "$NPM_SKIPS_RUNTIME" ]; then exit 0; fi
mkdir -p ${runtime}/bin ${runtime}/include ${runtime}/share node_modules/pg
printf '#!/bin/sh\\nPINNED=yes exec "%s" "$@"\\n' "$REAL_NODE" > ${runtime}/bin/node
chmod +x ${runtime}/bin/node
touch ${runtime}/LICENSE node_modules/pg/index.js.map node_modules/pg/README.md node_modules/pg/LICENSE.md
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
if (command === 'serve' && value === '--help') console.log('help of the server')
else if (command === 'serve') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(signal))
  process.on('disconnect', () => end('disconnect'))
  if (process.env.TELL) console.log(...process.execArgv, process.env.MALLOC_MMAP_THRESHOLD_, process.env.MALLOC_TRIM_THRESHOLD_, process.env.MALLOC_ARENA_MAX)
  console.log('ready' + (import.meta.url.includes('/dist/') ? ' from the bundle' : ''))
  if (process.env.SERVER_FAILS) process.exit(5)
} else if (command === 'exit') process.exit(Number(value))
else if (command === 'die') process.kill(process.pid, value)
else console.log(JSON.stringify({ args: process.argv.slice(2), pinned: process.env.PINNED ?? 'no' }))
`

// It leaves a half-built folder while it runs, as the real one does.
const fakeBuild = `import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { builtStampFile, sourceStamp } from './face-sources.mjs'
const making = 'console/dist.' + process.pid
mkdirSync(making, { recursive: true })
writeFileSync(making + '/index.html', readFileSync('console/src/main.tsx', 'utf8') + ' ' + process.env.PINNED + ' ' + getPriority())
appendFileSync(process.env.TEST_ROOT + '/pids', process.pid + '\\n')
while (process.env.BUILD_WAITS && !existsSync('build-may-end') && existsSync(process.env.TEST_ROOT)) await new Promise((resolve) => setTimeout(resolve, 20))
if (process.env.BUILD_FAILS) throw new Error('the sources make no sense')
writeFileSync(builtStampFile(making), await sourceStamp('.'))
renameSync(making, 'console/dist')
`

const fakeBundle = `import { cpSync } from 'node:fs'
import { bundleOf } from './bundle.mjs'
cpSync('bin/crosspoint.mjs', bundleOf('.') + '/crosspoint.js')
`

const launcherIn = async (root: string) => {
  const started: ChildProcess[] = []

  const write = async (path: string, text: string) => writeFile(join(root, path), text)
  const has = (path: string) => existsSync(join(root, path))

  const start = (args: string[], env: Record<string, string> = {}, folder = root) => {
    const path = [join(root, 'fake'), process.env.PATH].join(delimiter)
    const child = spawn(process.execPath, [join(folder, 'scripts', 'bootstrap.mjs'), ...args], {
      cwd: folder,
      env: { PATH: path, REAL_NODE: process.execPath, TEST_ROOT: root, ...env },
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
  type Run = ReturnType<typeof start>

  const finish = async (args: string[], env?: Record<string, string>) => {
    const run = start(args, env)
    return { status: await run.status, out: run.out, err: run.err }
  }

  const npmCalls = async (folder = '.') =>
    (await readFile(join(root, folder, 'npm-calls'), 'utf8').catch(() => '')).split('\n').length - 1

  /** Waits for text on standard error. */
  const reported = (run: Run, text: string) =>
    eventually(
      () => run.err,
      (err) => err.includes(text),
      waitLimitMs,
    )

  const startedServer = async (env?: Record<string, string>) => {
    const run = start(['serve'], env)
    await eventually(
      () => run.out,
      (out) => out.includes('ready'),
      waitLimitMs,
    )
    return run
  }

  const end = async (run: Run, signal: NodeJS.Signals = 'SIGTERM') => {
    run.child.kill(signal)
    return run.status
  }

  /** Processes of npm and of builds that still run. */
  const running = async () => {
    const pids = (await readFile(join(root, 'pids'), 'utf8').catch(() => '')).trim().split('\n')
    return pids.filter((pid) => {
      try {
        return pid !== '' && process.kill(Number(pid), 0)
      } catch {
        return false
      }
    })
  }

  await Promise.all(['scripts', 'bin', 'fake'].map((folder) => mkdir(join(root, folder))))
  for (const name of readdirSync(scripts).filter((found) => found.endsWith('.mjs')))
    await copyFile(join(scripts, name), join(root, 'scripts', name))
  await write('fake/npm', fakeNpm)
  await chmod(join(root, 'fake', 'npm'), 0o755)
  // The tools of an installation are scripts of either module system; this text is valid in both.
  await write('tool.cjs', fakeTool)
  await write('bin/crosspoint.mjs', fakeServer)
  await write('package.json', '{"type":"module"}')
  await write('package-lock.json', '{}')

  return {
    root,
    write,
    has,
    start,
    finish,
    npmCalls,
    reported,
    startedServer,
    end,
    running,
    killAll: () => {
      for (const child of started) child.kill('SIGKILL')
    },
  }
}

type Launcher = Awaited<ReturnType<typeof launcherIn>>

/** Starts commands while a slow npm installs, and lets it end when one of them waits. */
const finishTogether = async (launcher: Launcher, ...commands: string[][]) => {
  const started = commands.map((args) => launcher.start(args, { NPM_WAITS: 'yes' }))
  await eventually(
    () => started.some(({ err }) => err.includes('waiting')),
    (isWaiting) => isWaiting,
    waitLimitMs,
  )
  await launcher.write('npm-may-end', '')
  expect(await Promise.all(started.map(({ status }) => status))).toEqual(commands.map(() => 0))
  return started
}

const it = base.extend<{ launcher: Launcher }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures that are needed from the pattern
  launcher: async ({}, use) => {
    const root = await mkdtemp(join(tmpdir(), 'crosspoint-bootstrap-'))
    const launcher = await launcherIn(root)
    await use(launcher)
    launcher.killAll()
    await rm(root, { recursive: true, force: true })
  },
})

describe.concurrent('the console', () => {
  const withConsole = it.extend<{ launcher: Launcher }>({
    launcher: async ({ launcher }, use) => {
      await mkdir(join(launcher.root, 'console', 'src'), { recursive: true })
      await launcher.write('console/package-lock.json', '{}')
      await launcher.write('console/src/main.tsx', 'one')
      await launcher.write('console/tool.cjs', fakeTool)
      await launcher.write('scripts/build-faces.mjs', fakeBuild)
      await use(launcher)
    },
  })

  const built = ({ root }: Launcher) => readFile(join(root, 'console', 'dist', 'index.html'), 'utf8')
  const state = async ({ root }: Launcher) =>
    JSON.parse(await readFile(join(root, 'console', '.build-state.json'), 'utf8'))

  const untilBuilding = ({ root }: Launcher) =>
    eventually(
      () => readdirSync(join(root, 'console')),
      (names) => names.some((name) => /^dist\.\d+$/.test(name)),
      waitLimitMs,
    )

  const untilIdle = (launcher: Launcher) =>
    eventually(
      () => launcher.has('.installing') || launcher.has('console/.build-state.json'),
      (isBusy) => !isBusy,
      waitLimitMs,
    )

  /** Nothing of a build is left, except what it has built. */
  const expectNoTraces = async (launcher: Launcher) => {
    expect(await launcher.running()).toEqual([])
    expect(launcher.has('.installing')).toBe(false)
    const names = readdirSync(join(launcher.root, 'console'))
    expect(names.filter((name) => /^(\.build-state|node_modules|dist\.)/.test(name))).toEqual([])
  }

  withConsole('is built once, while the server runs, with low priority', async ({ launcher }) => {
    const run = await launcher.startedServer({ BUILD_WAITS: 'yes' })
    await untilBuilding(launcher)
    expect(await state(launcher)).toEqual({ pid: expect.any(Number), startedMs: expect.any(Number) })
    await launcher.write('build-may-end', '')
    await launcher.reported(run, 'the console is ready after')
    expect(await built(launcher)).toBe('one yes 10')
    await untilIdle(launcher)
    expect(await launcher.end(run)).toBe(0)
    await expectNoTraces(launcher)
    const second = await launcher.startedServer()
    expect(await launcher.end(second)).toBe(0)
    expect(second.err).toBe('')
    expect(await launcher.npmCalls('console')).toBe(1)
  })

  inFullRun(() => {
    withConsole('is described as being built before the server starts', async ({ launcher }) => {
      const run = launcher.start(['serve'], { TOOLS_WAIT: 'yes' })
      await eventually(
        () => run.out,
        (out) => out.includes('ready'),
        waitLimitMs,
      )
      expect(await state(launcher)).not.toHaveProperty('failure')
      expect(await launcher.end(run)).toBe(0)
    })

    withConsole('is built again when its sources have changed', async ({ launcher }) => {
      const first = await launcher.startedServer()
      await launcher.reported(first, 'the console is ready after')
      await launcher.end(first)
      await launcher.write('console/src/main.tsx', 'two')
      await rm(join(launcher.root, 'console', 'dist'), { recursive: true })
      const second = await launcher.startedServer()
      await launcher.reported(second, 'the console is ready after')
      expect(await built(launcher)).toBe('two yes 10')
      await launcher.end(second)
    })
  })

  inFullRun(() => {
    withConsole('is built with the tools of developers, which stay', async ({ launcher }) => {
      expect((await launcher.finish(['check'])).status).toBe(0)
      expect(await built(launcher)).toBe('one yes 0')
      await launcher.write('console/src/main.tsx', 'two')
      await rm(join(launcher.root, 'console', 'dist'), { recursive: true })
      const run = await launcher.startedServer()
      await launcher.reported(run, 'the console is ready after')
      await launcher.end(run)
      expect(await launcher.npmCalls('console')).toBe(1)
      expect(launcher.has('console/node_modules/.crosspoint-stamp')).toBe(true)
    })
  })

  inFullRun(() => {
    withConsole('is not built for commands that do not show it, nor for help', async ({ launcher }) => {
      await launcher.finish(['account'])
      expect((await launcher.finish(['serve', '--help'])).out).toBe('help of the server\n')
      expect(launcher.has('console/dist')).toBe(false)
      expect([await launcher.npmCalls(), await launcher.npmCalls('console')]).toEqual([1, 0])
    })

    withConsole('is not built where a package brought it, without sources', async ({ launcher }) => {
      await rm(join(launcher.root, 'console', 'package-lock.json'))
      const run = await launcher.startedServer()
      await launcher.end(run)
      expect(await launcher.npmCalls()).toBe(1)
      expect(run.err).not.toContain('console')
    })
  })

  const failures = [
    ['the build fails', { BUILD_FAILS: 'yes' }, 'the sources make no sense'],
    ['its tools cannot be installed', { TOOLS_FAIL: 'yes' }, 'the registry is away'],
  ] as const
  withConsole.for(someOf(1, failures))(
    'leaves the server alone when %s',
    async ([, env, cause], { launcher }) => {
      const run = await launcher.startedServer(env)
      await launcher.reported(run, 'To try again, stop the server and run `npm start`')
      expect(run.err).toContain(cause)
      expect(run.err).toContain('The API is not affected')
      expect(await state(launcher)).toMatchObject({ failure: expect.stringContaining('failed with status') })
      expect(launcher.has('console/node_modules')).toBe(false)
      expect(launcher.has('console/dist')).toBe(false)
      expect(await launcher.end(run)).toBe(0)
      expect(run.out).toBe('ready\nends after SIGTERM\n')
      // Tests do not run on an older console.
      expect((await launcher.finish(['test'], env)).status).toBe(1)

      const again = await launcher.startedServer()
      await launcher.reported(again, 'the console is ready after')
      await untilIdle(launcher)
      await launcher.end(again)
    },
  )

  inFullRun(() => {
    withConsole(
      'is built by one of two processes that start at the same time, while both serve',
      async ({ launcher }) => {
        const both = await Promise.all([1, 2].map(() => launcher.startedServer({ BUILD_WAITS: 'yes' })))
        await untilBuilding(launcher)
        await launcher.write('build-may-end', '')
        await untilIdle(launcher)
        for (const run of both) await launcher.end(run)
        expect(both.filter(({ err }) => err.includes('building the console'))).toHaveLength(1)
        expect(await built(launcher)).toBe('one yes 10')
      },
    )
  })

  inFullRun(() => {
    withConsole('is built by the second of two when the first one is stopped', async ({ launcher }) => {
      const first = await launcher.startedServer({ TOOLS_WAIT: 'yes' })
      await launcher.reported(first, 'installing the build tools')
      const second = await launcher.startedServer()
      await launcher.reported(second, 'waiting for another process')
      await launcher.end(first)
      await launcher.reported(second, 'the console is ready after')
      await untilIdle(launcher)
      await launcher.end(second)
    })

    withConsole('is built before tests that start during the build', async ({ launcher }) => {
      const run = await launcher.startedServer({ BUILD_WAITS: 'yes' })
      await untilBuilding(launcher)
      const tests = launcher.start(['test'])
      await launcher.reported(tests, 'waiting for another process')
      await launcher.write('build-may-end', '')
      expect(await tests.status).toBe(0)
      expect(await launcher.end(run)).toBe(0)
      expect(await built(launcher)).toBe('one yes 10')
    })
  })

  withConsole.for(someOf(1, ['SIGTERM', 'SIGINT'] as const))(
    'leaves nothing half-built when %s stops the server during the build',
    async (signal, { launcher }) => {
      const run = await launcher.startedServer({ BUILD_WAITS: 'yes' })
      await untilBuilding(launcher)
      expect(await launcher.end(run, signal)).toBe(0)
      expect(run.out).toBe(`ready\nends after ${signal}\n`)
      await expectNoTraces(launcher)
      expect(launcher.has('console/dist')).toBe(false)
    },
  )

  inFullRun(() => {
    withConsole('leaves nothing when stopped during the installation of its tools', async ({ launcher }) => {
      const run = await launcher.startedServer({ TOOLS_WAIT: 'yes' })
      await eventually(
        () => launcher.npmCalls('console'),
        (calls) => calls === 1,
        waitLimitMs,
      )
      expect(await launcher.end(run)).toBe(0)
      await expectNoTraces(launcher)
    })
  })

  inFullRun(() => {
    withConsole('is given up when the launcher is killed', async ({ launcher }) => {
      const run = await launcher.startedServer({ BUILD_WAITS: 'yes' })
      await untilBuilding(launcher)
      // The pipe closes when the last process that holds it has ended: the server or the build.
      expect(await launcher.end(run, 'SIGKILL')).toBe(null)
      await expectNoTraces(launcher)
    })
  })

  inFullRun(() => {
    withConsole('is given up when the server fails', async ({ launcher }) => {
      const run = await launcher.startedServer({ BUILD_WAITS: 'yes', SERVER_FAILS: 'yes' })
      expect(await run.status).toBe(5)
      await expectNoTraces(launcher)
    })

    withConsole('is followed by the bundle, from which the next start runs', async ({ launcher }) => {
      await mkdir(join(launcher.root, 'src'))
      await launcher.write('src/main.ts', '')
      await launcher.write('scripts/build-bundle.mjs', fakeBundle)
      const first = await launcher.startedServer()
      await launcher.reported(first, 'the console is ready after')
      await untilIdle(launcher)
      await launcher.end(first)
      const second = await launcher.startedServer()
      await launcher.end(second)
      expect([first.out, second.out]).toEqual([
        'ready\nends after SIGTERM\n',
        'ready from the bundle\nends after SIGTERM\n',
      ])
    })
  })
})

describe.concurrent('the dependencies', () => {
  it('are installed once, before the command runs on the pinned runtime', async ({ launcher }) => {
    const { status, out, err } = await launcher.finish(['account', '--name', 'a b'])
    expect(JSON.parse(out)).toEqual({ args: ['account', '--name', 'a b'], pinned: 'yes' })
    expect(err.split('\n')).toEqual([
      expect.stringContaining('installing'),
      expect.stringContaining('installed'),
      '',
    ])
    expect(status).toBe(0)
    expect(await readFile(join(launcher.root, 'npm-calls'), 'utf8')).toMatch(
      /^ci --omit=dev --ignore-scripts .*\n$/,
    )

    const second = await launcher.finish(['account'])
    expect(second.err).toBe('')
    expect(await launcher.npmCalls()).toBe(1)
  })

  inFullRun(() => {
    it('are installed again when the lock file has changed', async ({ launcher }) => {
      await launcher.finish(['account'])
      await launcher.write('package-lock.json', '{"changed":true}')
      await launcher.finish(['account'])
      await launcher.finish(['account'])
      expect(await launcher.npmCalls()).toBe(2)
    })
  })

  it('are what the server needs, until tests, checks and benchmarks ask for the rest', async ({
    launcher,
  }) => {
    await launcher.finish(['account'])
    expect(existsSync(join(launcher.root, 'node_modules', 'vitest'))).toBe(false)
    await launcher.write('node_modules/in-use', '')
    expect((await launcher.finish(['check'])).status).toBe(0)
    // A running server may use the file.
    expect(existsSync(join(launcher.root, 'node_modules', 'in-use'))).toBe(true)
    for (const command of ['account', 'test', 'check']) await launcher.finish([command])
    expect(await readFile(join(launcher.root, 'npm-calls'), 'utf8')).toMatch(
      /^ci --omit=dev .*\ninstall --no-save --include=dev .*\n$/,
    )
  })

  inFullRun(() => {
    it('are all installed where tests come first', async ({ launcher }) => {
      await launcher.finish(['check'])
      expect((await launcher.finish(['account'])).err).toBe('')
      expect(await readFile(join(launcher.root, 'npm-calls'), 'utf8')).toMatch(/^ci --include=dev .*\n$/)
    })

    it('are complete for a server and for tests that start at the same time', async ({ launcher }) => {
      await finishTogether(launcher, ['account'], ['check'])
      expect(existsSync(join(launcher.root, 'node_modules', 'vitest', 'vitest.mjs'))).toBe(true)
      expect((await launcher.finish(['check'])).err).toBe('')
    })

    it('report progress during a long installation', async ({ launcher }) => {
      const packages = {
        '': {},
        'node_modules/pg': {},
        'node_modules/jose': {},
        'node_modules/vitest': { dev: true },
      }
      await launcher.write('package-lock.json', JSON.stringify({ packages }))
      const run = launcher.start(['account'], { NPM_WAITS: 'yes', NPM_SHOWS: 'yes' })
      await launcher.reported(run, '1 of 2 packages')
      await launcher.write('npm-may-end', '')
      expect(await run.status).toBe(0)
      expect(run.err).toMatch(
        /\n(?:crosspoint: 1 of 2 packages after \d+ s\n)+crosspoint: installed in \d+ s\n$/,
      )
    })

    it('come without headers and manuals of the runtime, and for a server without maps and manuals', async ({
      launcher,
    }) => {
      await launcher.finish(['account'])
      expect(readdirSync(join(launcher.root, runtime)).toSorted()).toEqual(['LICENSE', 'bin'])
      expect(readdirSync(join(launcher.root, 'node_modules/pg'))).toEqual(['LICENSE.md'])
      await rm(join(launcher.root, 'node_modules'), { recursive: true })
      await launcher.finish(['check'])
      expect(readdirSync(join(launcher.root, runtime)).toSorted()).toEqual(['LICENSE', 'bin'])
      expect(launcher.has('node_modules/pg/index.js.map')).toBe(true)
    })

    it('are incomplete when npm left out the runtime of this platform', async ({ launcher }) => {
      await launcher.write(
        'package-lock.json',
        JSON.stringify({ packages: { [runtime]: { optional: true } } }),
      )
      const { status, err } = await launcher.finish(['account'], { NPM_SKIPS_RUNTIME: 'yes' })
      expect([status, err]).toEqual([1, expect.stringContaining('Check the connection to the registry')])
      expect((await launcher.finish(['account'])).status).toBe(0)
    })
  })

  it('are not installed through a link to another checkout', async ({ launcher }) => {
    await mkdir(join(launcher.root, 'of-others'))
    await launcher.write('of-others/in-use', '')
    await symlink(join(launcher.root, 'of-others'), join(launcher.root, 'node_modules'))
    const { status, err } = await launcher.finish(['account'])
    expect([status, err]).toEqual([1, expect.stringContaining('is a link')])
    expect(existsSync(join(launcher.root, 'of-others', 'in-use'))).toBe(true)
    expect(existsSync(join(launcher.root, 'npm-calls'))).toBe(false)
  })

  it('stop the command when they cannot be installed, and print all output of npm', async ({ launcher }) => {
    const failed = await launcher.finish(['account'], { NPM_FAILS: 'yes' })
    expect(failed.status).toBe(1)
    expect(failed.out).toBe('')
    expect(failed.err).toContain('npm says much\nnpm error: the registry is away\n')
    expect(failed.err).toContain('npm failed with status 7')
    expect((await launcher.finish(['account'])).status).toBe(0)
  })

  it('are installed by one of two processes that start at the same time, while the other waits', async ({
    launcher,
  }) => {
    const both = await finishTogether(launcher, ['account'], ['account'])
    expect(both.filter(({ err }) => err.includes('waiting'))).toHaveLength(1)
    expect(await launcher.npmCalls()).toBe(1)
  })

  inFullRun(() => {
    it('are installed although a killed launcher left its lock', async ({ launcher }) => {
      await mkdir(join(launcher.root, '.installing'))
      expect((await launcher.finish(['account'])).status).toBe(0)
      expect(existsSync(join(launcher.root, '.installing'))).toBe(false)
    })
  })

  it('leave no lock and no npm behind when stopped halfway', async ({ launcher }) => {
    const run = launcher.start(['serve'], { NPM_WAITS: 'yes' })
    await eventually(
      () => launcher.npmCalls(),
      (calls) => calls === 1,
      waitLimitMs,
    )
    run.child.kill('SIGTERM')
    expect(await run.status).toBe(128 + 15)
    expect(run.out).toBe('')
    expect(await launcher.running()).toEqual([])
    expect(existsSync(join(launcher.root, '.installing'))).toBe(false)
    expect(existsSync(join(launcher.root, 'node_modules'))).toBe(false)
  })
})

describe.concurrent('a package', () => {
  /** The launcher in the folder of a package manager, with the runtime next to the package. */
  const installPackage = async ({ root }: Launcher) => {
    const folder = join(root, 'app', 'node_modules', 'crosspoint')
    for (const name of ['scripts', 'bin']) await cp(join(root, name), join(folder, name), { recursive: true })
    const bin = join(folder, '..', '..', runtime, 'bin')
    await mkdir(bin, { recursive: true })
    await writeFile(join(bin, 'node'), '#!/bin/sh\nPINNED=yes exec "$REAL_NODE" "$@"\n', { mode: 0o755 })
    return folder
  }

  it('runs on the pinned runtime next to it, and installs nothing', async ({ launcher }) => {
    const folder = await installPackage(launcher)
    const run = launcher.start(['account'], {}, folder)
    expect(await run.status).toBe(0)
    expect(JSON.parse(run.out)).toEqual({ args: ['account'], pinned: 'yes' })
    expect(run.err).toBe('')
    expect(existsSync(join(folder, 'npm-calls'))).toBe(false)
  })
})

describe.concurrent('the end of a command', () => {
  it.for(isFullRun ? [0, 1, 42] : [42])('passes on exit status %i', async (status, { launcher }) => {
    expect((await launcher.finish(['exit', String(status)])).status).toBe(status)
  })

  it('becomes 128 and the number of the signal that killed it', async ({ launcher }) => {
    expect((await launcher.finish(['die', 'SIGKILL'])).status).toBe(128 + 9)
  })

  it.for(someOf(1, ['SIGTERM', 'SIGINT', 'SIGHUP'] as const))(
    'follows %s sent to the launcher',
    async (signal, { launcher }) => {
      const run = await launcher.startedServer()
      run.child.kill(signal)
      expect(await run.status).toBe(0)
      expect(run.out).toBe(`ready\nends after ${signal}\n`)
    },
  )

  inFullRun(() => {
    it('of the server comes from a process whose memory is bounded', async ({ launcher }) => {
      const run = await launcher.startedServer({ TELL: 'yes' })
      run.child.kill('SIGTERM')
      await run.status
      expect(run.out).toContain(
        '--min-semi-space-size=2 --max-semi-space-size=8 --no-parallel-scavenge 4194304 4194304 2\n',
      )
    })
  })

  it('reaches a server whose launcher is killed', async ({ launcher }) => {
    const run = await launcher.startedServer()
    run.child.kill('SIGKILL')
    // The pipe closes when the last process that holds it has ended: the server.
    expect(await run.status).toBe(null)
    expect(run.out).toBe('ready\nends after disconnect\n')
  })
})

inFullRun(() => {
  describe.concurrent('a wrong option', () => {
    base.for(['bench', 'attack'])(
      'of %s is refused in one line, which names the known ones',
      async (command) => {
        for (const option of ['--nonsense', '--engine=none']) {
          const run = spawn(process.execPath, [join(scripts, '..', command, 'run.ts'), option])
          const [err, [status]] = await Promise.all([text(run.stderr), once(run, 'close')])
          expect(status).toBe(2)
          expect(err).toMatch(
            /^[^\n]*(nonsense|engine: wrong value)[^\n]* Options: [^\n]*--engine, [^\n]*\n$/,
          )
        }
      },
    )
  })
})

describe.concurrent('help', () => {
  it.for(someOf(1, ['test', 'test:all', 'test:chance', 'check', 'generate', 'bench', 'attack', 'docs']))(
    'of %s is printed without installing anything',
    async (command, { launcher }) => {
      const { status, out, err } = await launcher.finish([command, command === 'test' ? '-h' : '--help'])
      expect([status, err]).toEqual([0, ''])
      expect(out).toMatch(/^usage: npm (test|run \S+)/)
      expect(launcher.has('npm-calls')).toBe(false)
    },
  )

  inFullRun(() => {
    it('of a command of the server comes from the server', async ({ launcher }) => {
      const { status, out } = await launcher.finish(['account', '--help'])
      expect([status, JSON.parse(out).args]).toEqual([0, ['account', '--help']])
    })

    it('is for the launcher only what comes before --', async ({ launcher }) => {
      const { out } = await launcher.finish(['test', '--', '--help'])
      expect(out).toContain('vitest on')
    })
  })
})

inFullRun(() => {
  describe.concurrent('the tests', () => {
    it('are short where they can be long, unless all is asked for', async ({ launcher }) => {
      const short = await launcher.finish(['test', 'test/api'], { TELL: 'yes' })
      expect([short.status, short.out]).toEqual([0, '{}\nrun test/api\n'])
      const all = await launcher.finish(['test:all', 'test/api'], { TELL: 'yes' })
      expect([all.status, all.out]).toEqual([0, '{"CROSSPOINT_TEST_LENGTH":"all"}\nrun test/api\n'])
    })
  })
})

describe.concurrent('the quick check', () => {
  it('runs format and lint, types, and the tests on SQLite', async ({ launcher }) => {
    const { status, out } = await launcher.finish(['check'], { ENGINE: 'postgres' })
    expect(out).toBe(`biome on postgres\n${'tsc on postgres\n'.repeat(3)}vitest on sqlite\n`)
    expect(status).toBe(0)
  })

  inFullRun(() => {
    it('ends with the first step that fails', async ({ launcher }) => {
      const { status, out } = await launcher.finish(['check'], { ENGINE: 'sqlite', FAILING: 'tsc' })
      expect(out).toBe('biome on sqlite\ntsc on sqlite\n')
      expect(status).toBe(3)
    })
  })
})
