// Where the code of the server lies in few files, made of what lies in many. On any Node: the launcher asks.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const code = /\.(mjs|ts)$/
const others = ['package-lock.json', 'scripts/build-bundle.mjs']

/** The folder of bundles: whoever runs on an older one may still load parts of it. */
export const bundlesIn = (root) => join(root, 'dist')

/**
 * The folder of the bundle of these sources, which need not be there. Size and time of each file tell a change: to read
 * them all would take longer than what a bundle saves.
 */
export const bundleOf = (root) => {
  const hash = createHash('sha256')
  const sources = readdirSync(join(root, 'src'), { recursive: true }).filter((name) => code.test(name))
  for (const name of [...sources.map((source) => join('src', source)), ...others].sort()) {
    const { size, mtimeMs } = statSync(join(root, name))
    hash.update(`${name} ${size} ${mtimeMs}\n`)
  }
  return join(bundlesIn(root), hash.digest('hex').slice(0, 16))
}

/** What Node runs as `crosspoint`: the bundle of these sources, where it has been built, or the sources themselves. */
export const programOf = (root) => {
  const built = existsSync(join(root, 'src')) ? join(bundleOf(root), 'crosspoint.js') : ''
  return existsSync(built) ? built : join(root, 'bin', 'crosspoint.mjs')
}
