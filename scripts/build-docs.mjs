// The pages of docs/ and the API reference as a static site. Run as a program, it builds a standalone site for
// any web server; the server's own site at /docs is built with the console.
import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildDocs } from '../console/docs/build/build.ts'

export { buildDocs }

const run = async ([folder, ...rest]) => {
  if (folder === undefined || folder.startsWith('-') || rest.length > 0) {
    process.stderr.write('usage: npm run docs -- FOLDER\n')
    return 2
  }
  const outDir = resolve(folder)
  if (existsSync(outDir) && readdirSync(outDir).length > 0) {
    process.stderr.write(`${outDir} is not empty\n`)
    return 1
  }
  await buildDocs({ outDir, place: 'alone' })
  process.stdout.write(`${outDir} holds the documentation: copy it to any web server.\n`)
  return 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await run(process.argv.slice(2))
