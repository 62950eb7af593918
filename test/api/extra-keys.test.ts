// Keys that consoles add to every write, and bodies of DELETE. A walk over all routes that write.
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { createRewind } from '../support/servers/store-rewind.ts'
import type { RequestOptions } from '../support/world/client.ts'
import { nameOf, pathWith, requestFor } from '../support/world/route-samples.ts'
import { hasOwnStage, onAccount, type Stage, setStage, writingRoutes } from '../support/world/route-stage.ts'
import { someOf, walkLimitMs } from '../support/world/walk.ts'
import { useWorld } from '../support/world/world.ts'

const ofConsole = {
  ui_metadata: { version: '5.3', ui: 'console', origin: 'accounts' },
  pvt_type: 'sample',
  pvt_unknown: { deep: [1] },
  _read_only: { created: 1 },
}

/** Here `plans` in a response describes the plans, and in a request assigns some. */
const assignment = `POST ${onAccount}/services`

const world = useWorld('sqlite')

const placeOf = (route: Route, { ids, systemIds }: Stage) =>
  pathWith(route, route.path.includes('{account_id}') ? ids : systemIds)

/** The record as clients read it, and send it back with a change. */
const recordAt = async (route: Route, stage: Stage): Promise<Json> => {
  const isRead = world.server.routes.some(({ method, path }) => method === 'GET' && path === route.path)
  const isChanged = route.method === 'POST' || route.method === 'PATCH'
  if (!isRead || !isChanged || nameOf(route) === assignment) return {}
  const { status, data } = await world.operator.get(placeOf(route, stage))
  return status === 200 && isObject(data) ? data : {}
}

const json = { 'content-type': 'application/json' }

it('never makes a write fail', { timeout: walkLimitMs }, async () => {
  const walked = writingRoutes(world).filter(
    ({ path, spec }) => !spec.uploads && !path.startsWith('/v2/edge/'),
  )
  const routes = someOf(60, walked)
  const stageOf = (route: Route) => (hasOwnStage(nameOf(route)) ? nameOf(route) : 'of most routes')
  for (const [name, ofStage] of Map.groupBy(routes, stageOf)) {
    const stage = await setStage(world, name)
    const store = createRewind(join(world.place.dataDir, 'crosspoint.db'))
    const send = async (route: Route, data: Json | undefined, options: RequestOptions) => {
      const answer = await world.operator.request(route.method, placeOf(route, stage), data, options)
      store.rewind()
      return answer
    }
    /** A route that fails also without them fails in the same way. */
    const check = async (route: Route, data: Json | undefined, more: RequestOptions = {}) => {
      const sample = requestFor(route, stage.samples)
      const answer = await send(route, data, { ...sample.options, ...more })
      if (answer.status < 300) return
      const plain = await send(route, sample.data, sample.options)
      expect([nameOf(route), answer.status, answer.data]).toEqual([nameOf(route), plain.status, plain.data])
    }
    for (const route of ofStage) {
      const { data } = requestFor(route, stage.samples)
      await check(route, { ...(await recordAt(route, stage)), ...data, ...ofConsole })
      if (route.method === 'DELETE' && !data)
        await check(route, undefined, { body: '{"accept_charges": true}', headers: json })
    }
    store.close()
  }
})

// Without the tasks that the walk has started.
describe('a body without data', () => {
  const world = useWorld('sqlite')

  it('is no data that DELETE requires, also where a POST stands for it', async () => {
    const [desk, door] = [await world.device(world.acme), await world.device(world.acme)]
    const body = '{"accept_charges": true}'
    expect(await world.ada.delete(desk.path, undefined, { body, headers: json })).toSucceed()
    const query = { verb: 'delete' }
    expect(await world.ada.post(door.path, undefined, { body, headers: json, query })).toSucceed()
    const missing = { data: { required: { message: 'Field is required but missing', value: 'data' } } }
    const { path } = world.uli
    for (const attempt of [
      () => world.ada.patch(path, undefined, { body, headers: json }),
      () => world.ada.post(path, undefined, { body: '{"verb": "patch"}', headers: json }),
    ])
      expect(await world.refused(attempt)).toFailWith(400, 'validation error', missing)
  })
})
