// Months of few calls that go in with one transaction.
import { expect, it } from 'vitest'
import { type CallCounts, createCallImport } from '../../import-kazoo/conversions/call-import.ts'
import { emptyBook } from '../../import-kazoo/conversions/ledgers.rules.ts'
import type { Json } from '../../src/lib/json.ts'
import type { ChangeSet } from '../../src/storage/change-set.ts'
import { databaseOf, documentOf, pagesOf } from '../support/kazoo/kazoo-calls.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

// 2025-10-01T00:00:00Z
const october = 63_926_496_000
const day = 86_400

const months = [202510, 202511, 202512]
const beginOf = (month: number) => october + (month - 202510) * 31 * day

const call = (callId: string, month: number): Json => ({
  _id: `${month}-${callId}`,
  pvt_type: 'cdr',
  call_id: callId,
  timestamp: beginOf(month) + 2 * day,
  duration_seconds: 30,
  billing_seconds: 20,
})

type Commit = (set: ChangeSet) => Promise<void>

describeEngines('Months of an account', (engine) => {
  const world = useWorld(engine)

  /**
   * Imports months; returns the outcome for the documents of each month, in the order in which they were
   * stored.
   */
  const bring = async (
    accountId: string,
    content: ReadonlyMap<number, readonly Json[]>,
    { documentsAtOnce, commit }: { documentsAtOnce?: number; commit?: (adopt: Commit) => Commit } = {},
  ) => {
    const { store } = world.server
    const adopt: Commit = (set) =>
      set.changes.length > 0 ? store.adopt(set) : store.writeUnrecorded(set.statements)
    const told: { month: number; counts: CallCounts; isLast: boolean }[] = []
    const { legAdoption } = world.server.areas.cdrs
    const author = { requestId: 'import' }
    const calls = createCallImport(
      { legAdoption, author, documentsAtOnce, commit: commit?.(adopt) ?? adopt },
      accountId,
    )
    for (const [month, fields] of content) {
      const database = databaseOf(accountId, month)
      const documents = fields.map((one) => documentOf(one, database))
      await calls.month({
        database,
        async *pages() {
          yield* pagesOf(documents, 2)
        },
        convertOthers: () => ({ converted: [], book: emptyBook }),
        add: async (set) => {
          // The importer records each month, whether or not it has a call.
          set.run('UPDATE monthly_tables SET state = state WHERE month = $1', [0])
        },
        stored: ({ counts, isLast }) => void told.push({ month, counts, isLast }),
      })
    }
    await calls.settle()
    return told
  }

  const counts = (imported: number, duplicates = 0) => ({ imported, duplicates, skipped: 0, aside: 0 })

  const idsOf = async (accountId: string) =>
    (await storedRows(world.server.store))
      .filter(({ account_id }) => account_id === accountId)
      .map(({ id }) => id)
      .sort()

  const contentOf = (...calls: readonly (readonly [month: number, callId: string])[]) =>
    new Map(
      [...Map.groupBy(calls, ([month]) => month)].map(([month, some]) => [
        month,
        some.map(([, callId]) => call(callId, month)),
      ]),
    )

  const few = contentOf([202510, 'a'], [202510, 'b'], [202511, 'c'], [202512, 'd'])

  it('go in with one transaction, and are one entry of the audit', async () => {
    const { id } = await world.account()
    let commits = 0
    const told = await bring(id, few, {
      commit: (adopt) => async (set) => {
        commits += 1
        await adopt(set)
      },
    })
    expect(told).toEqual(
      months.map((month) => ({ month, counts: counts(month === 202510 ? 2 : 1), isLast: true })),
    )
    expect(commits).toBe(1)
    expect(await idsOf(id)).toEqual(['202510-a', '202510-b', '202511-c', '202512-d'])
    const entries = await world.server.store.all(
      "SELECT after_doc FROM audit_log WHERE account_id = $1 AND kind = 'cdrs'",
      [id],
    )
    expect(entries).toEqual([
      { after_doc: JSON.stringify({ records: 4, first: '202510-a', last: '202512-d' }) },
    ])
  })

  it('go in by as many documents as are wanted at once, the parts of a month one behind the other', async () => {
    const { id } = await world.account()
    const content = contentOf(
      [202510, 'a'],
      ...['b', 'c', 'd', 'e', 'f'].map((callId) => [202511, callId] as const),
      [202512, 'g'],
    )
    const told = await bring(id, content, { documentsAtOnce: 2 })
    expect(told).toEqual([
      { month: 202510, counts: counts(1), isLast: true },
      { month: 202511, counts: counts(2), isLast: false },
      { month: 202511, counts: counts(2), isLast: false },
      { month: 202511, counts: counts(1), isLast: true },
      { month: 202512, counts: counts(1), isLast: true },
    ])
    expect(await idsOf(id)).toHaveLength(7)
  })

  it('have a call once that two of them hold', async () => {
    const { id } = await world.account()
    const stray = { ...call('a', 202510), _id: '202511-a' }
    const content = new Map([
      [202510, [call('a', 202510)]],
      [202511, [stray, call('c', 202511)]],
    ])
    expect(await bring(id, content)).toEqual([
      { month: 202510, counts: counts(1), isLast: true },
      { month: 202511, counts: counts(1, 1), isLast: true },
    ])
    expect(await idsOf(id)).toEqual(['202510-a', '202511-c'])
  })

  it('go in one by one when some of it is there already, and again they change nothing', async () => {
    const { id } = await world.account()
    await bring(id, contentOf([202511, 'c']))
    expect(await bring(id, few)).toEqual([
      { month: 202510, counts: counts(2), isLast: true },
      { month: 202511, counts: counts(0, 1), isLast: true },
      { month: 202512, counts: counts(1), isLast: true },
    ])
    const again = await world.unchanged(() => bring(id, few))
    expect(again.map((one) => one.counts)).toEqual([counts(0, 2), counts(0, 1), counts(0, 1)])
  })

  it('are neither there nor told when their transaction fails', async () => {
    const { id } = await world.account()
    const failing = bring(id, few, {
      commit: () => async () => {
        throw new Error('the disk is gone')
      },
    })
    await expect(failing).rejects.toThrow('the disk is gone')
    expect(await idsOf(id)).toEqual([])
  })
})
