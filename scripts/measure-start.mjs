// Measures a first start: `node scripts/measure-start.mjs [REPOSITORY]`. Clones the repository into an empty directory, starts it
// there with an empty npm cache, and prints the figures. Ends after ten minutes at the latest, and removes what it made.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const limitMs = 600_000
const pollMs = 50
const maxBytesPerUser = 300e6

const repository = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'crosspoint-start-'))
const clone = join(folder, 'clone')
const deadline = performance.now() + limitMs

/** Process groups: npm, the launcher, the server and the build. */
const groups = new Set()

const killGroup = (pid) => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of its processes have ended.
  }
}

const cleanUp = () => {
  for (const pid of groups) killGroup(pid)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    cleanUp()
    process.exit(1)
  })

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

const start = (args, env = {}) => {
  const child = spawn('npm', args, {
    cwd: clone,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, npm_config_cache: join(folder, 'npm-cache'), ...env },
  })
  groups.add(child.pid)
  const run = { child, output: '', ended: once(child, 'close') }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      run.output += chunk
    })
  return run
}

const until = async (what, run, isTrue) => {
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`no ${what} within ${limitMs / 1000} s:\n${run.output}`)
    if (run.child.exitCode !== null) throw new Error(`npm ended before ${what}:\n${run.output}`)
    await sleep(pollMs)
  }
}

const statusOf = (url) =>
  fetch(url)
    .then(({ status }) => status)
    .catch(() => 0)

/** Blocks on disk, as `du` counts them: a file with two names counts once. */
const bytesOnDisk = () => {
  const seen = new Set()
  let bytes = 0
  for (const name of readdirSync(clone, { recursive: true })) {
    if (/^\.git(\/|$)/.test(name)) continue
    const { ino, blocks } = lstatSync(join(clone, name))
    if (!seen.has(ino)) bytes += blocks * 512
    seen.add(ino)
  }
  return bytes
}

const stop = async (run) => {
  process.kill(-run.child.pid, 'SIGTERM')
  await run.ended
}

const seconds = (startedMs) => ((performance.now() - startedMs) / 1000).toFixed(1)
const print = (what, figure) => process.stdout.write(`${what.padEnd(36)}${figure}\n`)

const startServer = async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const startedMs = performance.now()
  const run = start(['start'], {
    CROSSPOINT_PORT: String(port),
    CROSSPOINT_DATA_DIR: join(folder, 'data'),
    CROSSPOINT_ADMIN_PASSWORD: 'secret',
    CROSSPOINT_DRAIN_SECONDS: '0',
  })
  await until('answer', run, async () => (await statusOf(`${url}/readyz`)) === 200)
  return { run, url, startedMs, answer: seconds(startedMs) }
}

const measure = async () => {
  print('cores', availableParallelism())
  const cloned = spawnSync('git', ['clone', '--quiet', repository, clone], { encoding: 'utf8' })
  if (cloned.status !== 0) throw new Error(cloned.stderr)

  const first = await startServer()
  print('first answer', `${first.answer} s`)
  await until('console', first.run, async () => (await statusOf(`${first.url}/`)) === 200)
  print('console', `${seconds(first.startedMs)} s`)
  const names = () => readdirSync(join(clone, 'console'))
  const isBuilding = () => names().some((name) => name === 'node_modules' || name.startsWith('.build-state'))
  await until('end of the build', first.run, () => !isBuilding())
  print('end of the build', `${seconds(first.startedMs)} s`)
  const bytes = bytesOnDisk()
  print('on disk', `${Math.round(bytes / 1e6)} MB${bytes > maxBytesPerUser ? ' (goal: 300)' : ''}`)
  await stop(first.run)

  const second = await startServer()
  print('second start, first answer', `${second.answer} s`)
  await stop(second.run)

  const startedMs = performance.now()
  const help = start(['run', 'crosspoint', '--', '--help'])
  await help.ended
  print('npm run crosspoint -- --help', `${seconds(startedMs)} s`)
}

try {
  await measure()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  cleanUp()
}
