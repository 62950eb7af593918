// What `npm pack` packs besides the files of the repository. Node strips types from nothing that lies below `node_modules`: a
// package has its code as JavaScript, line for line what the sources say, in `lib/` instead of `src/`. `build-package.mjs clear`
// takes that away again.
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const code = join(root, 'lib')

const ownModule = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

const writePlain = async (path) => {
  const source = stripTypeScriptTypes(await readFile(path, 'utf8'))
  await writeFile(path.replace(/\.ts$/, '.js'), source.replace(ownModule, '$1$2.js$1'))
  await rm(path)
}

const makeCode = async () => {
  await rm(code, { recursive: true, force: true })
  await cp(join(root, 'src'), code, { recursive: true })
  const names = await readdir(code, { recursive: true })
  await Promise.all(names.filter((name) => name.endsWith('.ts')).map((name) => writePlain(join(code, name))))
}

if (process.argv[2] === 'clear') await rm(code, { recursive: true, force: true })
else await makeCode()
