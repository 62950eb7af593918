// The sources of the console, the reference, the guides and the typed client. Runs on any Node: the launcher
// uses it.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const folders = [
  'console/src',
  'console/texts',
  'console/public',
  'console/docs',
  'client/src',
  'docs',
  'examples',
]
const files = [
  'CHANGELOG.md',
  'README.md',
  'SECURITY.md',
  'client/README.md',
  'console/index.html',
  'console/package-lock.json',
  'console/vite.config.ts',
  'openapi.json',
  'scripts/build-docs.mjs',
  'scripts/build-faces.mjs',
  'scripts/generate-client.mjs',
  'test/specification/README.md',
]
const made = /^client\/src\/generated\//

const namesIn = async (root, folder) => {
  if (!existsSync(join(root, folder))) return []
  // `path` is what versions before 20.12 call it.
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((name) => !made.test(name))
}

/** Changes whenever one of the sources does. */
export const sourceStamp = async (root) => {
  const found = await Promise.all(folders.map((folder) => namesIn(root, folder)))
  const names = [...files.filter((name) => existsSync(join(root, name))), ...found.flat()].sort()
  const hash = createHash('sha256')
  for (const name of names)
    hash
      .update(`${name}\0`)
      .update(await readFile(join(root, name)))
      .update('\0')
  return `${hash.digest('hex')}\n`
}

/** In the folder of what was built. */
export const builtStampFile = (folder) => join(folder, '.built-from')

/** Whether there are sources, and what was built of them is missing or of older ones. */
export const needsBuilding = async (root) => {
  if (!existsSync(join(root, 'console', 'package-lock.json'))) return false
  const built = await readFile(builtStampFile(join(root, 'console', 'dist')), 'utf8').catch(() => '')
  return built !== (await sourceStamp(root))
}
