// Endpoints: rate limits.
import { expect, it } from 'vitest'
import { expectNoStrangers, said } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const counters = { registrations: 10, invites: 20, total_packets: 300 }
const section = { per_minute: counters, per_second: counters }

// The system limits for accounts and devices without limits.
const ofSystem = {
  account: {
    per_minute: { registrations: 100, invites: 200, total_packets: 2000 },
    per_second: { registrations: 20, invites: 50, total_packets: 100 },
  },
  device: {
    per_minute: { registrations: 20, invites: 100, total_packets: 1000 },
    per_second: { registrations: 2, invites: 5, total_packets: 20 },
  },
}

describeAnyEngine('Endpoints: rate limits', (engine) => {
  const world = useWorld(engine)

  const ofAccount = async () => {
    const { id, path } = await world.account()
    return {
      id,
      record: path,
      path: `${path}/rate_limits`,
      limits: { account: section, device: section },
      usual: ofSystem,
    }
  }
  const ofDevice = async () => {
    const { id, path } = await world.device(world.acme)
    return { id, record: path, path: `${path}/rate_limits`, limits: section, usual: ofSystem.device }
  }

  const ofEither: [string, typeof ofAccount | typeof ofDevice][] = [
    ['/v2/accounts/{account_id}/rate_limits', ofAccount],
    ['/v2/accounts/{account_id}/devices/{device_id}/rate_limits', ofDevice],
  ]

  it('rate limits are for their own account and those above', () =>
    expectNoStrangers(
      world,
      ofEither.flatMap(([path]) =>
        ['GET', 'POST', 'DELETE'].map((method): [string, string] => [method, path]),
      ),
    ))

  it.each(ofEither)('POST, GET, DELETE %s: the document', async (_path, place) => {
    const { id, path, limits, usual } = await place()
    const { operator } = world
    const metadata = { id, created: nowOf(world), modified: nowOf(world) }
    expect(said(await operator.post(path, limits))).toEqual({
      status: 200,
      data: limits,
      metadata: { ...metadata, effective: limits },
    })
    expect(said(await operator.get(path))).toEqual({
      status: 200,
      data: limits,
      metadata: { ...metadata, effective: limits },
    })
    expect(said(await operator.delete(path))).toEqual({
      status: 200,
      data: limits,
      metadata: { ...metadata, deleted: true },
    })
    expect(said(await operator.get(path))).toEqual({
      status: 200,
      data: {},
      metadata: { effective: usual },
    })
  })

  it('POST …/rate_limits: the document may give only some keys', async () => {
    const { path } = await ofAccount()
    const some = { account: { per_minute: { invites: 5 } } }
    expect(await world.operator.post(path, some)).toSucceedWith(some)
    expect(await world.operator.get(path)).toSucceedWith(some)
  })

  it.each(ofEither)('DELETE %s: rate_limits is gone from the record', async (_path, place) => {
    const { record, path, limits } = await place()
    await world.operator.post(path, limits)
    expect((await world.operator.get(record)).data.rate_limits).toEqual(limits)
    await world.operator.delete(path)
    expect((await world.operator.get(record)).data).not.toHaveProperty('rate_limits')
  })
})
