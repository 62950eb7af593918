import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/storage/db.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { noteCommit } from '../../src/storage/sqlite-commits.ts'
import { createStatements, openDurable } from '../../src/storage/sqlite-open.ts'
import { countOf } from '../support/run/run-length.ts'

// A server and a command on one file of the embedded store, each with the connection of a separate process.
describe('commits of other processes on the embedded store', () => {
  let folder: string
  let file: string
  let server: Database
  let opened: Database[]
  let heard: string[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'crosspoint-commits-'))
    file = join(folder, 'crosspoint.db')
    server = openSqlite(file)
    opened = [server]
    await server.exclusively(async (run) => {
      await run('CREATE TABLE notes (id TEXT)')
    })
    heard = []
    server.onStale((keys) => void heard.push(...(keys === 'everything' ? [keys] : keys)))
  })

  afterEach(async () => {
    for (const db of opened) await db.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = (options = {}) => {
    const db = openSqlite(file, options)
    opened.push(db)
    return db
  }

  const write = (db: Database, ...stale: string[]) =>
    db.write({ statements: [{ sql: 'INSERT INTO notes (id) VALUES ($1)', params: ['a'] }], stale })

  const heardBehindFence = async () => {
    heard.splice(0)
    await server.fence()
    return heard.toSorted()
  }

  it('of a command make stale what they name, and nothing else', async () => {
    const command = open({ tellsKeys: true })
    await write(command, 'one', 'two')
    await write(command)
    expect(await heardBehindFence()).toEqual(['one', 'two'])
    expect(await heardBehindFence()).toEqual([])
    await write(command, 'three')
    await write(open({ tellsKeys: true }), 'four')
    expect(await heardBehindFence()).toEqual(['four', 'three'])
  })

  it('of the server itself make nothing else stale', async () => {
    await write(open({ tellsKeys: true }), 'foreign')
    expect(await heardBehindFence()).toEqual(['foreign'])
    heard.splice(0)
    await write(server, 'own')
    expect(heard).toEqual(['own'])
    expect(await heardBehindFence()).toEqual([])
  })

  it('of another server make everything stale', async () => {
    await write(open(), 'one')
    expect(await heardBehindFence()).toEqual(['everything'])
  })

  it('that are too many for a notification, or name too much, make everything stale', async () => {
    const command = open({ tellsKeys: true })
    for (let number = 0; number < 600; number += 1) await write(command, `key ${number}`)
    expect(await heardBehindFence()).toEqual(['everything'])
    await write(command, 'k'.repeat(200_000))
    expect(await heardBehindFence()).toEqual(['everything'])
    await write(command, 'small')
    expect(await heardBehindFence()).toEqual(['small'])
  })

  it('make everything stale once when the books of many commands are put together', async () => {
    const command = open({ tellsKeys: true })
    await write(command, 'before')
    await heardBehindFence()
    const connection = openDurable(file)
    onTestFinished(() => connection.close())
    const prepared = createStatements(connection)
    for (let number = 0; number < 101; number += 1)
      noteCommit(prepared, `command ${number}`, [`short ${number}`])
    open()
    expect(await heardBehindFence()).toContain('everything')
    await write(command, 'after')
    expect(await heardBehindFence()).toEqual(['after'])
  })

  it('are noticed in any order of writing and looking', async () => {
    const writers = [open({ tellsKeys: true }), open({ tellsKeys: true }), server]
    const step = fc.oneof(fc.nat(writers.length - 1), fc.constant('look' as const))
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        await heardBehindFence()
        const missing = new Set<string>()
        for (const [at, one] of steps.entries()) {
          if (one === 'look') {
            const told = await heardBehindFence()
            if (told.includes('everything')) missing.clear()
            for (const key of told) missing.delete(key)
            expect([...missing]).toEqual([])
          } else {
            const isOwn = writers[one] === server
            const key = at % 7 === 6 ? 'everything' : `key ${at}`
            if (!isOwn) missing.add(key)
            await write(writers[one] as Database, key === 'everything' ? 'k'.repeat(200_000) : key)
          }
        }
      }),
      { numRuns: countOf(5, 15) },
    )
  })
})
