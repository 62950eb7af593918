import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { environment, nodeOptions } from '../../scripts/server-process.mjs'
import { eventually } from '../support/run/eventually.ts'
import { program } from '../support/run/program.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'

const telling = `console.log(JSON.stringify({
  pid: process.pid, execArgv: process.execArgv.slice(2), arenas: process.env.MALLOC_ARENA_MAX }))`

/** Prints the memory figures of a command's process each time a program starts in it. */
const beginningsOf = (...args: readonly string[]) => {
  const { MALLOC_ARENA_MAX: _, ...env } = process.env
  const { pid, stdout } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(telling)}`, program, ...args],
    { env, encoding: 'utf8' },
  )
  const told = stdout.split('\n').filter((line) => line.startsWith('{"pid"'))
  return { pid, told: told.map((line) => JSON.parse(line)) }
}

/** A variable that the environment may also set. */
const ofYoungGeneration = nodeOptions.filter((option) => option.startsWith('--max-semi-space-size'))

/** The tag of compiled code: a process with another tag refuses the code. */
const codeTagWith = (...options: readonly string[]) =>
  spawnSync(process.execPath, [...options, '-p', "require('node:v8').cachedDataVersionTag()"], {
    encoding: 'utf8',
  }).stdout

describe('bounds of memory', () => {
  it('leave the runtime the compiled code of its built-in modules', () => {
    expect(codeTagWith(...nodeOptions)).toBe(codeTagWith())
    expect(codeTagWith('--heap-growing-percent=100')).not.toBe(codeTagWith())
  })

  it('apply to the old generation of a server soon after its start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'crosspoint-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'tag')
    // Told by the process itself: flags show in what compiled code is made for.
    const watching = `import { writeFileSync } from 'node:fs'
      import { cachedDataVersionTag } from 'node:v8'
      import { isMainThread } from 'node:worker_threads'
      if (isMainThread) setInterval(() =>
        writeFileSync(${JSON.stringify(file)}, cachedDataVersionTag() + '\\n'), 50).unref()`
    const server = await startServerProcess({
      CROSSPOINT_DATABASE_URL: undefined,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watching)}`,
    })
    try {
      const bound = codeTagWith('--heap-growing-percent=100')
      await eventually(
        () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
        (tag) => tag === bound,
      )
    } finally {
      await server.end('SIGKILL')
      removeDataDir(server)
    }
  })

  it('apply to the young generation of threads', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'crosspoint-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // What outlives a collection makes a young generation grow. A collection takes further pages, which are given back later: the
    // smallest of several sizes counts.
    const filling = `import { existsSync, writeFileSync } from 'node:fs'
      import { getHeapSpaceStatistics } from 'node:v8'
      import { isMainThread, resourceLimits, threadId } from 'node:worker_threads'
      const folder = ${JSON.stringify(folder)} + '/'
      const fill = () => {
        let kept = []
        let smallest = Infinity
        for (let round = 1; round <= 2_000_000; round += 1) {
          if (kept.length === 20_000) kept = []
          kept.push({ round })
          if (round % 200_000 > 0) continue
          const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
          smallest = Math.min(smallest, round < 1_000_000 ? Infinity : young.space_size)
        }
        return { given: resourceLimits.maxYoungGenerationSizeMb, has: smallest / 2 ** 20 }
      }
      const looking = setInterval(() => {
        if (!existsSync(folder + 'go')) return
        clearInterval(looking)
        writeFileSync(folder + threadId, isMainThread ? '' : JSON.stringify(fill()))
      }, 20)
      looking.unref()`
    const server = await startServerProcess({
      CROSSPOINT_DATABASE_URL: undefined,
      NODE_OPTIONS: `${ofYoungGeneration} --import=data:text/javascript,${encodeURIComponent(filling)}`,
    })
    const toldBy = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8') || 'null')
    try {
      // By now loading, during which none grows, is over.
      writeFileSync(join(folder, 'go'), '')
      const told = await eventually(
        () => readdirSync(folder).filter((name) => name !== 'go' && toldBy(name)),
        (names) => names.length > 0,
      )
      expect(told.map(toldBy).filter(({ given, has }) => has > given)).toEqual([])
    } finally {
      await server.end('SIGKILL')
      removeDataDir(server)
    }
  })

  it('go with commands that read or write whole systems, in the process that was started', () => {
    const { pid, told } = beginningsOf('import', 'kazoo', '--help')
    expect(told).toEqual([
      { pid, execArgv: [] },
      { pid, execArgv: nodeOptions, arenas: environment.MALLOC_ARENA_MAX },
    ])
  })

  it('are nothing to other commands', () => {
    const { pid, told } = beginningsOf('verify', '--help')
    expect(told).toEqual([{ pid, execArgv: [] }])
  })
})
