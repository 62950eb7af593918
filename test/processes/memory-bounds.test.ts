import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { environment, nodeOptions } from '../../scripts/server-process.mjs'
import { program } from '../support/program.ts'

const telling = `console.log(JSON.stringify({
  pid: process.pid, execArgv: process.execArgv.slice(2), arenas: process.env.MALLOC_ARENA_MAX }))`

/** What a command line's process tells of itself, each time that a program begins in it. */
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

/** What compiled code is made for, and refused by any other. */
const codeTagWith = (...options: readonly string[]) =>
  spawnSync(process.execPath, [...options, '-p', "require('node:v8').cachedDataVersionTag()"], {
    encoding: 'utf8',
  }).stdout

describe('bounds of memory', () => {
  it('leave the runtime the compiled code of its own modules', () => {
    expect(codeTagWith(...nodeOptions)).toBe(codeTagWith())
    expect(codeTagWith('--heap-growing-percent=40')).not.toBe(codeTagWith())
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
