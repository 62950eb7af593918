// What `npm pack` adds to the files of the repository: Node strips no types below `node_modules`, so a package
// has its code as a bundle in `lib/`. `build-package.mjs clear` removes it.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const code = join(fileURLToPath(new URL('..', import.meta.url)), 'lib')

await rm(code, { recursive: true, force: true })
if (process.argv[2] !== 'clear') {
  const { buildFor } = await import('./build-bundle.mjs')
  await buildFor(code)
}
