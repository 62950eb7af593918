// Runs on whatever Node a machine has, before anything is installed: brings node_modules in line
// with package-lock.json, then runs the command on the runtime which that lock file pins.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bundleOf, programOf } from './bundle.mjs'
import { needsBuilding } from './face-sources.mjs'
import { environment, nodeOptions } from './server-process.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.crosspoint-stamp')
// Outside node_modules, which `npm ci` empties.
const installLock = join(root, '.installing')
const heartbeatMs = 1000
const pollMs = 200
const abandonedAfterMs = 5000
const oldestUsableNode = 24
const progressMs = 3000

// Everything else runs on what the server needs.
const commandsOfDevelopers = new Set(['test', 'machines', 'check', 'bench', 'attack'])
// Those who show the console, test it, or build with its tools.
const commandsWithFaces = new Set(['serve', 'test', 'machines', 'check', 'docs', 'pack'])

const slowTests = [
  'test/bootstrap.test.ts',
  'test/client/**',
  'test/console/**',
  'test/fuzz/**',
  'test/hostile/**',
  'test/processes/**',
]

// Real servers of other programs, or long: with the counts of the goals, for a machine that does nothing else.
const testsOfMachines = [
  'test/observing/metrics.test.ts',
  'test/observing/ops-files.test.ts',
  'test/observing/outgoing-traces.test.ts',
  'test/ops.test.ts',
  'test/processes/backup-cluster.test.ts',
  'test/processes/backup-load.test.ts',
  'test/processes/call-archive-crash.test.ts',
  'test/processes/citus-outages.test.ts',
  'test/processes/citus.test.ts',
  'test/processes/failover.test.ts',
  'test/processes/feed-crash.test.ts',
  'test/processes/litestream.test.ts',
  'test/processes/message-bus.test.ts',
  'test/processes/patroni.test.ts',
  'test/processes/rolling-restart.test.ts',
  'test/storage/failover.test.ts',
  'test/storage/poolers.test.ts',
]

const countsOfMachines = {
  CROSSPOINT_TEST_ARCHIVE_KILLS: '40',
  CROSSPOINT_TEST_BACKUPS: '20',
  CROSSPOINT_TEST_COORDINATOR_CRASHES: '10',
  CROSSPOINT_TEST_FAILOVERS: '10',
  CROSSPOINT_TEST_FAILOVER_CREATES: '500',
  CROSSPOINT_TEST_FEED_EVENTS: '100000',
  CROSSPOINT_TEST_ROLLING_RESTARTS: '40',
  CROSSPOINT_TEST_WORKER_AWAY_SECONDS: '60',
}

const namesTest = (arg) => /^test\/|\.test\.ts$/.test(arg)

/** The scripts behind a command, run in this order until one fails. */
const stepsOf = (command, args) => {
  const vitest = { script: [join(modules, 'vitest', 'vitest.mjs'), 'run', ...args], cwd: root }
  switch (command) {
    case 'test':
      return [vitest]
    case 'machines':
      return [
        {
          ...vitest,
          // One file at a time: they measure.
          script: [
            ...vitest.script,
            ...(args.some(namesTest) ? [] : testsOfMachines),
            '--no-file-parallelism',
          ],
          // Counts that were asked for stay.
          env: { ...countsOfMachines, ...process.env },
        },
      ]
    case 'check':
      return [
        { script: [join(modules, '@biomejs', 'biome', 'bin', 'biome'), 'check'], cwd: root },
        { script: [join(modules, 'typescript', 'bin', 'tsc'), '--noEmit', '-p', root], cwd: root },
        {
          script: [join(modules, 'typescript', 'bin', 'tsc'), '--noEmit', '-p', join(root, 'console')],
          cwd: root,
        },
        {
          script: [
            join(modules, 'typescript', 'bin', 'tsc'),
            '--noEmit',
            '-p',
            join(root, 'console', 'docs'),
          ],
          cwd: root,
        },
        {
          ...vitest,
          // What starts and kills whole processes, opens browsers, or sends thousands of requests, is for `npm test`.
          script: [...vitest.script, ...slowTests.map((files) => `--exclude=${files}`)],
          env: { CROSSPOINT_TEST_ENGINES: 'sqlite', ENGINE: '' },
        },
      ]
    case 'bench':
      return [{ script: [join(root, 'bench', 'run.ts'), ...args], cwd: root }]
    case 'attack':
      return [{ script: [join(root, 'attack', 'run.ts'), ...args], cwd: root }]
    case 'docs':
      return [{ script: [join(root, 'scripts', 'build-docs.mjs'), ...args] }]
    case 'pack':
      return [{ script: [join(root, 'scripts', 'build-package.mjs')] }]
    case 'serve':
      // Over the channel the server notices that its launcher was killed without a chance to tell.
      return [
        {
          script: [...nodeOptions, programOf(root), command, ...args],
          channel: ['ipc'],
          env: environment,
        },
      ]
    default:
      return [{ script: [programOf(root), ...(command ? [command] : []), ...args] }]
  }
}

