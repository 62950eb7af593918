// Runs on any Node, before anything is installed: brings node_modules in line with package-lock.json,
// then runs the command on the runtime that the lock file pins.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bundleOf, programOf } from './bundle.mjs'
import { needsBuilding } from './face-sources.mjs'
import { asksForHelp, helpOf } from './help.mjs'
import { environment, nodeOptions } from './server-process.mjs'
import { testCommands, testSteps } from './test-commands.mjs'

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

// All other commands run with the packages that the server needs.
const commandsOfDevelopers = new Set([...testCommands, 'bench', 'attack'])
// These test the console or use its tools, so it is built before they run.
const commandsWithFaces = new Set([...testCommands, 'docs', 'pack'])

/** The scripts behind a command, run in this order until one fails. */
const stepsOf = (command, args) => {
  if (testCommands.has(command)) return testSteps(root, command, args)
  switch (command) {
    case 'bench':
      return [{ script: [join(root, 'bench', 'run.ts'), ...args], cwd: root }]
    case 'attack':
      return [{ script: [join(root, 'attack', 'run.ts'), ...args], cwd: root }]
    case 'docs':
      return [{ script: [join(root, 'scripts', 'build-docs.mjs'), ...args] }]
    case 'pack':
      return [{ script: [join(root, 'scripts', 'build-package.mjs')] }]
    case 'serve':
      // The server ends when the channel closes, so it also ends when its launcher is killed.
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

const children = new Set()
let stopSignal
const stop = (signal) => {
  stopSignal ??= signal
  // A terminal signals the server as well. A server that has closed its channel (null) is ending, and a second signal would kill it.
  setImmediate(() => {
    for (const child of children) if (child.channel !== null) child.kill(signal)
  })
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal))

const say = (text) => process.stderr.write(`crosspoint: ${text}\n`)
const statusOfSignal = (signal) => 128 + constants.signals[signal]
const secondsSince = (startedMs) => Math.round((performance.now() - startedMs) / 1000)

const refuseWhenStopped = () => {
  if (stopSignal) throw new Error(`stopped by ${stopSignal}`)
}

const startChild = (program, args, options) => {
  refuseWhenStopped()
  const child = spawn(program, args, options)
  children.add(child)
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => resolve(signal ? statusOfSignal(signal) : status))
  }).finally(() => children.delete(child))
  return { child, ended }
}

const run = (program, args, options, takeOutput) => {
  const { child, ended } = startChild(program, args, options)
  child.stdout?.on('data', takeOutput)
  child.stderr?.on('data', takeOutput)
  return ended
}

// Native packages differ by platform, so a tree shared with another machine counts as stale.
const stamps = () => {
  const lockFile = readFileSync(join(root, 'package-lock.json'))
  const everything = `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform}-${process.arch}`
  return { everything: `${everything}\n`, serving: `${everything} serving\n` }
}

/** The installed part of the lock file: `everything`, or what `serving` needs. Undefined if it is incomplete or older. */
const installed = () => {
  if (!existsSync(stampFile)) return undefined
  const stamp = readFileSync(stampFile, 'utf8')
  const { everything, serving } = stamps()
  if (stamp === everything) return 'everything'
  return stamp === serving ? 'serving' : undefined
}

const suffices = (has, wanted) => has === wanted || has === 'everything'

// A lock without a heartbeat was left by a killed process. The time is counted in polls, because a clock
// would make a machine that wakes from sleep look like a killed process.
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
    if (!told) say('waiting for another process that installs the dependencies or builds the console')
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

// Optional packages, such as those for other platforms, are not counted.
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
    say(`${there} of ${packages.length} packages after ${secondsSince(startedMs)} s`)
  }
  return setInterval(tell, progressMs)
}

