import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isStorable, sortKeyOf } from '../../src/storage/records.ts'
import { createTestClock } from '../support/run/clock.ts'
import { countOf } from '../support/run/run-length.ts'
import {
  describeEngines,
  type Engine,
  openTestDatabase,
  sharedBySuite,
} from '../support/servers/databases.ts'
import { type Notes, openNotes } from '../support/world/notes.ts'

const useNotes = (engine: Engine) =>
  sharedBySuite(
    async () => {
      const { db, close } = await openTestDatabase(engine)
      return { ...openNotes(db, createTestClock()), close }
    },
    ({ close }) => close(),
  )

let accounts = 0
const freshAccount = () => `account-${++accounts}`

/** All titles, read in pages of `limit`, each page beginning behind the last row of the one before. */
const readInPages = async ({ notes }: Notes, accountId: string, limit: number, descending: boolean) => {
  const titles: string[] = []
  let after: readonly [string, string] | undefined
  for (;;) {
    const page = await notes.page({ accountId, limit, descending, ...(after ? { after } : {}) })
    titles.push(...page.map(({ doc }) => doc.title))
    const last = page.at(-1)
    if (!last) return titles
    after = [last.sortKey, last.id]
  }
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

// Code points of one to four bytes, signs that collations skip or fold, and few enough for equal keys.
const title = fc.string({
  unit: fc.constantFrom(
    'a',
    'A',
    'ä',
    'ß',
    'z',
    'Z',
    '0',
    '9',
    ' ',
    '-',
    '_',
    '%',
    'é',
    '中',
    '\u{1f600}',
    '\uffff',
  ),
  maxLength: 4,
})

describeEngines('records', (engine) => {
  const world = useNotes(engine)

  it('are found by account and id, with everything they were made of', async () => {
    const accountId = freshAccount()
    const made = await world.add(accountId, {
      title: 'Überschrift \u{1f600}',
      owner: 'u1',
      list: [1, null, { a: 'b' }],
    })
    const found = await world.notes.get(accountId, made.id)
    expect(found).toEqual(made)
    expect(found.doc).toEqual({ title: 'Überschrift \u{1f600}', owner: 'u1', list: [1, null, { a: 'b' }] })
    expect(found.ownerId).toBe('u1')
  })

  it('are not found through another account, nor another kind', async () => {
    const made = await world.add(freshAccount(), { title: 'mine' })
    expect(await world.notes.find(freshAccount(), made.id)).toBeUndefined()
    expect(await world.store.records.find(made.accountId, 'other', made.id)).toBeUndefined()
    await expect(world.notes.get(freshAccount(), made.id)).rejects.toMatchObject({
      kind: { name: 'bad_identifier' },
      details: { cause: made.id },
    })
  })

  it('are not found by ids that no engine can bind', async () => {
    for (const id of ['\0', 'a\0b', '\ud800', 'x\udfff']) {
      expect(await world.notes.find(freshAccount(), id)).toBeUndefined()
    }
  })

  it('refuse an id that is taken', async () => {
    const made = await world.add(freshAccount(), { title: 'first' })
    const again = world.add(made.accountId, { title: 'second' }, made.id)
    await expect(again).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect((await world.notes.get(made.accountId, made.id)).doc.title).toBe('first')
  })

  it('change only from the revision that was read', async () => {
    const made = await world.add(freshAccount(), { title: 'one' })
    const second = await world.change(made, { title: 'two' })
    await expect(world.change(made, { title: 'late' })).rejects.toMatchObject({
      kind: { name: 'datastore_conflict' },
    })
    await expect(world.remove(made)).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await world.notes.get(made.accountId, made.id)).toEqual(second)
    expect(second.revision).not.toBe(made.revision)
  })

  it('are gone once removed, and cannot be changed then', async () => {
    const made = await world.add(freshAccount(), { title: 'one' })
    await world.remove(made)
    expect(await world.notes.find(made.accountId, made.id)).toBeUndefined()
    await expect(world.change(made, { title: 'two' })).rejects.toMatchObject({
      kind: { name: 'datastore_conflict' },
    })
  })

  it('are all cached where they are few, as the last change left them, and no others', async () => {
    const accountId = freshAccount()
    const few = async () => (await world.notes.few(accountId)).map(({ doc }) => doc.title)
    expect(await few()).toEqual([])
    const b = await world.add(accountId, { title: 'b' })
    const a = await world.add(accountId, { title: 'a' })
    await world.add(freshAccount(), { title: 'of another account' })
    expect(await few()).toEqual(['a', 'b'])
    expect(await world.notes.few(accountId)).toBe(await world.notes.few(accountId))
    await world.change(a, { title: 'c' })
    expect(await few()).toEqual(['b', 'c'])
    await world.remove(b)
    expect(await few()).toEqual(['c'])
    for (let n = 0; n < 510; n += 1) await world.add(accountId, { title: `d${String(n).padStart(3, '0')}` })
    expect(await few()).toHaveLength(511)
  })

  it('give the whole list when pages are joined, in the order of the bytes of their keys', async () => {
    const whole = fc.asyncProperty(
      fc.array(title, { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (titles, limit) => {
        const accountId = freshAccount()
        for (const text of titles) await world.add(accountId, { title: text })
        const sorted = titles.toSorted(byBytes)
        expect(await readInPages(world, accountId, limit, false)).toEqual(sorted)
        expect(await readInPages(world, accountId, limit, true)).toEqual(sorted.toReversed())
      },
    )
    await fc.assert(whole, { numRuns: countOf(10, 40) })
  })

  it('show in pages only the rows of their owner, and the same rows without documents', async () => {
    const accountId = freshAccount()
    for (const [text, owner] of [
      ['a', 'u1'],
      ['b', 'u2'],
      ['c', 'u1'],
    ] as const) {
      await world.add(accountId, { title: text, owner })
    }
    const query = { accountId, ownerId: 'u1', limit: 10, descending: false }
    const page = await world.notes.page(query)
    expect(page.map(({ doc }) => doc.title)).toEqual(['a', 'c'])
    const rows = await world.notes.rows(query)
    expect(rows).toEqual(page.map(({ id, sortKey, rowText }) => ({ id, sortKey, rowText })))
    expect(await world.notes.page({ ...query, long: true })).toEqual(page)
  })

  it('keep escaped NUL and lone surrogates inside their documents', async () => {
    const text = 'NUL \0, halves \ud800 and \udc00'
    const { accountId, id } = await world.add(freshAccount(), { title: 'odd', text })
    expect((await world.notes.get(accountId, id)).doc.text).toBe(text)
  })
})

describe('a sort key', () => {
  it('can always be bound, is bounded, and keeps a cut surrogate pair out', () => {
    const bindable = fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      const key = sortKeyOf(text, undefined, text)
      expect(isStorable(key)).toBe(true)
      expect(key.length).toBeLessThanOrEqual(256)
    })
    fc.assert(bindable)
    expect(isStorable(sortKeyOf(`${'x'.repeat(255)}\u{1f600}`))).toBe(true)
    expect(sortKeyOf('\ud800\0A', 'B')).toBe('\ufffda b')
  })
})