let child
let stopSignal
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopSignal ??= signal
    child?.kill(signal)
  })
}

const say = (text) => process.stderr.write(`crosspoint: ${text}\n`)
const statusOfSignal = (signal) => 128 + constants.signals[signal]

const refuseWhenStopped = () => {
  if (stopSignal) throw new Error(`stopped by ${stopSignal}`)
}

const run = (program, args, options, takeOutput) =>
  new Promise((resolve, reject) => {
    refuseWhenStopped()
    child = spawn(program, args, options)
    child.stdout?.on('data', takeOutput)
    child.stderr?.on('data', takeOutput)
    child.on('error', reject)
    child.on('close', (status, signal) => {
      child = undefined
      resolve(signal ? statusOfSignal(signal) : status)
    })
  })

// Native packages differ by platform, so a tree shared with another machine counts as stale.
const stamps = () => {
  const lockFile = readFileSync(join(root, 'package-lock.json'))
  const everything = `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform}-${process.arch}`
  return { everything: `${everything}\n`, serving: `${everything} serving\n` }
}

/** What is there of what the lock file says: `everything`, what `serving` needs, or nothing that is of use. */
const installed = () => {
  if (!existsSync(stampFile)) return undefined
  const stamp = readFileSync(stampFile, 'utf8')
  const { everything, serving } = stamps()
  if (stamp === everything) return 'everything'
  return stamp === serving ? 'serving' : undefined
}

const suffices = (has, wanted) => has === wanted || has === 'everything'

