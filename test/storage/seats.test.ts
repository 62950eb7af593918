import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { datastoreConflict, failure } from '../../src/lib/failure.ts'
import type { Database, Statement } from '../../src/storage/db.ts'
import { joinSqlite, openSqlite } from '../../src/storage/sqlite.ts'
import { eventually } from '../support/run/eventually.ts'

// The seats of two threads at the one that writes; here both are in one thread.
describe('threads with seats at the embedded store', () => {
  let folder: string
  let file: string
  let first: Database
  let second: Database
  let heard: string[][]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'crosspoint-seats-'))
    file = join(folder, 'crosspoint.db')
    first = openSqlite(file)
    await first.exclusively(async (run) => {
      await run('CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT)')
    })
    if (!first.seating) throw new Error('the embedded store has no seats')
    second = await joinSqlite(file, first.seating)
    heard = [[], []]
    for (const [index, db] of [first, second].entries())
      db.onStale((keys) => void heard[index]?.push(...(keys === 'everything' ? [keys] : keys)))
  })

  afterEach(async () => {
    await second.close()
    await first.close()
    await rm(folder, { recursive: true, force: true })
  })

  const adding = (id: string, text = 'text'): Statement => ({
    sql: 'INSERT INTO notes (id, text) VALUES ($1, $2)',
    params: [id, text],
  })

  const add = (db: Database, id: string) => db.write({ statements: [adding(id)], stale: [id] })

  const ids = async (db: Database) =>
    (await db.all<{ id: string }>('SELECT id FROM notes ORDER BY id')).map(({ id }) => id)

  it('hear behind the fence what the other has made stale, and not twice what they have themselves', async () => {
    for (let round = 0; round < 200; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [first, second] : [second, first]
      await add(writer, `note ${round}`)
      await reader.fence()
      expect(heard).toEqual([[`note ${round}`], [`note ${round}`]])
      expect(await ids(reader)).toContain(`note ${round}`)
      heard[0]?.splice(0)
      heard[1]?.splice(0)
    }
  })

  it('hear behind the fence of what they have committed themselves as soon as the other can read it', async () => {
    for (let round = 0; round < 200; round += 1) {
      const [writer, reader, own] = round % 2 === 0 ? [first, second, 0] : [second, first, 1]
      const id = `note ${round}`
      const adding = add(writer, id)
      while (!(await ids(reader)).includes(id));
      await writer.fence()
      expect(heard[own]).toContain(id)
      await adding
    }
  })

  it('receive nothing of what was refused', async () => {
    const orElse = () => failure(datastoreConflict, {})
    const nothing = { sql: 'DELETE FROM notes', params: [], expect: { rows: 1, orElse } }
    await expect(first.write({ statements: [nothing], stale: ['refused'] })).rejects.toThrow()
    await second.write({ statements: [adding('other')], stale: ['other'] })
    await Promise.all([first.fence(), second.fence()])
    expect(heard).toEqual([['other'], ['other']])
  })

  it('share commits, each with its own verdict', async () => {
    await add(first, 'taken')
    const names = Array.from({ length: 60 }, (_, n) => (n % 20 === 0 ? 'taken' : `note ${n}`))
    const settled = await Promise.allSettled(names.map((id, n) => add(n % 2 === 0 ? first : second, id)))
    expect(settled.map(({ status }) => status)).toEqual(
      names.map((id) => (id === 'taken' ? 'rejected' : 'fulfilled')),
    )
    expect(await ids(second)).toHaveLength(58)
  })

  it('miss nothing of what is being written when they come', async () => {
    // So many that to change them takes longer than to come.
    await first.exclusively(async (run) => {
      await run(`INSERT INTO notes (id, text)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000) SELECT 'n' || i, '' FROM n`)
    })
    await add(first, 'note')
    for (let round = 0; round < 3; round += 1) {
      const changed = `text of round ${round}`
      const slow = { sql: 'UPDATE notes SET text = $1', params: [changed] }
      const writing = second.write({ statements: [slow], stale: ['note'] })
      if (!first.seating) throw new Error('the embedded store has no seats')
      const third = await joinSqlite(file, first.seating)
      const told: string[] = []
      third.onStale((keys) => void told.push(...(keys === 'everything' ? [keys] : keys)))
      const [before] = await third.all<{ text: string }>('SELECT text FROM notes LIMIT 1')
      await writing
      await third.fence()
      // A row that it has read by then is current, or it has received a notification.
      expect(before?.text === changed || told.includes('note')).toBe(true)
      await third.close()
    }
  })

  it('name their statements each for itself', async () => {
    await first.write({ statements: [adding('a', 'old')], stale: [] })
    await second.write({
      statements: [{ sql: 'UPDATE notes SET text = $2 WHERE id = $1', params: ['a', 'new'] }],
      stale: [],
    })
    expect(await first.all('SELECT id, text FROM notes')).toEqual([{ id: 'a', text: 'new' }])
  })

  it('keep their statements apart from those of a batch that could not be sent', async () => {
    const unsendable = {
      sql: "INSERT INTO notes (id, text) VALUES ($1, 'never')",
      get params(): never {
        throw new Error('no values')
      },
    }
    await expect(first.write({ statements: [unsendable], stale: [] })).rejects.toThrow('no values')
    const adds = ['one', 'two'].map((text) => ({
      sql: `INSERT INTO notes (id, text) VALUES ($1, '${text}')`,
      params: [text],
    }))
    for (const statement of adds) await first.write({ statements: [statement], stale: [] })
    await first.write({ statements: [{ sql: unsendable.sql, params: ['late'] }], stale: [] })
    expect(await first.all('SELECT id, text FROM notes ORDER BY id')).toEqual([
      { id: 'late', text: 'never' },
      { id: 'one', text: 'one' },
      { id: 'two', text: 'two' },
    ])
  })

  it('take others, and forget what they keep, when the thread that writes has died', async () => {
    await add(first, 'before')
    const doomed = await first.seating?.seat()
    doomed?.postMessage('an unreadable message')
    const hearsEverything = async () => {
      heard = [[], []]
      await second.fence()
      return heard[1]?.includes('everything') === true
    }
    await eventually(hearsEverything, (isSo) => isSo)
    const isWritten = (db: Database, id: string) =>
      add(db, id).then(
        () => true,
        () => false,
      )
    await eventually(
      () => isWritten(second, 'after'),
      (isSo) => isSo,
    )
    await first.fence()
    await eventually(
      () => isWritten(first, 'last'),
      (isSo) => isSo,
    )
    await second.fence()
    heard = [[], []]
    await add(second, 'heard')
    await first.fence()
    expect(heard).toEqual([['heard'], ['heard']])
    expect(await ids(first)).toEqual(['after', 'before', 'heard', 'last'])
  })
})
