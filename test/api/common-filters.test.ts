// Every list takes the filters that are common to all lists, and means the same by them.
import { beforeAll, expect, it } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Answer } from '../support/world/client.ts'
import { nowOf, sendLegs } from '../support/world/legs.ts'
import { nameOf } from '../support/world/route-samples.ts'
import { callRoute, onAccount, type Stage, setStage } from '../support/world/route-stage.ts'
import { inParallel, walkLimitMs } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

type Query = Record<string, string>

/** Lists with rows that have no time of creation: these are in every window. */
const timeless = new Set([
  `GET ${onAccount}/parents`,
  `GET ${onAccount}/tree`,
  `GET ${onAccount}/apps_store`,
  `GET ${onAccount}/figures/children`,
  `GET ${onAccount}/notifications`,
  // The alerts about the account itself.
  `GET ${onAccount}/alerts`,
  'GET /v2/notifications',
  'GET /v2/system_configs',
  'GET /v2/webhooks',
  'GET /v2/webhooks/samples/{sample_id}',
  'GET /v2/work',
])

const keepAll: Query[] = [
  { key_missing: 'no_such_key' },
  { value_missing: 'no_such_key' },
  { missing_value: 'no_such_key' },
  { filter_no_such_key: '' },
  { filter_not_no_such_key: 'x' },
  { filter_none_no_such_key: '["x"]' },
  { filter_array_intersect_none_no_such_key: '["x"]' },
  { created_from: '', created_to: '', modified_from: '', modified_to: '' },
]

const keepNone: Query[] = [
  { has_key: 'no_such_key' },
  { has_value: 'no_such_key' },
  { filter_no_such_key: 'x' },
  { filter_any_no_such_key: '["x"]' },
  { filter_array_intersect_all_no_such_key: '["x"]' },
  { filter_array_intersect_any_no_such_key: '["x"]' },
]

const wrongBounds = ['yesterday', '-5', '0x10', '1e99', ' ', '\t']

/** The values that identify the rows of a list. */
const rowsOf = ({ data }: Answer): readonly unknown[] => {
  if (!Array.isArray(data)) return Object.keys(data.numbers)
  return data.map((row: Json | string) =>
    typeof row === 'string' ? row : (row.id ?? row.sequence ?? row.name),
  )
}

