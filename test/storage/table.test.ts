import { expect, expectTypeOf, it } from 'vitest'
import { type AccountRecord, accountKind } from '../../src/auth/identity.ts'
import { conflict } from '../../src/storage/change-set.ts'
import type { Row } from '../../src/storage/db.ts'
import { kind, recordColumns, type StoredRecord } from '../../src/storage/records.ts'
import {
  flag,
  integer,
  json,
  keyset,
  oneOf,
  optional,
  placeholders,
  type RowOf,
  shape,
  table,
  text,
} from '../../src/storage/table.ts'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import { openNotes } from '../support/world/notes.ts'

interface Step {
  at: string
}

const jobs = table('test_jobs', {
  accountId: text(),
  id: text(),
  dueAt: integer(),
  isUrgent: flag('urgent'),
  state: oneOf(['open', 'done']),
  step: optional(json<Step>('step_json')),
  note: optional(text()),
  ended: optional(integer()),
})

type Job = RowOf<typeof jobs>

const job = (more: Partial<Job> & Pick<Job, 'accountId' | 'id'>): Job => ({
  dueAt: 5,
  isUrgent: true,
  state: 'open',
  step: { at: 'the "door"' },
  note: undefined,
  ended: undefined,
  ...more,
})

let accounts = 0
const freshAccount = () => `account-${++accounts}`

