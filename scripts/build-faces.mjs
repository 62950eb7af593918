// What people look at, built from its sources: the typed client, the console, the reference and the guides. Runs on the
// pinned runtime, with what `console/package-lock.json` names.
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from '../console/node_modules/vite/dist/node/index.js'
import { buildDocs } from './build-docs.mjs'
import { builtStampFile, sourceStamp } from './face-sources.mjs'
import { buildClient } from './generate-client.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const outDir = join(root, 'console', 'dist')

const squeezable = /\.(css|html|js|json|svg|txt)$/
// Below this an answer fits into one packet anyway.
const smallestSqueezed = 1000

const squeeze = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gz: (bytes) => promisify(gzip)(bytes, { level: 9 }),
}

/** Compressed once here, so that the server has nothing to do but to send. */
const compressAll = async (folder) => {
  const names = await readdir(folder, { recursive: true })
  const compress = async (name) => {
    const bytes = await readFile(join(folder, name))
    if (bytes.length < smallestSqueezed) return
    for (const [suffix, smaller] of Object.entries(squeeze)) {
      const squeezed = await smaller(bytes)
      if (squeezed.length < bytes.length) await writeFile(join(folder, `${name}.${suffix}`), squeezed)
    }
  }
  await Promise.all(names.filter((name) => squeezable.test(name) && name !== 'index.html').map(compress))
}

const making = `${outDir}.${process.pid}`
const replaced = `${making}.replaced`

/** The whole site appears at once: until then, and when it cannot be built, the one of before is served. */
const putInPlace = async () => {
  if (existsSync(outDir)) await rename(outDir, replaced)
  await rename(making, outDir)
  await rm(replaced, { recursive: true, force: true })
}

const stamp = await sourceStamp(root)
try {
  await buildClient()
  await build({
    configFile: join(root, 'console', 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: making, emptyOutDir: true },
  })
  await buildDocs({ outDir: join(making, 'docs') })
  await compressAll(making)
  await writeFile(builtStampFile(making), stamp)
  await putInPlace()
} finally {
  await rm(making, { recursive: true, force: true })
}