describeAnyEngine('Every list', (engine) => {
  const world = useWorld(engine)
  let stage: Stage
  let filled: { route: Route; rows: readonly unknown[] }[]
  const isRead = ({ method }: Route) => method === 'GET'

  const ask = (route: Route, query: Query) => {
    const search: Query = route.path.endsWith('/search') ? { t: 'account', q: 'name', v: '' } : {}
    return callRoute(world.operator, route, stage, 'a-walk', { page_size: '500', ...search, ...query })
  }

  beforeAll(async () => {
    const set = await setStage(world)
    // The account has no plan: any id shows that bounds are read first.
    stage = { ...set, ids: { ...set.ids, service_plan_id: set.ids.plan_id ?? '' } }
    const { account_id: id = '', user_id: owner_id } = stage.ids
    const account = { ...world.acme, id, path: `/v2/accounts/${id}` }
    await sendLegs(world, [
      {
        call_id: 'walk',
        timestamp: nowOf(world) - 60,
        custom_channel_vars: { account_id: account.id, owner_id },
      },
    ])
    await world.account(account)
    await world.server.feed.settled()
    filled = []
    for (const route of world.server.routes.filter((one) => isRead(one) && one.spec.list)) {
      const answer = await ask(route, {})
      const rows = answer.status === 200 ? rowsOf(answer) : []
      if (rows.length > 0) filled.push({ route, rows })
    }
  })

  const kept = async (route: Route, query: Query) => {
    const answer = await ask(route, query)
    expect(answer.status, `${nameOf(route)} ${JSON.stringify(query)} ${answer.text}`).toBe(200)
    return rowsOf(answer)
  }

  const eachFilled = (check: (list: { route: Route; rows: readonly unknown[] }) => Promise<void>) =>
    inParallel(filled, check)

  it(
    'keeps or drops a row by what it has, in the same way',
    () =>
      eachFilled(async ({ route, rows }) => {
        for (const query of keepAll)
          expect(await kept(route, query), `${nameOf(route)} ${JSON.stringify(query)}`).toEqual(rows)
        for (const query of keepNone)
          expect(await kept(route, query), `${nameOf(route)} ${JSON.stringify(query)}`).toEqual([])
      }),
    walkLimitMs,
  )

  it(
    'has its rows in a window of time that contains them, and in no other one',
    () =>
      eachFilled(async ({ route, rows }) => {
        const [first, last] = [nowOf(world) - 86_400, nowOf(world) + 86_400]
        for (const [from, to] of [
          [first, last],
          [`${first}.4`, `${last}.999`],
        ]) {
          for (const about of ['created', 'modified']) {
            const query = { [`${about}_from`]: String(from), [`${about}_to`]: String(to) }
            expect(await kept(route, query), `${nameOf(route)} ${about}`).toEqual(rows)
          }
        }
        for (const about of ['created', 'modified']) {
          const later = { [`${about}_from`]: String(last), [`${about}_to`]: String(last + 1) }
          const found = await kept(route, later)
          if (timeless.has(nameOf(route))) expect(found.length, nameOf(route)).toBeGreaterThan(0)
          else expect(found, `${nameOf(route)} ${about}`).toEqual([])
        }
      }),
    walkLimitMs,
  )

  it(
    'and every sum over a window rejects a reversed window and bounds that are no time',
    async () => {
      const withWindow = world.server.routes.filter(({ spec }) => spec.query && 'created_from' in spec.query)
      const routes = new Set([...filled.map(({ route }) => route), ...withWindow.filter(isRead)])
      await inParallel([...routes], async (route) => {
        const bounds = route.spec.list ? ['created', 'modified'] : ['created']
        for (const about of bounds) {
          const [from, to] = [`${about}_from`, `${about}_to`]
          const now = nowOf(world)
          const reversed = await ask(route, { [from]: String(now), [to]: String(now - 1) })
          expect(reversed, nameOf(route)).toBreak({ [from]: ['date_range'] })
          for (const name of [from, to])
            for (const text of wrongBounds)
              expect(await ask(route, { [name]: text }), `${nameOf(route)} ${text}`).toBreak({
                [name]: ['type'],
              })
        }
      })
      // Among them the sums, which are not lists.
      const sums = [...routes].filter(({ spec }) => !spec.list).map(nameOf)
      expect(sums).toEqual(
        expect.arrayContaining([
          `GET ${onAccount}/cdrs/summary`,
          `GET ${onAccount}/services/audit/summary`,
          `GET ${onAccount}/ledgers`,
          `GET ${onAccount}/transactions/monthly_recurring`,
          `GET ${onAccount}/allotments/consumed`,
        ]),
      )
    },
    walkLimitMs,
  )

  it(
    'and every sum over a window answers for the latest time that it accepts',
    async () => {
      const withWindow = world.server.routes.filter(({ spec }) => spec.query && 'created_from' in spec.query)
      await inParallel(withWindow.filter(isRead), async (route) => {
        const { status } = await ask(route, {})
        const latest = '999999999999999'
        const { status: statusOfLatest } = await ask(route, { created_from: latest, created_to: latest })
        expect(statusOfLatest, nameOf(route)).toBe(status)
      })
    },
    walkLimitMs,
  )

  it(
    'honours a filter, and a sum over a window warns of each, and rejects bounds of modification',
    async () => {
      const sums = world.server.routes.filter(
        ({ spec, method }) => method === 'GET' && !spec.list && spec.query && 'created_from' in spec.query,
      )
      expect(sums.length).toBeGreaterThan(8)
      await inParallel(sums, async (route) => {
        const plain = await ask(route, {})
        for (const query of [...keepAll.slice(0, -1), ...keepNone]) {
          const [name] = Object.keys(query)
          const answer = await ask(route, query)
          expect([answer.status, answer.data], nameOf(route)).toEqual([plain.status, plain.data])
          const warnings = [{ path: name, message: 'This has no effect: only lists have filters' }]
          if (plain.status === 200) expect(answer.body.metadata, nameOf(route)).toMatchObject({ warnings })
        }
        for (const name of ['modified_from', 'modified_to'])
          expect(await ask(route, { [name]: '1' }), nameOf(route)).toBreak({ [name]: ['forbidden'] })
        const empty = await ask(route, { modified_from: '', modified_to: '' })
        expect([empty.status, empty.data], nameOf(route)).toEqual([plain.status, plain.data])
      })
    },
    walkLimitMs,
  )

  it.each(['channels', 'registrations', 'limits', 'ledgers/total'])(
    'is the only kind of response with time bounds: %s warns of each',
    async (path) => {
      const ask = (query: Query) => world.ada.get(`${world.acme.path}/${path}`, { query })
      const plain = await ask({})
      for (const name of ['created_from', 'created_to', 'modified_from', 'modified_to']) {
        const { status, data, body } = await ask({ [name]: 'abc' })
        expect([status, data]).toEqual([200, plain.data])
        expect(body.metadata.warnings).toEqual([
          { path: name, message: 'This has no effect: only lists have filters' },
        ])
        expect((await ask({ [name]: '' })).body.metadata?.warnings).toBeUndefined()
      }
    },
  )

  it('and every other route rejects a flag that is neither true nor false', async () => {
    const flagsOf = ({ spec }: Route) =>
      Object.entries({ ...spec.query, ...spec.wishes }).filter(
        ([, described]) => typeof described !== 'string',
      )
    const routes = world.server.routes.filter((route) => flagsOf(route).length > 0)
    expect(routes.length).toBeGreaterThan(15)
    await inParallel(routes, async (route) => {
      for (const [name] of flagsOf(route))
        for (const text of ['maybe', '1', 'TRUE', ' true']) {
          const answer = await ask(route, { [name]: text })
          expect(answer, `${nameOf(route)} ${name}=${text}`).toBreak({ [name]: ['type'] })
        }
    })
  })

  it('of events takes the type of each event as a filter, and `.*` of its kind', async () => {
    const path = `${world.operator.account.path}/events`
    const { data } = await world.operator.get(path, { query: { include_subaccounts: true, paginate: false } })
    const types = new Set<string>(data.map(({ type }: { type: string }) => type))
    expect(types.size).toBeGreaterThan(30)
    for (const type of [...types].flatMap((one) => [one, one.replace(/\..*/, '.*')]))
      expect(await world.operator.get(path, { query: { type, page_size: 1 } }), type).toSucceed()
  })

  it('is in this test if an account usually has rows in it', () => {
    const names = filled.map(({ route }) => nameOf(route))
    const common = [
      'children',
      'users',
      'devices',
      'cdrs',
      'events',
      'audit',
      'notifications',
      'phone_numbers',
    ]
    expect(names).toEqual(expect.arrayContaining(common.map((name) => `GET ${onAccount}/${name}`)))
    expect(names.length).toBeGreaterThan(55)
  })
})
