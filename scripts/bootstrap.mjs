// Runs on whatever Node a machine has, before anything is installed: brings node_modules in line
// with package-lock.json, then runs the command on the runtime which that lock file pins.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { environment, nodeOptions } from './server-process.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
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
const commandsOfDevelopers = new Set(['test', 'check', 'bench', 'attack'])

const slowTests = ['test/bootstrap.test.ts', 'test/fuzz/**', 'test/hostile/**', 'test/processes/**']

/** The scripts behind a command, run in this order until one fails. */
const stepsOf = (command, args) => {
  const vitest = { script: [join(modules, 'vitest', 'vitest.mjs'), 'run', ...args], cwd: root }
  switch (command) {
    case 'test':
      return [vitest]
    case 'check':
      return [
        { script: [join(modules, '@biomejs', 'biome', 'bin', 'biome'), 'check'], cwd: root },
        { script: [join(modules, 'typescript', 'bin', 'tsc'), '--noEmit', '-p', root], cwd: root },
        {
          ...vitest,
          // What starts and kills whole processes, or sends thousands of requests, is for `npm test`.
          script: [...vitest.script, ...slowTests.map((files) => `--exclude=${files}`)],
          env: { CROSSPOINT_TEST_ENGINES: 'sqlite', ENGINE: '' },
        },
      ]
    case 'bench':
      return [{ script: [join(root, 'bench', 'run.ts'), ...args], cwd: root }]
    case 'attack':
      return [{ script: [join(root, 'attack', 'run.ts'), ...args], cwd: root }]
    case 'serve':
      // Over the channel the server notices that its launcher was killed without a chance to tell.
      return [
        {
          script: [...nodeOptions, join(root, 'bin', 'crosspoint.mjs'), command, ...args],
          channel: ['ipc'],
          env: environment,
        },
      ]
    default:
      return [{ script: [join(root, 'bin', 'crosspoint.mjs'), ...(command ? [command] : []), ...args] }]
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

const install = async (wanted, has) => {
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
  if (suffices(installed(), wanted)) return
  await holdingInstallLock(async () => {
    const has = installed()
    if (!suffices(has, wanted)) await install(wanted, has)
  })
}

const findRuntime = () => {
  const pinned = join(modules, 'node', 'bin', 'node')
  if (existsSync(pinned)) return pinned
  if (Number.parseInt(process.versions.node, 10) >= oldestUsableNode) return process.execPath
  throw new Error(
    `${pinned} is missing, and this Node is ${process.version} while ${oldestUsableNode} or newer is needed. ` +
      'Is ignore-scripts on in the settings of npm? Then run: npm rebuild node --ignore-scripts=false',
  )
}

const main = async ([command, ...args]) => {
  await makeInstalled(commandsOfDevelopers.has(command) ? 'everything' : 'serving')
  const runtime = findRuntime()
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
