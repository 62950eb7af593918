// A page of accounts costs the same, however many there are.
import { beforeAll, expect, it } from 'vitest'
import { createAccountStore, type TreePage } from '../../src/areas/accounts/store.ts'
import { createMigrationStore } from '../../src/areas/migrations/store.ts'
import { createSearchStore } from '../../src/areas/search/store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'

const accountCount = 4000
const ancestorId = '0'.repeat(32)
const idOf = (number: number) => number.toString(16).padStart(32, '0')
const keyOf = (number: number) => `name ${idOf(number)}`

interface PlanNode {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: PlanNode[]
}

const mostRows = (node: PlanNode): number =>
  Math.max(node['Actual Rows'] * node['Actual Loops'], ...(node.Plans ?? []).map(mostRows))

describeEngines('A page of accounts', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      return { opened, store: createStore(opened.db, systemClock) }
    },
    ({ opened }) => opened.close(),
  )

  beforeAll(async () => {
    const { db } = place.opened
    await db.exclusively(async (run) => {
      for (let number = 1; number <= accountCount; number += 1) {
        const [id, key] = [idOf(number), keyOf(number)]
        await run(
          `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
            VALUES ($1, 'account', $1, '', $2, 1, 1, 'x', '{}', '{}', '{}')`,
          [id, key],
        )
        await run(
          `INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key, name_key, realm_key)
            VALUES ($1, $2, 1, $3, $3, $3)`,
          [id, ancestorId, key],
        )
      }
    })
    // Statistics that the server would gather by itself before long.
    await db.exclusively(async (run) => void (await run('ANALYZE')))
  }, 120_000)

  /** At most so many rows were touched at one place of the plan; SQLite tells only along which index it goes. */
  const costOf = async (sql: string, params: readonly Value[]): Promise<number> => {
    const { db } = place.opened
    if (engine === 'postgres') {
      const [row] = await db.all<Record<string, unknown>>(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`,
        params,
      )
      const plans = row?.['QUERY PLAN'] as { Plan: PlanNode }[]
      return Math.max(...plans.map((plan) => mostRows(plan.Plan)))
    }
    const lines = await db.scan<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params)
    return lines.some(({ detail }) => /SCAN (account_tree|records|r\b)/.test(detail)) ? accountCount : 0
  }

  const costsOf = async (read: (store: Store) => Promise<unknown>) => {
    const costs: number[] = []
    const asking = async <R = Row>(sql: string, params: readonly Value[] = []) => {
      costs.push(await costOf(sql, params))
      return place.store.all<R>(sql, params)
    }
    await read({ ...place.store, all: asking, scan: asking })
    return costs
  }

  const limit = 51
  const middle = accountCount / 2
  const after = [keyOf(middle), idOf(middle)] as const

  it.each([
    ['children', true],
    ['descendants', false],
  ])('of its %s touches no more than it shows, at the beginning and in the middle', async (_name, direct) => {
    const first: TreePage = { ancestorId, direct, limit, descending: false }
    for (const page of [first, { ...first, after }, { ...first, after, descending: true }]) {
      const costs = await costsOf((store) => createAccountStore(store).page(page))
      expect(costs).toHaveLength(1)
      expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
    }
  })

  it('that a search finds touches no more than it shows', async () => {
    const page = { accountId: ancestorId, prefix: 'name', limit, descending: false }
    for (const field of ['name', 'realm'] as const) {
      const costs = await costsOf((store) => createSearchStore(store).accounts(field, { ...page, after }))
      expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
    }
  })

  it('that a migration goes on with touches no more than it takes', async () => {
    const stretch = { rootId: ancestorId, place: idOf(middle), includesDescendants: true }
    const costs = await costsOf((store) => createMigrationStore(store).targets(stretch, limit))
    expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
  })
})
