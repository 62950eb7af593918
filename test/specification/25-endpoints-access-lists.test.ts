// Endpoints: access lists.
import { expect, it } from 'vitest'
import { expectNoStrangers, said } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24'], user_agent: '^Yealink' }

describeAnyEngine('Endpoints: access lists', (engine) => {
  const world = useWorld(engine)

  const ofAccount = async () => {
    const { id, path } = await world.account()
    return { id, path: `${path}/access_lists` }
  }
  const ofDevice = async () => {
    const { id, path } = await world.device(world.acme)
    return { id, path: `${path}/access_lists` }
  }

  const ofEither: [string, typeof ofAccount][] = [
    ['/v2/accounts/{account_id}/access_lists', ofAccount],
    ['/v2/accounts/{account_id}/devices/{device_id}/access_lists', ofDevice],
  ]

  it('access lists are for their own account and those above', () =>
    expectNoStrangers(
      world,
      ofEither.flatMap(([path]) =>
        ['GET', 'POST', 'DELETE'].map((method): [string, string] => [method, path]),
      ),
    ))

  it.each(ofEither)('GET %s: the access list, or an empty object', async (_path, place) => {
    const { id, path } = await place()
    const metadata = { id, created: nowOf(world), modified: nowOf(world) }
    expect(said(await world.operator.get(path))).toEqual({ status: 200, data: {}, metadata: {} })
    await world.operator.post(path, list)
    expect(said(await world.operator.get(path))).toEqual({ status: 200, data: list, metadata })
  })

  it.each(ofEither)('POST %s: the stored list', async (_path, place) => {
    const { id, path } = await place()
    const metadata = { id, created: nowOf(world), modified: nowOf(world) }
    expect(said(await world.operator.post(path, list))).toEqual({ status: 200, data: list, metadata })
  })

  it.each(ofEither)('DELETE %s: removes the list', async (_path, place) => {
    const { path } = await place()
    await world.operator.post(path, list)
    expect(said(await world.operator.delete(path))).toEqual({ status: 200, data: {}, metadata: {} })
    expect(await world.operator.get(path)).toSucceedWith({})
  })
})
