// Makes few files of the code of the server and of the packages that a start loads: to find, read and link a thousand is most
// of what a start costs. Run as a program it makes the bundle of the sources as they are, where there is none yet, with what
// `console/package-lock.json` names.
import { existsSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from '../console/node_modules/rolldown/dist/index.mjs'
import { parseAst } from '../console/node_modules/rolldown/dist/parse-ast-index.mjs'
import { Visitor } from '../console/node_modules/rolldown/dist/utils-index.mjs'
import { bundleOf, bundlesIn, forgetOldBundles } from './bundle.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')
const sources = join(root, 'src')

const isOwn = (specifier) => specifier.startsWith('.') || specifier.startsWith('/')

/** `areas/calls/cdrs/archive/file-thread.ts` -> `areas-calls-cdrs-archive-file-thread` */
const entryName = (path) =>
  relative(sources, path)
    .replace(/\.(mjs|ts)$/, '')
    .replaceAll('/', '-')

// The folder of a module itself, '.', is that of the bundle.
const ownUrl = /new URL\('([^':]*[^':.][^':]*)', import\.meta\.url\)/g

const isCode = (path) => /\.(mjs|ts)$/.test(path)

const isSource = (path) => path.startsWith(`${sources}/`)

/**
 * References of a module to its own location: thread scripts become files next to it, texts are copied, others
 * keep their place.
 */
const ownUrls = (outDir, texts) => ({
  name: 'own-urls',
  transform: {
    filter: { id: { include: [`${sources}/**`] }, code: { include: 'import.meta.url' } },
    handler(code, id) {
      const named = code.replaceAll(ownUrl, (_, path) => {
        const target = resolve(dirname(id), path)
        const slash = path.endsWith('/') ? '/' : ''
        if (!isSource(target)) return `new URL('${relative(outDir, target)}${slash}', import.meta.url)`
        if (!isCode(target)) {
          texts.add(relative(sources, target))
          return `new URL('./${relative(sources, target)}${slash}', import.meta.url)`
        }
        const fileName = `${entryName(target)}.js`
        this.emitFile({ type: 'chunk', id: target, fileName })
        return `new URL('./${fileName}', import.meta.url)`
      })
      return { code: named, map: null }
    },
  },
})

/** Packages that are loaded when something needs them stay where they are. */
const latePackages = {
  name: 'late-packages',
  resolveId: (id, _importer, { kind }) =>
    kind === 'dynamic-import' && !isOwn(id) ? { id, external: true } : null,
}

// Names that the runtime makes when they are looked at: by loading its client of the web (60 ms of processor and 10 MB), by reading
// all certificates that it brings (14 ms), by loading streams (4 ms). An import looks at all names of a module.
const costly = {
  // The last four warn that they are old.
  'node:fs': new Set(
    'ReadStream WriteStream FileReadStream FileWriteStream Utf8Stream F_OK R_OK W_OK X_OK'.split(' '),
  ),
  'node:http': new Set(['WebSocket', 'CloseEvent', 'MessageEvent']),
  'node:tls': new Set(['rootCertificates']),
  'node:util': new Set(['aborted', 'transferableAbortController', 'transferableAbortSignal']),
}

const mark = '\0without costly names:'

/** Modules of the runtime without such names. */
const withoutCostlyNames = {
  name: 'without-costly-names',
  resolveId(id, _importer, { kind }) {
    const name = id.startsWith('node:') ? id : `node:${id}`
    return kind === 'import-statement' && name in costly ? `${mark}${name}` : null
  },
  load(id) {
    if (!id.startsWith(mark)) return null
    const name = id.slice(mark.length)
    const names = Object.getOwnPropertyNames(process.getBuiltinModule(name)).filter(
      (exported) => !costly[name].has(exported),
    )
    return [
      `const whole = process.getBuiltinModule('${name}')`,
      `export const { ${names.join(', ')} } = whole`,
      'export default whole',
    ].join('\n')
  },
}

