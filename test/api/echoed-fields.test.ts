// Clients send records back as they received them. The server ignores values that it computes.
import type { TObject } from 'typebox'
import { expect, it } from 'vitest'
import { AccountRecord } from '../../src/areas/accounts/accounts/schema.ts'
import { UserRecord } from '../../src/areas/accounts/users/schema.ts'
import { CallflowRecord } from '../../src/areas/voice/callflows/schema.ts'
import { ConnectivityRecord } from '../../src/areas/voice/connectivity/schema.ts'
import { DeviceRecord } from '../../src/areas/voice/devices/schema.ts'
import { GroupRecord } from '../../src/areas/voice/groups/schema.ts'
import { ResourceRecord } from '../../src/areas/voice/resources/schema.ts'
import type { Json } from '../../src/lib/json.ts'
import { makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

/** A value of the type that a schema asks for. */
const stale: Readonly<Record<string, unknown>> = {
  string: 'f'.repeat(32),
  integer: 7,
  boolean: true,
  array: ['stale'],
  object: { stale: true },
}

const computedBy = ({ properties }: TObject) =>
  Object.entries(properties as unknown as Record<string, Json>).flatMap(([key, shape]) =>
    shape.readOnly === true ? [[key, stale[String(shape.type)]] as const] : [],
  )

describeAnyEngine('computed fields', (engine) => {
  const world = useWorld(engine)

  const expectIgnored = async (path: string, kind: string, schema: TObject) => {
    const before = await world.ada.get(path)
    const echo = Object.fromEntries(computedBy(schema))
    expect(await world.ada.post(path, { ...before.data, ...echo })).toSucceed()
    const after = await world.ada.get(path)
    const { modified: _, ...data } = after.data
    const { modified: __, ...unchanged } = before.data
    expect(data).toEqual(unchanged)
    const stored = await world.server.store.records.find(world.acme.id, kind, before.data.id)
    expect(Object.keys(echo).filter((key) => Object.hasOwn(stored?.doc ?? {}, key))).toEqual([])
  }

  const kinds: readonly [kind: string, path: string, schema: TObject, data: Json][] = [
    ['user', 'users', UserRecord, { first_name: 'A', last_name: 'B' }],
    ['device', 'devices', DeviceRecord, { name: 'Phone' }],
    ['group', 'groups', GroupRecord, { name: 'All', endpoints: {} }],
    ['callflow', 'callflows', CallflowRecord, { numbers: ['7101'], flow: { module: 'hangup' } }],
    ['connectivity', 'connectivity', ConnectivityRecord, { name: 'Trunks', servers: [] }],
    ['resource', 'resources', ResourceRecord, { name: 'Carrier', gateways: [] }],
  ]

  it.each(kinds)('of a %s are ignored in requests and never stored', async (kind, path, schema, data) => {
    const made = await world.ada.put(`${world.acme.path}/${path}`, data)
    expect(made).toSucceed()
    await expectIgnored(`${world.acme.path}/${path}/${made.data.id}`, kind, schema)
  })

  it('of a phone number are ignored in requests, and the audit shows each key once', async () => {
    const path = await makeNumber(world, world.acme, '+14155550190')
    const before = await world.operator.get(path)
    const facts = { carrier_module: 'stale', assigned_to: 'stale', reserve_history: ['stale'], pending: true }
    const stale = { state: 'available', used_by: 'stale', features: ['stale'], ...facts }
    expect(await world.operator.post(path, { ...before.data, ...stale })).toSucceed()
    expect((await world.operator.get(path)).data).toMatchObject(before.data)
    expect(await world.operator.get(`${path}/audit`)).toSucceed()
    expect(
      await world.operator.get(`${world.acme.path}/events`, { query: { with_before: true } }),
    ).toSucceed()
  })

  it('of an account are ignored in requests and never stored', async () => {
    await expectIgnored(world.acme.path, 'account', AccountRecord)
  })
})
