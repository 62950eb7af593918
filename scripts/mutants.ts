// Shows whether the tests detect defects: changes one place of the sources at a time, in a copy, and runs the tests whose files
// are named like it. Prints the changes that no test noticed.
//
//   node_modules/.bin/node scripts/mutants.ts [--count=30] [--seed=34] [--only=N] [--list] [--wide]
import { spawn } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { lineAt, readSource } from '../test/support/matchers/source-text.ts'

const root = join(import.meta.dirname, '..')

interface Mutant {
  kind: string
  path: string
  line: number
  /** The text of the file between these positions is replaced. */
  from: number
  to: number
  text: string
}

type Found = Pick<Mutant, 'from' | 'to' | 'text'>

/** The position behind the parenthesis that closes the one at `open`. */
const closing = (code: string, open: number) => {
  let depth = 0
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1
    if (code[at] === ')') depth -= 1
    if (depth === 0) return at
  }
  return -1
}

const replaced = (code: string, pattern: RegExp, text: (match: RegExpExecArray) => string): Found[] =>
  [...code.matchAll(pattern)].map((match) => ({
    from: match.index,
    to: match.index + match[0].length,
    text: text(match),
  }))

const otherBound: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }

/** Each kind of change: where it can be made in a file. `code` has blank texts and comments, `text` is the whole. */
const kinds: Readonly<Record<string, (path: string, code: string, text: string) => Found[]>> = {
  'inverted condition': (_path, code, text) =>
    [...code.matchAll(/\bif \(/g)].flatMap(({ index }) => {
      const open = index + 'if '.length
      const close = closing(code, open)
      return close < 0 ? [] : [{ from: open + 1, to: close, text: `!(${text.slice(open + 1, close)})` }]
    }),
  'bound off by one': (_path, code) =>
    replaced(code, /(?<=[\w)\]] )(<=|>=|<|>)(?= [\w(-])/g, ([sign = '']) => otherBound[sign] ?? sign),
  'missing await': (_path, code) => replaced(code, /(?<=^\s+)await (?=[\w.]+\()/gm, () => 'void '),
  'account missing in a query': (_path, _code, text) =>
    replaced(text, /\baccount_id = \$(\d+)(?= AND\b)/g, ([whole]) => `(${whole} OR TRUE)`),
  'missing permission': (path, code) =>
    path.endsWith('routes.ts')
      ? replaced(
          code,
          /(?<=\ballow: )(?!anyone\b)\w+(?=,)/g,
          ([policy]) => `{ ...${policy}, allows: () => true }`,
        )
      : [],
}

/** Mulberry32. */
const createRandom = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const sources = globSync('{src,cli,demo,import-kazoo}/**/*.ts', { cwd: root })
  .filter((path) => !/storage\/schema\/|distribution\/|^demo\/|shapes\.ts$|schema\.ts$/.test(path))
  .toSorted()

const candidates = (kind: string, find: (typeof kinds)[string]): Mutant[] =>
  sources.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return find(path, readSource(path, text).code, text).map((found) => ({
      kind,
      path,
      line: lineAt(text, found.from),
      ...found,
    }))
  })

/** As many of each kind, drawn by the seed. */
const draw = (count: number, seed: number): Mutant[] => {
  const random = createRandom(seed)
  const entries = Object.entries(kinds)
  return entries.flatMap(([kind, find], index) => {
    const all = candidates(kind, find)
    const share = Math.floor(count / entries.length) + (index < count % entries.length ? 1 : 0)
    return Array.from({ length: Math.min(share, all.length) }, () => {
      const [drawn] = all.splice(Math.floor(random() * all.length), 1)
      return drawn as Mutant
    })
  })
}

const usualTests = [
  'test/api',
  'test/rules',
  'test/specification',
  'test/storage',
  'test/tasks',
  'test/webhooks',
]

const unspecific = new Set([
  'areas',
  'src',
  'store',
  'routes',
  'operations',
  'rules',
  'index',
  'area',
  'import',
  'http',
  'lib',
])

const hostileTests = ['test/hostile', 'test/fuzz']

/** Tests that are named like a source file or its folders; for a permission the walks over all routes, for HTTP the hostile requests. */
const testsOf = ({ kind, path }: Mutant, tests: readonly string[]) => {
  const words = path
    .replace(/\.ts$/, '')
    .split(/[/-]/)
    .filter((word) => !unspecific.has(word))
    .map((word) => word.replace(/s$/, ''))
  const named = tests.filter((test) => words.some((word) => basename(test).includes(word)))
  const walks = kind === 'missing permission' ? ['test/permissions.test.ts'] : []
  const hostile = path.startsWith('src/http/') ? hostileTests : []
  const all = [...named, ...walks, ...hostile]
  return all.length > 0 ? all : usualTests
}

/** Whether the tests pass, on one engine. */
const runTests = (folder: string, path: string, tests: readonly string[]) =>
  new Promise<boolean>((resolve, reject) => {
    const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
    const engine = path.includes('/postgres') ? 'postgres' : 'sqlite'
    const child = spawn(process.execPath, [vitest, 'run', '--bail=1', '--testTimeout=60000', ...tests], {
      cwd: folder,
      env: { ...process.env, CROSSPOINT_TEST_ENGINES: engine },
      stdio: 'ignore',
    })
    child.on('error', reject)
    child.on('close', (status) => resolve(status === 0))
  })

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '30' },
    seed: { type: 'string', default: '34' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    wide: { type: 'boolean', default: false },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'crosspoint-mutants-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const linked = /^(?:node_modules|dist|console|\.git|data)$/
for (const name of globSync('*', { cwd: root }))
  if (linked.test(name)) symlinkSync(join(root, name), join(folder, name))
  else cpSync(join(root, name), join(folder, name), { recursive: true })

const tests = globSync('test/**/*.test.ts', { cwd: root }).filter(
  (path) => !/\.(?:long|last)\.test|test\/(?:console|processes|client)\//.test(path),
)
let survivors = 0
for (const [index, mutant] of draw(Number(values.count), Number(values.seed)).entries()) {
  if (values.only !== undefined && Number(values.only) !== index + 1) continue
  const { kind, path, line, from, to, text } = mutant
  const place = `${String(index + 1).padStart(3)}  ${kind}: ${path}:${line}`
  const original = readFileSync(join(root, path), 'utf8')
  const changed = original.slice(0, from) + text + original.slice(to)
  const chosen = values.wide ? usualTests : testsOf(mutant, tests)
  if (values.list) {
    const lines = changed.split('\n')[line - 1]?.trim()
    process.stdout.write(`${place}\n     ${lines}\n     ${chosen.length} files\n`)
    continue
  }
  writeFileSync(join(folder, path), changed)
  const isUnnoticed = await runTests(folder, path, chosen)
  writeFileSync(join(folder, path), original)
  if (isUnnoticed) survivors += 1
  process.stdout.write(`${isUnnoticed ? 'SURVIVED' : 'detected'} ${place}\n`)
}
if (!values.list) process.stdout.write(`${survivors} survived\n`)
process.exitCode = survivors === 0 ? 0 : 1
