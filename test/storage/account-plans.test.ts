// A page of accounts costs the same, however many there are.
import { join } from 'node:path'
import { Client } from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { createAccountStore, type TreePage } from '../../src/areas/accounts/accounts/store.ts'
import { createSearch } from '../../src/areas/system/search/store.ts'
import { createMigrationStore } from '../../src/areas/work/migrations/store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { makeReadOnly } from '../../src/storage/postgres-sessions.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, makePlace, sharedBySuite } from '../support/servers/databases.ts'

const accountCount = 4000
const ancestorId = '0'.repeat(32)
// A reseller with a few children and many accounts below these, in a store where nearly every account is a child.
const resellerId = 'f'.repeat(32)
const resellersChildren = 60
const resellersOthers = 600
const idOf = (number: number) => number.toString(16).padStart(32, '0')
const keyOf = (number: number) => `name ${idOf(number)}`

interface PlanNode {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: PlanNode[]
}

const maxRows = (node: PlanNode): number =>
  Math.max(node['Actual Rows'] * node['Actual Loops'], ...(node.Plans ?? []).map(maxRows))

describeEngines('A page of accounts', (engine) => {
  const place = sharedBySuite(
    async () => {
      const { dataDir, databaseUrl, remove } = await makePlace(engine, {
        isUpgraded: true,
        onOneServer: true,
      })
      const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
      const close = async () => {
        await db.close()
        await remove()
      }
      return { db, databaseUrl, close, store: createStore(db, systemClock) }
    },
    ({ close }) => close(),
  )

  beforeAll(async () => {
    const { db } = place
    await db.exclusively(async (run) => {
      const insertAccount = async (
        id: string,
        key: string,
        above: readonly [id: string, distance: number][],
      ) => {
        await run(
          `INSERT INTO records (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json)
            VALUES ($1, 'account', $1, '', $2, 1, 1, 'x', '{}', '{"tree":[]}', '{}')`,
          [id, key],
        )
        for (const [ancestor, distance] of above)
          await run(
            `INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key, name_key, realm_key)
              VALUES ($1, $2, $3, $4, $4, $4)`,
            [id, ancestor, distance, key],
          )
      }
      for (let number = 1; number <= accountCount; number += 1)
        await insertAccount(idOf(number), keyOf(number), [[ancestorId, 1]])
      for (let number = 1; number <= resellersChildren; number += 1)
        await insertAccount(`e${idOf(number).slice(1)}`, `child ${idOf(number)}`, [[resellerId, 1]])
      for (let number = 1; number <= resellersOthers; number += 1)
        await insertAccount(`d${idOf(number).slice(1)}`, keyOf(number), [[resellerId, 2]])
    })
    // Statistics that the server would gather automatically before long.
    await db.exclusively(async (run) => void (await run('ANALYZE')))
  })

  const explained = async (query: (sql: string) => Promise<Record<string, unknown>[]>, sql: string) => {
    const [row] = await query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`)
    const plans = row?.['QUERY PLAN'] as { Plan: PlanNode }[]
    return Math.max(...plans.map((plan) => maxRows(plan.Plan)))
  }

  const quoted = (value: Value) =>
    typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`

  /** The cost of the generic plan: a server keeps this plan where it looks no worse. */
  const genericCostOf = async (sql: string, params: readonly Value[]) => {
    const client = new Client({ connectionString: place.databaseUrl })
    await client.connect()
    try {
      await makeReadOnly(client)
      await client.query('SET plan_cache_mode = force_generic_plan')
      await client.query(`PREPARE page AS ${sql}`)
      const query = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows
      return await explained(query, `EXECUTE page (${params.map(quoted).join(', ')})`)
    } finally {
      await client.end()
    }
  }

  /** The number of rows that one node of the plan touches at most; SQLite shows only which index it uses. */
  const costOf = async (sql: string, params: readonly Value[]): Promise<number> => {
    const { db } = place
    if (engine === 'postgres') {
      const own = await explained((text) => db.all<Record<string, unknown>>(text, params), sql)
      return Math.max(own, await genericCostOf(sql, params))
    }
    const lines = await db.scan<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params)
    const isBounded = lines.every(({ detail }) => !/SCAN (account_tree|records|r\b)|TEMP B-TREE/.test(detail))
    return isBounded ? 0 : accountCount
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
    for (const page of [
      first,
      { ...first, descending: true },
      { ...first, after },
      { ...first, after, descending: true },
    ])
      for (const read of ['page', 'shown', 'fitting'] as const) {
        const costs = await costsOf((store) => createAccountStore(store)[read](page, 1e9))
        expect(costs).toHaveLength(1)
        expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
      }
  })

  it('of the few children of an account touches none of the many below them', async () => {
    const first: TreePage = { ancestorId: resellerId, direct: true, limit, descending: false }
    for (const page of [
      first,
      { ...first, descending: true },
      { ...first, after: ['child ', ''] as const },
      { ...first, after: ['d', ''] as const, descending: true },
    ]) {
      const costs = await costsOf((store) => createAccountStore(store).shown(page))
      expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
      expect(await createAccountStore(place.store).shown(page)).toHaveLength(limit)
    }
  })

  it('and those behind it are the whole list, in both directions', async () => {
    const store = createAccountStore(place.store)
    for (const descending of [false, true]) {
      const ids: string[] = []
      let begin: { after?: readonly [string, string] } = {}
      for (;;) {
        const page = await store.shown({
          ancestorId: resellerId,
          direct: true,
          limit: 7,
          descending,
          ...begin,
        })
        ids.push(...page.map(({ id }) => id))
        const last = page.at(-1)
        if (!last || page.length < 7) break
        begin = { after: [last.sortKey, last.id] }
      }
      const all = Array.from({ length: resellersChildren }, (_, index) => `e${idOf(index + 1).slice(1)}`)
      expect(ids).toEqual(descending ? all.reverse() : all)
    }
  })

  it('that a search finds touches no more than it shows', async () => {
    const page = { accountId: ancestorId, prefix: 'name', limit, descending: false }
    for (const field of ['name', 'realm'] as const) {
      const costs = await costsOf((store) =>
        createSearch(store).find({ type: 'account', field, prefix: page.prefix }, { ...page, after }),
      )
      expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
    }
  })

  it('that a migration continues with touches no more than it takes', async () => {
    const stretch = { rootId: ancestorId, place: idOf(middle), includesDescendants: true }
    const costs = await costsOf((store) => createMigrationStore(store).targets(stretch, limit))
    expect(Math.max(...costs)).toBeLessThanOrEqual(limit)
  })
})