// `install` adds packages and keeps those that a running server uses.
const npmArguments = (wanted, has) => {
  const quiet = ['--no-audit', '--no-fund']
  if (wanted === 'serving') return ['ci', '--omit=dev', '--ignore-scripts', ...quiet]
  // --include=dev also works if NODE_ENV is production.
  return has === 'serving'
    ? ['install', '--no-save', '--include=dev', ...quiet]
    : ['ci', '--include=dev', ...quiet]
}

const runtimePackage = `node-${process.platform}-${process.arch}`

// npm ignores that an optional package could not be fetched, such as the runtime.
const assertRuntime = () => {
  const { packages = {} } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const isMissing = !existsSync(join(modules, runtimePackage, 'bin', 'node'))
  if (isMissing && packages[`node_modules/${runtimePackage}`])
    throw new Error(
      `npm did not install ${runtimePackage}. Check the connection to the registry and try again.`,
    )
}

// The runtime comes with 67 MB of headers and manuals. Source maps and manuals of packages, 30 MB, are only of use to developers.
const onlyForDevelopers = /(\.map|[/\\](readme|changelog|history)\.md)$/i

const trim = (wanted) => {
  for (const name of ['include', 'share', 'CHANGELOG.md', 'README.md'])
    rmSync(join(modules, runtimePackage, name), { recursive: true, force: true })
  if (wanted === 'serving')
    for (const name of readdirSync(modules, { recursive: true }))
      if (onlyForDevelopers.test(name)) rmSync(join(modules, name))
}