const isFunction = (node) => /^(ArrowFunction|Function)Expression$/.test(node?.type)

const starterName = /^create(?=[A-Z$]|$)|Routes(\$\d+)?$/

/** The functions of a file that, by their names, put a part of a server together: a start calls most of them. */
const startersOf = (program) => {
  const found = []
  new Visitor({
    VariableDeclarator: ({ id, init }) => void (starterName.test(id.name) && found.push(init)),
    Property: ({ key, kind, method, value }) =>
      void (kind === 'init' && !method && starterName.test(key.name) && found.push(value)),
  }).visit(program)
  return found.filter(isFunction)
}

const escapeOf = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * One character outside Latin-1 doubles the memory of a file's text for the life of the process. Escapes mean
 * the same in texts, templates, patterns and names. Existing escapes stay.
 */
const inAscii = (code) =>
  code.replace(/\\?[^\0-\x7f]|\\./gs, (found) => (found.at(-1) > '\x7f' ? escapeOf(found.at(-1)) : found))

/** Refuses what an escape would change: the raw form of a template, and a line that ends in a text with another sign than \n. */
const assertEscapable = (code, program) => {
  const refuse = (what) => {
    throw new Error(`a bundle in ASCII would change ${what}`)
  }
  if (/\\[\u2028\u2029]/.test(code)) refuse('a text over several lines')
  new Visitor({
    TaggedTemplateExpression({ quasi: { quasis } }) {
      for (const { start, end } of quasis) {
        const text = code.slice(start, end)
        if (inAscii(text) !== text) refuse(text)
      }
    },
  }).visit(program)
}

/**
 * V8 compiles functions at their first call, after it has cached the file, so each start would compile them
 * again. In parentheses they are compiled with their file.
 */
const compiledWithTheirFile = {
  name: 'compiled-with-their-file',
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      const program = parseAst(file.code)
      assertEscapable(file.code, program)
      const starters = startersOf(program)
      const opened = new Set(starters.map(({ start }) => start))
      const edges = [...opened, ...starters.map(({ end }) => end)].sort((one, other) => one - other)
      const pieces = [0, ...edges].map((from, index) => file.code.slice(from, edges[index]))
      file.code = inAscii(
        pieces.reduce((code, piece, index) => code + (opened.has(edges[index - 1]) ? '(' : ')') + piece),
      )
      // Names and signs of which an escape makes no program fail here, and not at a start.
      parseAst(file.code)
    }
  },
}

// These packages look for files next to their own.
const packagesWithFiles = new Set(['pdfkit', 'pg-native'])

const build = async (outDir, withPackages, making = outDir) => {
  const texts = new Set()
  const bundle = await rolldown({
    input: { crosspoint: join(sources, 'crosspoint.mjs') },
    platform: 'node',
    plugins: [ownUrls(outDir, texts), withoutCostlyNames, latePackages, compiledWithTheirFile],
    external: (id) => packagesWithFiles.has(id) || (!withPackages && !isOwn(id)),
  })
  await bundle.write({
    dir: making,
    format: 'esm',
    sourcemap: withPackages,
    // The sources are on the same disk.
    sourcemapExcludeSources: true,
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  await bundle.close()
  for (const text of texts) await cp(join(sources, text), join(making, text), { recursive: true })
}

/** The bundle appears whole, or not at all. */
const buildOwn = async () => {
  const outDir = bundleOf(root)
  if (existsSync(outDir)) return
  const making = join(bundlesIn(root), `${basename(outDir)}.${process.pid}`)
  try {
    await build(outDir, true, making)
    // Another process may have been quicker.
    if (!existsSync(outDir)) await rename(making, outDir)
  } finally {
    await rm(making, { recursive: true, force: true })
  }
  try {
    forgetOldBundles(bundlesIn(root))
  } catch (error) {
    // The bundle is there all the same.
    console.error(`old bundles stay: ${error.message}`)
  }
}

/** The code of the server alone: packages stay where they are. */
export const buildFor = (outDir) => build(outDir, false)

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildOwn()
