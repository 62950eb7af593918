// The code of the server in few files: that it is what the sources are, and no more of it is loaded.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf, forgetOldBundles, programOf } from '../../scripts/bundle.mjs'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const sources = join(root, 'src/crosspoint.mjs')

/** On both outputs: a warning of the runtime counts. */
const printedBy = (...args: string[]) => run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 })

const spy = `import { registerHooks } from 'node:module'
  registerHooks({ load(url, context, next) {
    process.stderr.write(url + '\\n')
    return next(url, context)
  } })`

/** The text of all files that a command loads. */
const loadedBy = async (...args: string[]) => {
  const options = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`]
  const { stderr } = await run(process.execPath, [...options, ...args])
  const files = stderr.split('\n').filter((line) => line.startsWith('file:'))
  return { files, text: files.map((file) => readFileSync(new URL(file), 'utf8')).join('\n') }
}

describe('the bundle of the server', () => {
  let program: string

  beforeAll(async () => {
    // The launcher has built it before `npm test`.
    if (!existsSync(bundleOf(root))) await run(process.execPath, [join(root, 'scripts/build-bundle.mjs')])
    program = programOf(root)
  })

  it('is what the launcher runs when it is there', () => {
    expect(program).toBe(join(bundleOf(root), 'crosspoint.js'))
  })

  inFullRun(() => {
    it('takes compiled code from an earlier start, in all threads', async () => {
      const cache = mkdtempSync(join(tmpdir(), 'crosspoint-cache-'))
      onTestFinished(() => rmSync(cache, { recursive: true, force: true }))
      const saidByStart = async () => {
        const server = await startServerProcess({
          CROSSPOINT_DATABASE_URL: undefined,
          CROSSPOINT_HTTP_THREADS: '2',
          NODE_COMPILE_CACHE: cache,
          NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
        })
        expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
        const isOver = once(server.process, 'close')
        await server.end('SIGINT')
        await isOver
        removeDataDir(server)
        return server.errors()
      }
      await saidByStart()
      const said = await saidByStart()
      expect(said.match(/was rejected/g) ?? []).toEqual([])
      expect(said.match(/was accepted/g)?.length).toBeGreaterThan(50)
    })
  })

  it('says what the sources say', async () => {
    for (const args of [
      ['accounts', 'list', '--help'],
      ...(isFullRun ? [['openapi'], ['serve', '--help'], ['--help'], ['completion', 'bash']] : []),
    ])
      expect(await printedBy(program, ...args)).toEqual(await printedBy(sources, ...args))
  })

  it('has few files for the server, and leaves out what few starts need', async () => {
    const { files, text } = await loadedBy(program, 'serve', '--help')
    expect(files.filter((file) => !file.startsWith(`file://${bundleOf(root)}/`))).toEqual([])
    expect(files.length).toBeLessThan(120)
    expect(text).toContain('\n// node_modules/typebox/')
    expect(text).not.toMatch(/\n\/\/ (?:cli|demo|import-kazoo)\//)
    for (const name of ['commander', 'pg', '@clack', '@bomb.sh', 'hyparquet', 'fast-string-truncated-width'])
      expect(text).not.toContain(`\n// node_modules/${name}/`)
    // In parentheses, what a start calls is compiled with its file, and kept.
    const starters = text.match(/^const create[A-Z]\w* = \(?(async )?\(.*=> \{$/gm) ?? []
    expect(starters.length).toBeGreaterThan(100)
    expect(starters.filter((starter) => !/ = \((async )?\(/.test(starter))).toEqual([])
    // One letter of more than a byte would make two bytes of each.
    expect([...text].findLast((letter) => letter > '\x7f')).toBeUndefined()
    const others = await loadedBy(program, 'accounts', '--help')
    expect(others.text).toContain('\n// node_modules/commander/')
  })
})

it('is another one when a source changes by size or time, and only then', () => {
  const place = mkdtempSync(join(tmpdir(), 'crosspoint-bundle-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  for (const name of ['src', 'cli', 'demo', 'import-kazoo', 'scripts', 'package-lock.json'])
    cpSync(join(root, name), join(place, name), { recursive: true, preserveTimestamps: true })
  const before = bundleOf(place)
  expect(bundleOf(place)).toBe(before)
  // Nothing is built there: the sources run.
  expect(programOf(place)).toBe(join(place, 'bin/crosspoint.mjs'))
  const changed = [
    'src/compose.ts',
    'src/http/openapi/examples/users.json',
    'cli/api.ts',
    'import-kazoo/area.ts',
  ]
  const bundles = changed.map((name) => {
    const source = join(place, name)
    const { atime, mtimeMs } = statSync(source)
    utimesSync(source, atime, new Date(mtimeMs + 1000))
    return bundleOf(place)
  })
  appendFileSync(join(place, 'package-lock.json'), '\n')
  expect(new Set([before, ...bundles, bundleOf(place)]).size).toBe(6)
})

it('stays as long as a process runs that was started from it, however many newer ones there are', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-bundles-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const names = ['one', 'two', 'three', 'four', 'five', 'six']
  for (const [index, name] of names.entries()) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'crosspoint.js'), 'process.stdin.resume()')
    utimesSync(join(folder, name), index, index)
  }
  const running = spawn(process.execPath, [join(folder, 'one', 'crosspoint.js'), 'serve'])
  await once(running, 'spawn')
  const ended = once(running, 'close')
  onTestFinished(() => void running.kill('SIGKILL'))
  forgetOldBundles(folder)
  expect(readdirSync(folder).sort()).toEqual(['five', 'four', 'one', 'six', 'three'])
  running.stdin.end()
  await ended
  forgetOldBundles(folder)
  expect(readdirSync(folder).sort()).toEqual(['five', 'four', 'six', 'three'])
})