// npm would empty the folder behind the link, which another checkout uses.
const refuseLink = (folder) => {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      `${folder} is a link to a folder without the needed packages. Nothing was installed. Remove the link or install there.`,
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
  assertRuntime()
  trim(wanted)
  writeFileSync(stampFile, stamp)
  say(`installed in ${secondsSince(startedMs)} s`)
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

const installToolsOfFaces = async () => {
  refuseLink(join(faces, 'node_modules'))
  say('installing the build tools of the console')
  // The build needs no script of a package; one of them would report the installation to its vendor.
  const asked = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  await runQuietly('npm', asked, faces)
}

const lacksBundle = () => existsSync(join(root, 'src')) && !existsSync(bundleOf(root))

const madeByBuilds = [
  [faces, /^dist\.\d/],
  [join(root, 'client'), /^dist\.\d/],
  [join(root, 'client', 'src'), /^generated\.\d/],
  [join(root, 'dist'), /\.\d+$/],
]

/** Removes what a stopped build left. Only for the process that has the lock: no other build is running. */
const removeHalfBuilt = () => {
  for (const [folder, isHalfBuilt] of madeByBuilds)
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      if (isHalfBuilt.test(name)) rmSync(join(folder, name), { recursive: true, force: true })
}

const runScript = (runtime, name) => runQuietly(runtime, [join(root, 'scripts', name)], root)

/** Builds what is missing or older than its sources: the console with the reference and the guides, and the bundle of the server. */
const buildMissing = async (runtime) => {
  const startedMs = performance.now()
  try {
    if (lacksToolsOfFaces()) await installToolsOfFaces()
    if (await needsBuilding(root)) {
      say('building the console')
      await runScript(runtime, 'build-faces.mjs')
      say(`the console is ready after ${secondsSince(startedMs)} s`)
    }
    if (lacksBundle()) await runScript(runtime, 'build-bundle.mjs')
  } finally {
    removeHalfBuilt()
  }
}

const isSomethingMissing = async () => lacksBundle() || (await needsBuilding(root))

/** Before a command of developers, who keep the tools. */
const buildForDevelopers = async (runtime) => {
  const isMissing = async () => lacksToolsOfFaces() || (await isSomethingMissing())
  if (!(await isMissing())) return
  await holdingInstallLock(async () => {
    if (!(await isMissing())) return
    await buildMissing(runtime)
    writeFileSync(facesStampFile, stampOfFaces())
  })
}

// The server reads it to describe the build (src/http/transport/site.ts).
const buildStateFile = join(faces, '.build-state.json')
const writeBuildState = (state) => {
  const written = `${buildStateFile}.${process.pid}`
  writeFileSync(written, JSON.stringify({ pid: process.pid, startedMs: Date.now(), ...state }))
  renameSync(written, buildStateFile)
}

const buildAndRemoveTools = async (runtime) => {
  const keepsTools = existsSync(facesStampFile)
  try {
    await buildMissing(runtime)
    if (keepsTools) writeFileSync(facesStampFile, stampOfFaces())
  } finally {
    // The tools take 250 MB, and a server does not need them.
    if (!keepsTools) rmSync(join(faces, 'node_modules'), { recursive: true, force: true })
  }
}

/** The process that builds while the server runs. Its children inherit its low priority. */
const build = async (runtime) => {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  // The launcher may be killed without a chance to stop its build.
  process.on('disconnect', () => stop('SIGTERM'))
  writeBuildState()
  process.send?.('started')
  try {
    await holdingInstallLock(async () => {
      if (!(await isSomethingMissing())) return
      // Another process may have replaced the state while this one waited for the lock.
      writeBuildState()
      await buildAndRemoveTools(runtime)
    })
    rmSync(buildStateFile, { force: true })
    return 0
  } catch (error) {
    if (stopSignal) {
      rmSync(buildStateFile, { force: true })
      throw error
    }
    writeBuildState({ failure: error.message })
    say(`the build of the console failed: ${error.message}. The API is not affected.`)
    say('the lines above show the cause. To try again, stop the server and run `npm start`.')
    return 1
  }
}

/** Starts the build and resolves when the server can describe it. */
const startBuild = async () => {
  if (!(await isSomethingMissing())) return undefined
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc']
  const started = startChild(process.execPath, [fileURLToPath(import.meta.url), 'build'], { stdio })
  await Promise.race([once(started.child, 'message'), started.ended])
  return started
}

const runSteps = async (runtime, steps) => {
  for (const { script, cwd, env, channel = [] } of steps) {
    const stdio = ['inherit', 'inherit', 'inherit', ...channel]
    const status = await run(runtime, script, { cwd, env: { ...process.env, ...env }, stdio })
    if (status !== 0) return status
  }
  return 0
}

/** Runs the server at once, and builds next to it what it can do without. */
const serve = async (runtime, steps) => {
  const building = await startBuild()
  try {
    return await runSteps(runtime, steps)
  } finally {
    building?.child.kill('SIGTERM')
    await building?.ended
  }
}

// A package manager installs the dependencies of a package below it or next to it.
const placesOfPackages = basename(dirname(root)) === 'node_modules' ? [modules, dirname(root)] : [modules]

const findRuntime = () => {
  const places = placesOfPackages.map((folder) => join(folder, runtimePackage, 'bin', 'node'))
  const pinned = places.find((place) => existsSync(place))
  if (pinned) return pinned
  if (Number.parseInt(process.versions.node, 10) >= oldestUsableNode) return process.execPath
  throw new Error(
    `Node ${oldestUsableNode} or newer is needed on ${process.platform}-${process.arch}. This Node is ${process.version}.`,
  )
}

const main = async ([command, ...args]) => {
  const help = asksForHelp(args) ? helpOf(command) : undefined
  if (help) {
    process.stdout.write(help)
    return 0
  }
  await makeInstalled(commandsOfDevelopers.has(command) ? 'everything' : 'serving')
  const runtime = findRuntime()
  if (command === 'build') return build(runtime)
  if (commandsWithFaces.has(command)) await buildForDevelopers(runtime)
  const steps = stepsOf(command, args)
  return command === 'serve' && !asksForHelp(args) ? serve(runtime, steps) : runSteps(runtime, steps)
}

try {
  process.exit(await main(process.argv.slice(2)))
} catch (error) {
  if (stopSignal) process.exit(statusOfSignal(stopSignal))
  say(error.message)
  process.exit(1)
}
