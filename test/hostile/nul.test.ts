// No text in the store contains NUL, and PostgreSQL fails if a query contains one.
import { expect, it } from 'vitest'
import type { Answer } from '../support/world/client.ts'
import { nameOf, requestFor, variablesOf } from '../support/world/route-samples.ts'
import { runTask } from '../support/world/task-runs.ts'
import { walkLimitMs, walkOf } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

// 500s that the API asks for.
const specified = /^(quickcall initiation failed|invalid request|init failed)/

const isAnswer = ({ status, body }: Answer) =>
  status < 500 || status === 501 || specified.test(body.message ?? '')

const isRefusal = ({ status }: Answer) => status >= 400 && status < 500

/** The response names each sent record as rejected: the route validates them one by one. */
const isRejection = ({ data }: Answer) =>
  data?.records?.rejected.length === 1 &&
  data.records.accepted === 0 &&
  data.refusals.rejected.length === 1 &&
  data.refusals.told === 0

/** The route validates running calls one by one. */
const isNotAllowed = ({ data }: Answer) =>
  data?.calls?.length === 1 && data.calls[0].allowed === false && data.calls[0].reason === 'invalid'

const sent = '\u0000'

/** The same value with NUL in each of its texts. */
const spoiled = (value: unknown): unknown => {
  if (typeof value === 'string') return `a${sent}${value}`
  if (Array.isArray(value)) return value.map(spoiled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, spoiled(inner)]))
}

describeAnyEngine('NUL', (engine) => {
  const world = useWorld(engine)

  const filled = (path: string, hostile: string) =>
    path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
      name === hostile ? 'a%00b' : name === 'account_id' ? world.acme.id : 'a',
    )

  const callers = () => [world.anonymous, world.ada, world.operator]

  it(
    'in a path is found by no route',
    async () => {
      const strange: string[] = []
      const before = await world.snapshot()
      const places = world.server.routes.flatMap((route) =>
        variablesOf(route.path).map((name) => ({ route, name })),
      )
      for (const [{ route, name }, caller] of walkOf(places, callers())) {
        const { data, options } = requestFor(route)
        const answer = await caller.request(route.method, filled(route.path, name), data, options)
        if (!isAnswer(answer)) strange.push(`${nameOf(route)} ${name}: ${answer.status} ${answer.text}`)
      }
      expect(strange).toEqual([])
      expect(await world.snapshot()).toEqual(before)
    },
    walkLimitMs,
  )

  it(
    'in a query is found by no route',
    async () => {
      const strange: string[] = []
      const names = ['realm', 'filter_name', 'q', 'v', 'domain', 'prefix', 'city', 'username', 'created_from']
      const query = { t: 'account', ...Object.fromEntries(names.map((name) => [name, `a${sent}`])) }
      const reading = world.server.routes.filter(({ method }) => method === 'GET')
      for (const [route, caller] of walkOf(reading, callers())) {
        const answer = await caller.get(filled(route.path, ''), { query })
        if (!isAnswer(answer)) strange.push(`${nameOf(route)}: ${answer.status} ${answer.text}`)
      }
      expect(strange).toEqual([])
    },
    walkLimitMs,
  )

  it('in a start key leads nowhere', async () => {
    for (const start_key of [`["a${sent}b"]`, `"a${sent}b"`, `a${sent}b`]) {
      const query = { start_key: Buffer.from(start_key).toString('base64url') }
      for (const place of ['users', 'devices', 'phone_numbers', 'cdrs', 'children'])
        expect((await world.ada.get(`${world.acme.path}/${place}`, { query })).status).toBeLessThan(500)
    }
  })

  it(
    'in a JSON text is refused by every route that takes one',
    async () => {
      const strange: string[] = []
      for (const [route, caller] of walkOf(world.server.routes, callers())) {
        const { data, options } = requestFor(route)
        const hostile = spoiled(data)
        if (JSON.stringify(hostile) === JSON.stringify(data)) continue
        const envelope = options.envelope ? { envelope: spoiled(options.envelope) as object } : {}
        const request = { ...options, ...(envelope as typeof options) }
        const answer = await caller.request(route.method, filled(route.path, ''), hostile, request)
        if (!isRefusal(answer) && !isRejection(answer) && !isNotAllowed(answer))
          strange.push(`${nameOf(route)}: ${answer.status} ${answer.text.slice(0, 300)}`)
      }
      expect(strange).toEqual([])
    },
    walkLimitMs,
  )

  it('in the cells of a task is the failure of its row', async () => {
    const { task } = await runTask({
      by: world.ada,
      path: world.acme.path,
      category: 'number_management',
      action: 'import',
      csv: `e164,account_id\r\n+14155550123,a${sent}b\r\n+1415555${sent}0124,\r\n`,
    })
    expect(task).toMatchObject({ status: 'failure', success_count: 0, failure_count: 2 })
  })

  it('in the fields of a form is refused', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'first_name=a%00b&last_name=c'
    const answer = await world.unchanged(() =>
      world.ada.put(`${world.acme.path}/users`, undefined, { body, headers }),
    )
    expect(answer).toBreak({ first_name: ['invalid'] })
  })
})
