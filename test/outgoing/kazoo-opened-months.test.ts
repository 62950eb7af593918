// Months whose first page is asked for before they are read.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openMonth } from '../../import-kazoo/running/opened-months.ts'
import { openSource } from '../../import-kazoo/source/open.ts'
import { DatabaseVanished, type SourcePage } from '../../import-kazoo/source/source.ts'
import { eventually } from '../support/eventually.ts'
import { startKazoo } from '../support/kazoo/stand-in.ts'

const database = 'account/aa/aa/aa-202502'
const rollover = '202502-ledgers_monthly_rollover'

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

const documentOf = (id: string, more = '') => ({
  id,
  rev: '1-a',
  text: `{"_id":"${id}","_rev":"1-a"${more}}`,
  files: [],
  losers: [],
})

const calls = (count: number, prefix = '202502-call') =>
  Array.from({ length: count }, (_, at) => documentOf(`${prefix}${String(at).padStart(5, '0')}`))

const stage = async (documents: ReturnType<typeof documentOf>[]) => {
  const kazoo = await startKazoo(new Map([[database, documents]]))
  const source = await openSource(kazoo.url)
  endings.push(source.close, kazoo.close)
  const listed = () => kazoo.requests.filter(({ path }) => path[1] === '_all_docs').length
  const asked = () => kazoo.requests.filter(({ path }) => path[0] === database).length
  return { source, listed, asked, kazoo }
}

const none = Promise.resolve()

const all = async (pages: AsyncIterable<SourcePage>) => {
  const found: string[] = []
  for await (const { documents } of pages) found.push(...documents.map(({ id }) => id))
  return found
}

describe('A month', () => {
  it.each([
    ['has a rollover', [...calls(2), documentOf(rollover)], true],
    ['has none', calls(3), false],
    ['has one that Kazoo calls deleted', [documentOf(rollover, ',"pvt_deleted":true')], false],
    ['is empty', [], false],
  ])('of one page is asked for once, and tells whether it %s', async (_, documents, expected) => {
    const { source, asked } = await stage(documents)
    const month = openMonth(source, database, none)
    expect(await month.hasRollover(database, 202502)).toBe(expected)
    expect(await all(month.pages())).toEqual(documents.map(({ id }) => id))
    expect(asked()).toBe(1)
  })

  it('of more pages does not tell where its first one has no rollover, and is read whole', async () => {
    const documents = [...calls(1500), documentOf(rollover)]
    const { source } = await stage(documents)
    const month = openMonth(source, database, none)
    expect(await month.hasRollover(database, 202502)).toBeUndefined()
    expect(await all(month.pages())).toEqual(documents.map(({ id }) => id))
  })

  it('of more pages does not tell either where it has one there: another source may know better', async () => {
    const { source } = await stage([documentOf(rollover), ...calls(1500, '202502-z')])
    const month = openMonth(source, database, none)
    expect(await month.hasRollover(database, 202502)).toBeUndefined()
    month.close()
  })

  it('that is closed leaves no answer behind that nobody reads', async () => {
    const text = 'x'.repeat(1_500_000)
    const { source, kazoo } = await stage(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => documentOf(id, `,"text":"${text}"`)),
    )
    const month = openMonth(source, database, none)
    expect(await month.hasRollover(database, 202502)).toBeUndefined()
    expect(await kazoo.connections()).toBe(1)
    month.close()
    await eventually(kazoo.connections, (count) => count === 0)
  })

  it('is asked for only behind what it waits for', async () => {
    const { source, listed } = await stage(calls(1))
    const before = Promise.withResolvers<void>()
    const month = openMonth(source, database, before.promise)
    const reading = all(month.pages())
    await nextTurn()
    expect(listed()).toBe(0)
    before.resolve()
    expect(await reading).toHaveLength(1)
  })

  it('that is not there any more is met by whoever reads it', async () => {
    const { source, kazoo } = await stage(calls(1))
    kazoo.removeDatabase(database)
    await expect(all(openMonth(source, database, none).pages())).rejects.toThrow(DatabaseVanished)
    openMonth(source, database, none).close()
  })
})