describeEngines('a described table', (engine) => {
  const world = sharedBySuite(
    async () => {
      const { db, close } = await openTestDatabase(engine)
      await db.exclusively(async (run) => {
        await run(`CREATE TABLE test_jobs (
          account_id TEXT NOT NULL, id TEXT NOT NULL, due_at BIGINT NOT NULL, urgent INTEGER NOT NULL DEFAULT 0,
          state TEXT NOT NULL DEFAULT 'open', step_json TEXT, note TEXT, ended BIGINT, PRIMARY KEY (account_id, id))`)
      })
      return { db, ...openNotes(db, createTestClock()), close }
    },
    ({ close }) => close(),
  )

  const write = (...statements: Parameters<typeof world.store.writeUnrecorded>[0]) =>
    world.store.writeUnrecorded(statements)

  const stored = async (accountId: string) =>
    jobs.list(
      await world.store.all(`SELECT ${jobs.columns} FROM test_jobs WHERE account_id = $1 ORDER BY id`, [
        accountId,
      ]),
    )

  it('reads what it wrote, of every type', async () => {
    const accountId = freshAccount()
    const rows = [
      job({ accountId, id: 'a' }),
      job({ accountId, id: 'b', isUrgent: false, state: 'done', step: undefined, note: '', ended: 0 }),
    ]
    await write(...rows.map((row) => jobs.insert()(row)))
    expect(await stored(accountId)).toEqual(rows)
    expectTypeOf<Job>().toEqualTypeOf<{
      accountId: string
      id: string
      dueAt: number
      isUrgent: boolean
      state: 'open' | 'done'
      step: Step | undefined
      note: string | undefined
      ended: number | undefined
    }>()
  })

  it('adds rows of some columns, whose others are what the table says', async () => {
    const accountId = freshAccount()
    const add = jobs.pick('accountId', 'id', 'dueAt').insert('ON CONFLICT DO NOTHING')
    await write(add({ accountId, id: 'a', dueAt: 1 }), add({ accountId, id: 'a', dueAt: 2 }))
    expect(await stored(accountId)).toEqual([
      job({ accountId, id: 'a', dueAt: 1, isUrgent: false, step: undefined }),
    ])
  })

  it('adds rows together with the rows of other writes', async () => {
    const accountId = freshAccount()
    const rows = [job({ accountId, id: 'a' }), job({ accountId, id: 'b', note: 'second' })]
    await world.db.write({ statements: [], appends: rows.map((row) => jobs.append(row)), stale: [] })
    expect(await stored(accountId)).toEqual(rows)
  })

  it('changes the row of the same key, or adds it', async () => {
    const accountId = freshAccount()
    const put = jobs.pick('id', 'accountId', 'dueAt', 'note').upsert('accountId', 'id')
    await write(jobs.insert()(job({ accountId, id: 'a', state: 'done' })))
    await write(
      put({ accountId, id: 'a', dueAt: 9, note: 'later' }),
      put({ accountId, id: 'b', dueAt: 3, note: undefined }),
    )
    expect(await stored(accountId)).toEqual([
      job({ accountId, id: 'a', state: 'done', dueAt: 9, note: 'later' }),
      job({ accountId, id: 'b', dueAt: 3, isUrgent: false, step: undefined }),
    ])
  })

  it('changes the named columns of one row, if what else is asked holds', async () => {
    const accountId = freshAccount()
    const [first, second] = [job({ accountId, id: 'a' }), job({ accountId, id: 'b' })]
    await write(...[first, second].map((row) => jobs.insert()(row)))
    const finish = jobs
      .pick('state', 'accountId', 'id', 'ended')
      .update(['accountId', 'id'], "AND state = 'open'")
    const done = { accountId, id: 'a', state: 'done', ended: 7 } as const
    const once = { rows: 1, orElse: conflict }
    await write(finish(done, once))
    await expect(write(finish(done, once))).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await stored(accountId)).toEqual([{ ...first, state: 'done', ended: 7 }, second])
  })

  it('reads some columns of a joined table together with what a query computes', async () => {
    const accountId = freshAccount()
    await write(jobs.insert()(job({ accountId, id: 'a', dueAt: 4 })))
    const due = jobs.pick('id', 'dueAt', 'isUrgent')
    const counted = shape({ count: integer() })
    const rows = await world.store.scan(
      `SELECT ${due.columnsOf('e')}, 1 AS count FROM test_jobs e WHERE e.account_id = $1 ORDER BY e.due_at`,
      [accountId],
    )
    expect(due.first(rows)).toMatchObject({ id: 'a', dueAt: 4, isUrgent: true })
    expect(counted.first(rows)?.count).toBe(1)
  })

  it('says that an answer lacks a column or holds something else', async () => {
    const accountId = freshAccount()
    await write(jobs.insert()(job({ accountId, id: 'a' })))
    const read = async (columns: string) => () =>
      jobs.pick('id', 'dueAt', 'state').list(rowsOf[columns] ?? [])
    const rowsOf: Record<string, Row[]> = {}
    for (const columns of ['id', `id, '5' AS "dueAt", 'open' AS state`, `id, 5 AS "dueAt", 'lost' AS state`])
      rowsOf[columns] = await world.store.all(
        `SELECT ${columns} FROM test_jobs WHERE account_id = $1 LIMIT 1`,
        [accountId],
      )
    const [short, wrong, lost] = await Promise.all(Object.keys(rowsOf).map(read))
    expect(short).toThrow('the column dueAt of a row is not of the type integer: undefined')
    expect(wrong).toThrow('the column dueAt of a row is not of the type integer: "5"')
    expect(lost).toThrow('a row contains lost instead of one of: open, done')
  })

  it('is walked in pages in both directions', async () => {
    const accountId = freshAccount()
    const place = jobs.pick('dueAt', 'id')
    const rows = [
      { dueAt: 1, id: 'b' },
      { dueAt: 1, id: 'c' },
      { dueAt: 2, id: 'a' },
    ]
    await write(...rows.map((row) => jobs.insert()(job({ accountId, ...row }))))
    for (const descending of [false, true]) {
      const { behind, order } = keyset(['due_at', 'id'], descending)
      const from = descending ? [2, 'a'] : [1, 'b']
      const found = await world.store.all(
        `SELECT ${place.columns} FROM test_jobs WHERE account_id = $1 AND ${behind(2)} ORDER BY ${order}`,
        [accountId, ...from],
      )
      expect(place.list(found)).toEqual(descending ? rows.slice(0, 2).toReversed() : rows.slice(1))
    }
  })

  it('gives records the type of their kind', async () => {
    const accountId = freshAccount()
    const noteKind = kind<{ title: string }, { mark?: string }>('note')
    const note = await world.add(accountId, { title: 'one' }, 'a')
    const found = await world.store.records.find(accountId, noteKind, 'a')
    expect(found?.doc.title).toBe('one')
    const page = await world.store.records.page({ accountId, kind: noteKind, limit: 5, descending: false })
    const rows = await world.store.all(`SELECT ${recordColumns('r')} FROM records r WHERE account_id = $1`, [
      accountId,
    ])
    for (const records of [page, world.store.records.of(noteKind, rows)])
      expect(records.map(({ id, revision, doc }) => ({ id, revision, title: doc.title }))).toEqual([
        { id: 'a', revision: note.revision, title: 'one' },
      ])
    expectTypeOf(page).toEqualTypeOf<StoredRecord<{ title: string }, { mark?: string }>[]>()
    expectTypeOf(world.store.records.find('a', accountKind, 'a')).toEqualTypeOf<
      Promise<AccountRecord | undefined>
    >()
    expectTypeOf(world.store.records.find('a', 'anything', 'a')).toEqualTypeOf<
      Promise<StoredRecord | undefined>
    >()
  })
})

it('placeholders are counted from where one says', () => {
  expect([placeholders(3), placeholders(2, 4)]).toEqual(['$1, $2, $3', '$4, $5'])
})