// A lock whose heartbeat stands still was left by a killed process. Polls are counted instead of
// reading the clock, so that a machine waking from sleep does not look like a death.
const takeInstallLock = async () => {
  let seen
  let unchangedMs = 0
  for (let told = false; ; told = true) {
    refuseWhenStopped()
    try {
      return await mkdir(installLock)
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (!told) say('waiting for another process that is installing the dependencies')
    await sleep(pollMs)
    const found = await stat(installLock).catch(() => undefined)
    const heartbeat = found && `${found.ino} ${found.mtimeMs}`
    unchangedMs = heartbeat === seen ? unchangedMs + pollMs : 0
    seen = heartbeat
    if (unchangedMs >= abandonedAfterMs) await rmdir(installLock).catch(() => undefined)
  }
}

const holdingInstallLock = async (work) => {
  await takeInstallLock()
  const beat = () => utimes(installLock, new Date(), new Date()).catch(() => undefined)
  const beating = setInterval(beat, heartbeatMs)
  try {
    await work()
  } finally {
    clearInterval(beating)
    await rmdir(installLock).catch(() => undefined)
  }
}

// `npm start` puts node_modules/.bin first in PATH; npm must not run on what it is about to replace.
const environmentForNpm = () => {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return { ...process.env, PATH: folders.filter((folder) => !folder.startsWith(modules)).join(delimiter) }
}

// Packages for other platforms never arrive: they are not counted.
const packagesFor = (wanted) => {
  const { packages = {} } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.entries(packages).flatMap(([path, { dev, devOptional, optional }]) =>
    path === '' || optional || devOptional || (dev && wanted === 'serving')
      ? []
      : [join(root, path, 'package.json')],
  )
}

const showProgress = (wanted, startedMs) => {
  const packages = packagesFor(wanted)
  const tell = () => {
    const there = packages.filter((file) => existsSync(file)).length
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    say(`${there} of ${packages.length} packages after ${seconds} s`)
  }
  return setInterval(tell, progressMs)
}

// What comes on top is added: a server that runs on what is there keeps it.
const npmArguments = (wanted, has) => {
  const quiet = ['--no-audit', '--no-fund']
  if (wanted === 'serving') return ['ci', '--omit=dev', ...quiet]
  // Whatever NODE_ENV says.
  return has === 'serving'
    ? ['install', '--no-save', '--include=dev', ...quiet]
    : ['ci', '--include=dev', ...quiet]
}

// The package of the runtime brings headers and manuals, and its program a second time, under another name of one file.
const trimRuntime = () => {
  const runtime = join(modules, 'node')
  const program = join(runtime, 'bin', 'node')
  if (existsSync(program) && lstatSync(program).isFile())
    rmSync(join(runtime, 'node_modules'), { recursive: true, force: true })
}

// npm empties what a link leads to, and others work with that.
const refuseLink = (folder) => {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      `${folder} is a link, and what it leads to does not have what is needed: nothing was installed`,
    )
}

const install = async (wanted, has) => {
  refuseLink(modules)
  say(
    `installing the dependencies in package-lock.json: ${wanted === 'serving' ? 'what the server needs' : 'all'}`,
  )
  const startedMs = performance.now()
  const stamp = stamps()[wanted]
  const output = []
  const options = { cwd: root, env: environmentForNpm(), stdio: ['ignore', 'pipe', 'pipe'] }
  const progress = showProgress(wanted, startedMs)
  const status = await run('npm', npmArguments(wanted, has), options, (chunk) => output.push(chunk)).finally(
    () => clearInterval(progress),
  )
  refuseWhenStopped()
  if (status !== 0) {
    process.stderr.write(Buffer.concat(output))
    throw new Error(`npm failed with status ${status}`)
  }
  trimRuntime()
  writeFileSync(stampFile, stamp)
  say(`installed in ${Math.round((performance.now() - startedMs) / 1000)} s`)
}

const makeInstalled = async (wanted) => {
  // A package was installed with what it needs.
  if (!existsSync(join(root, 'package-lock.json')) || suffices(installed(), wanted)) return
  await holdingInstallLock(async () => {
    const has = installed()
    if (!suffices(has, wanted)) await install(wanted, has)
  })
}

const faces = join(root, 'console')
const facesStampFile = join(faces, 'node_modules', '.crosspoint-stamp')

const stampOfFaces = () => {
  const lockFile = readFileSync(join(faces, 'package-lock.json'))
  return `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform}-${process.arch}\n`
}

// A package brings the console built, and nothing to build it with.
const lacksToolsOfFaces = () =>
  existsSync(join(faces, 'package-lock.json')) &&
  !(existsSync(facesStampFile) && readFileSync(facesStampFile, 'utf8') === stampOfFaces())

const runQuietly = async (program, args, cwd) => {
  const output = []
  const options = { cwd, env: environmentForNpm(), stdio: ['ignore', 'pipe', 'pipe'] }
  const status = await run(program, args, options, (chunk) => output.push(chunk))
  refuseWhenStopped()
  if (status === 0) return
  process.stderr.write(Buffer.concat(output))
  throw new Error(`${program} ${args[0]} failed with status ${status}`)
}

