import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/config/config.ts'
import { threadsByCores } from '../../src/threads/shared-state.ts'

const mistakesOf = (environment: Record<string, string>) => {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

describe('threads that answer requests', () => {
  it('are half as many as processors, one at least and four at most', () => {
    const cores = [1, 2, 3, 4, 6, 7, 8, 64]
    expect(cores.map((count) => threadsByCores(count, 'linux'))).toEqual([1, 1, 1, 2, 3, 3, 4, 4])
  })

  it('are one where the system does not divide connections', () => {
    expect(['darwin', 'win32'].map((platform) => threadsByCores(8, platform as NodeJS.Platform))).toEqual([
      1, 1,
    ])
  })

  it('are as many as the setting requires, 1 to 16', () => {
    expect(readConfig({}).httpThreads).toBeUndefined()
    expect(readConfig({ CROSSPOINT_HTTP_THREADS: '16' }).httpThreads).toBe(16)
    for (const wrong of ['0', '17', '2.5', '-1', 'many'])
      expect(mistakesOf({ CROSSPOINT_HTTP_THREADS: wrong })).toEqual([
        'CROSSPOINT_HTTP_THREADS must be 1 to 16',
      ])
  })

  it('are for the embedded store alone', () => {
    const database = { CROSSPOINT_DATABASE_URL: 'postgres://crosspoint@127.0.0.1/crosspoint' }
    expect(mistakesOf({ ...database, CROSSPOINT_HTTP_THREADS: '1' })).toEqual([])
    expect(mistakesOf({ ...database, CROSSPOINT_HTTP_THREADS: '2' })).toEqual([
      'CROSSPOINT_HTTP_THREADS applies to the embedded store only: with CROSSPOINT_DATABASE_URL, start several servers',
    ])
  })
})
