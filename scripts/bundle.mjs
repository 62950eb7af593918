// The location of the server's bundle, which joins many source files into few. Runs on any Node: the launcher
// uses it.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

// Code, and the texts and documents that a build copies next to it.
const isFile = /\.\w+$/
const folders = ['src', 'cli', 'demo', 'import-kazoo']
const others = ['package-lock.json', 'scripts/build-bundle.mjs']

/** The folder of bundles: processes on an older bundle may still load parts of it. */
export const bundlesIn = (root) => join(root, 'dist')

/**
 * The folder of the bundle of these sources, which need not be there. Size and time of each file tell a change: to read
 * them all would take longer than what a bundle saves.
 */
export const bundleOf = (root) => {
  const hash = createHash('sha256')
  const sources = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true })
        .filter((name) => isFile.test(name))
        .map((name) => join(folder, name)),
    )
  for (const name of [...sources, ...others].sort()) {
    const { size, mtimeMs } = statSync(join(root, name))
    hash.update(`${name} ${size} ${mtimeMs}\n`)
  }
  return join(bundlesIn(root), hash.digest('hex').slice(0, 16))
}

const keptBundles = 4

const commandLine = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // The process has ended, or belongs to another user.
    return ''
  }
}

/** The command lines of the processes of this machine, on Linux; empty elsewhere. */
const commandLines = () => {
  const pids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
  return pids.map(commandLine).join('\n')
}

/**
 * Removes bundles except the latest and those that running processes were started from, because they load parts
 * late, such as threads. Processes of other machines and containers are not seen.
 */
export const forgetOldBundles = (folder) => {
  const aged = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    // Another process may be renaming a finished bundle.
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? [{ path, ms: found.mtimeMs }] : []
  })
  const old = aged.sort((one, other) => other.ms - one.ms).slice(keptBundles)
  const running = old.length > 0 ? commandLines() : ''
  for (const { path } of old)
    if (!running.includes(join(path, '/'))) rmSync(path, { recursive: true, force: true })
}

/** The program that Node runs as `crosspoint`: the bundle of these sources, if built, else the sources. */
export const programOf = (root) => {
  const built = existsSync(join(root, 'src')) ? join(bundleOf(root), 'crosspoint.js') : ''
  return existsSync(built) ? built : join(root, 'bin', 'crosspoint.mjs')
}