// A registry that does not answer must not keep the API away for minutes.
const hurried = ['--fetch-retries=0', '--fetch-timeout=20000']

const installToolsOfFaces = async (isForDevelopers) => {
  if (!lacksToolsOfFaces()) return
  refuseLink(join(faces, 'node_modules'))
  say('installing what builds the console')
  // No script of a package is needed to build; one would tell others about the installation.
  const asked = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  await runQuietly('npm', isForDevelopers ? asked : [...asked, ...hurried], faces)
  writeFileSync(facesStampFile, stampOfFaces())
}

/** The console, the reference and the guides, built when their sources changed. */
const makeFaces = async (runtime, isForDevelopers) => {
  const isMissing = async () => (await needsBuilding(root)) || (isForDevelopers && lacksToolsOfFaces())
  if (!(await isMissing())) return
  await holdingInstallLock(async () => {
    if (!(await isMissing())) return
    const startedMs = performance.now()
    await installToolsOfFaces(isForDevelopers)
    if (await needsBuilding(root)) {
      say('building the console')
      await runQuietly(runtime, [join(root, 'scripts', 'build-faces.mjs')], root)
    }
    say(`the console is built after ${Math.round((performance.now() - startedMs) / 1000)} s`)
  })
}

const lacksBundle = () => existsSync(join(root, 'src')) && !existsSync(bundleOf(root))

/** The code of the server in few files, built when its sources changed. */
const makeBundle = async (runtime) => {
  // Without what builds it, the sources are run.
  if (lacksToolsOfFaces() || !lacksBundle()) return
  await holdingInstallLock(async () => {
    if (lacksBundle()) await runQuietly(runtime, [join(root, 'scripts', 'build-bundle.mjs')], root)
  })
}

/** Builds what a server can do without: whoever only wants the API is not kept from it. */
const tryTo = async (build, command, without) => {
  try {
    await build()
  } catch (error) {
    if (command !== 'serve' || stopSignal) throw error
    say(`${without}: ${error.message}`)
  }
}

const makeBuilt = async (command, runtime) => {
  const isForDevelopers = command !== 'serve'
  await tryTo(() => makeFaces(runtime, isForDevelopers), command, 'the server starts without its console')
  await tryTo(() => makeBundle(runtime), command, 'the server runs from its sources')
}

// What a package needs lies below it, or beside it.
const placesOfPackages = basename(dirname(root)) === 'node_modules' ? [modules, dirname(root)] : [modules]

const findRuntime = () => {
  const places = placesOfPackages.map((folder) => join(folder, 'node', 'bin', 'node'))
  const pinned = places.find((place) => existsSync(place))
  if (pinned) return pinned
  if (Number.parseInt(process.versions.node, 10) >= oldestUsableNode) return process.execPath
  throw new Error(
    `${places.join(' or ')} is missing, and this Node is ${process.version} while ${oldestUsableNode} or newer is needed. ` +
      'Is ignore-scripts on in the settings of npm? Then run: npm rebuild node --ignore-scripts=false',
  )
}

const main = async ([command, ...args]) => {
  await makeInstalled(commandsOfDevelopers.has(command) ? 'everything' : 'serving')
  const runtime = findRuntime()
  if (commandsWithFaces.has(command)) await makeBuilt(command, runtime)
  for (const { script, cwd, env, channel = [] } of stepsOf(command, args)) {
    const stdio = ['inherit', 'inherit', 'inherit', ...channel]
    const status = await run(runtime, script, { cwd, env: { ...process.env, ...env }, stdio })
    if (status !== 0) return status
  }
  return 0
}

try {
  process.exit(await main(process.argv.slice(2)))
} catch (error) {
  if (stopSignal) process.exit(statusOfSignal(stopSignal))
  say(error.message)
  process.exit(1)
}
