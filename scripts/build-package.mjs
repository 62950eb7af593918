// Builds the bundle in `lib/` for `npm pack`: Node strips no types in `node_modules`. `build-package.mjs clear` removes it.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const code = join(fileURLToPath(new URL('..', import.meta.url)), 'lib')

await rm(code, { recursive: true, force: true })
if (process.argv[2] !== 'clear') {
  const { buildFor } = await import('./build-bundle.mjs')
  await buildFor(code)
}
