import { expect, it } from 'vitest'
import { allowAdditions, makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

// Each way to a record that accepts fields of the client's own.
const records: Readonly<Record<string, (world: ReturnType<typeof useWorld>) => Promise<string>>> = {
  account: async ({ acme }) => acme.path,
  user: async (world) => (await world.user(world.acme)).path,
  device: async (world) => (await world.device(world.acme)).path,
  callflow: async ({ operator, acme }) => {
    const { data } = await operator.put(`${acme.path}/callflows`, {
      numbers: ['1001'],
      flow: { module: 'hangup' },
    })
    return `${acme.path}/callflows/${data.id}`
  },
  group: async ({ operator, acme }) => {
    const { data } = await operator.put(`${acme.path}/groups`, { name: 'Sales', endpoints: {} })
    return `${acme.path}/groups/${data.id}`
  },
  'phone number': (world) => makeNumber(world, world.acme, '+14155559901'),
  config: async ({ acme }) => `${acme.path}/configs/number_manager`,
  'settings document': async () => '/v2/system_configs/number_manager/default',
  'service plan': async ({ operator, master }) => {
    const { data } = await operator.put(`${master.path}/service_plans`, { name: 'Basic', plan: {} })
    return `${master.path}/service_plans/${data.id}`
  },
  carrier: async ({ operator }) => {
    const gateways = [{ server: 'sip.parallel.test' }]
    const { data } = await operator.put('/v2/resources', { name: 'Carrier', gateways, rules: ['^\\+'] })
    return `/v2/resources/${data.id}`
  },
}

describeAnyEngine('parallel PATCH requests without a precondition', (engine) => {
  const world = useWorld(engine, allowAdditions)

  it.each(Object.keys(records))('of one %s all succeed, and each leaves its key', async (name) => {
    const path = await records[name]?.(world)
    const fields = Array.from({ length: 8 }, (_, index) => `field_${index}`)
    const answers = await Promise.all(fields.map((field) => world.operator.patch(`${path}`, { [field]: 1 })))
    for (const answer of answers) expect(answer).toSucceed()
    const { data } = await world.operator.get(`${path}`)
    expect(data).toMatchObject(Object.fromEntries(fields.map((field) => [field, 1])))
  })

  it('of one user all succeed, however many there are', async () => {
    const { path } = await world.user(world.acme)
    const fields = Array.from({ length: 60 }, (_, index) => `field_${index}`)
    const answers = await Promise.all(fields.map((field) => world.ada.patch(path, { [field]: 1 })))
    for (const answer of answers) expect(answer).toSucceed()
    // One warning each, however often the change was validated again.
    const message = 'The server does not use this key'
    expect(answers.map(({ body }) => body.metadata.warnings)).toEqual(
      fields.map((path) => [{ path, message }]),
    )
    const { data } = await world.ada.get(path)
    expect(data).toMatchObject(Object.fromEntries(fields.map((field) => [field, 1])))
  })

  it('of which one has the revision that all have read: that one fails or comes first', async () => {
    const { path } = await world.user(world.acme)
    const { etag } = (await world.ada.get(path)).headers
    const headers = { 'if-match': String(etag) }
    const guarded = world.ada.patch(path, { guarded: 1 }, { headers })
    const others = [1, 2, 3, 4].map((index) => world.ada.patch(path, { [`field_${index}`]: 1 }))
    const answer = await guarded
    for (const other of await Promise.all(others)) expect(other).toSucceed()
    const { data } = await world.ada.get(path)
    if (answer.status !== 200) expect(answer).toFailWith(412, 'precondition_failed')
    expect(data.guarded).toBe(answer.status === 200 ? 1 : undefined)
  })
})
