import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const totals = { per_minute: { total_packets: 600 }, per_second: { total_packets: 20 } }
const full = {
  per_minute: { registrations: 10, invites: 20, total_packets: 600 },
  per_second: { registrations: 1, invites: 2, total_packets: 20 },
}

describeAnyEngine('rate limits', (engine) => {
  const world = useWorld(engine)

  /** The same applies to an account and a device, except for the shape of the document. */
  const places = async () => {
    const account = await world.account()
    const device = await world.device(account)
    return [
      {
        path: `${account.path}/rate_limits`,
        limits: { account: full, device: totals },
        other: { account: totals, note: 'kept' },
      },
      {
        path: `${device.path}/rate_limits`,
        limits: full,
        other: { per_minute: { invites: 3 }, note: 'kept' },
      },
    ]
  }

  it('are empty until some are stored, and again when they are removed', async () => {
    const { operator } = world
    for (const { path, limits, other } of await places()) {
      expect(await operator.get(path)).toSucceedWith({})
      expect(await operator.post(path, limits)).toSucceedWith(limits)
      expect(await operator.get(path)).toSucceedWith(limits)
      expect(await operator.post(path, other)).toSucceedWith(other)
      const removed = await operator.delete(path)
      expect(removed).toSucceedWith(other)
      expect(removed.body.metadata).toMatchObject({ deleted: true })
      expect(await operator.get(path)).toSucceedWith({})
      const again = await operator.delete(path)
      expect(again).toSucceedWith({})
      expect(again.body.metadata).toEqual({})
    }
  })

  it('may name some figures only: the response merges them with the figures of the next level', async () => {
    const { operator } = world
    const parent = await world.account()
    const account = await world.account(parent)
    const device = await world.device(account)
    const system = {
      account: {
        per_minute: { registrations: 100, invites: 200, total_packets: 2000 },
        per_second: { registrations: 20, invites: 50, total_packets: 100 },
      },
      device: {
        per_minute: { registrations: 20, invites: 100, total_packets: 1000 },
        per_second: { registrations: 2, invites: 5, total_packets: 20 },
      },
    }
    const effective = async (path: string, limits: object) => {
      const answer = await operator.post(`${path}/rate_limits`, limits)
      expect(answer).toSucceedWith(limits)
      return answer.body.metadata.effective
    }
    const told = async (path: string) => (await operator.get(`${path}/rate_limits`)).body.metadata.effective
    expect(await told(account.path)).toEqual(system)
    expect(await told(device.path)).toEqual(system.device)
    expect(await effective(account.path, {})).toEqual(system)
    expect(await effective(device.path, {})).toEqual(system.device)
    const above = { per_minute: { invites: 60, registrations: 61 }, per_second: { invites: 6 } }
    await effective(parent.path, { account: above })
    const own = { account: { per_minute: { total_packets: 900 } }, device: { per_second: { invites: 1 } } }
    const ofAccount = {
      per_minute: { registrations: 100, invites: 60, total_packets: 900 },
      per_second: { registrations: 20, invites: 6, total_packets: 100 },
    }
    const ofDevices = { ...system.device, per_second: { ...system.device.per_second, invites: 1 } }
    expect(await effective(account.path, own)).toEqual({ account: ofAccount, device: ofDevices })
    expect(await effective(device.path, { per_minute: { registrations: 7 } })).toEqual({
      ...ofDevices,
      per_minute: { ...ofDevices.per_minute, registrations: 7 },
    })
    expect(await told(account.path)).toEqual({ account: ofAccount, device: ofDevices })
    expect(await told(device.path)).toMatchObject({ per_minute: { registrations: 7 } })
  })

  it('are the same thing in the record that they are of: written, changed and removed in either place', async () => {
    const { operator } = world
    for (const { path, limits, other } of await places()) {
      const record = path.replace('/rate_limits', '')
      const without = (await operator.get(record)).data
      expect(without).not.toHaveProperty('rate_limits')
      await operator.post(path, limits)
      expect(await operator.get(record)).toSucceedWith({ ...without, rate_limits: limits })
      await operator.delete(path)
      expect(await operator.get(record)).toSucceedWith(without)
      expect((await operator.post(record, { ...without, rate_limits: other })).data.rate_limits).toEqual(
        other,
      )
      expect(await operator.get(path)).toSucceedWith(other)
      await operator.patch(record, { rate_limits: { note: null } })
      const { note: _, ...noteless } = other
      expect(await operator.get(path)).toSucceedWith(noteless)
      await operator.patch(record, { rate_limits: null })
      expect(await operator.get(path)).toSucceedWith({})
    }
  })

  it('are created only if there are none, when the client sends If-None-Match: *', async () => {
    const { operator } = world
    const headers = { 'if-none-match': '*' }
    for (const { path, limits, other } of await places()) {
      expect(await operator.post(path, limits, { headers })).toSucceedWith(limits)
      await world.unchanged(async () => {
        expect(await operator.post(path, other, { headers })).toFailWith(412, 'precondition failed')
        expect(await operator.delete(path, undefined, { headers })).toFailWith(412, 'precondition failed')
      })
      await operator.delete(path)
      expect(await operator.post(path, other, { headers })).toSucceedWith(other)
    }
  })

  it('are validated in the record as at their own path, and nothing is stored', async () => {
    const { operator } = world
    const [ofAccount, ofDevice] = (await places()).map(({ path }) => path.replace('/rate_limits', ''))
    const refused: [string | undefined, unknown, Record<string, string[]>][] = [
      [
        ofAccount,
        totals,
        {
          'rate_limits.per_minute': ['additionalProperties'],
          'rate_limits.per_second': ['additionalProperties'],
        },
      ],
      [
        ofAccount,
        { device: { per_minute: { foo: 1 } } },
        { 'rate_limits.device.per_minute.foo': ['additionalProperties'] },
      ],
      [ofAccount, 'none', { rate_limits: ['type'] }],
      [ofAccount, { devices: totals }, { 'rate_limits.devices': ['additionalProperties'] }],
      [ofDevice, { account: totals }, { 'rate_limits.account': ['additionalProperties'] }],
      [ofDevice, { per_second: { invites: -1 } }, { 'rate_limits.per_second.invites': ['minimum'] }],
    ]
    const before = await world.snapshot()
    for (const [path, rate_limits, rules] of refused)
      expect(await operator.patch(String(path), { rate_limits })).toBreak(rules)
    expect(await world.snapshot()).toEqual(before)
  })

  it('are refused when a part is unknown or in the wrong place, and nothing is stored', async () => {
    const { operator } = world
    const [ofAccount, ofDevice] = await places()
    const minute = (counters: object) => ({ ...totals, per_minute: counters })
    const refused: [string | undefined, object, Record<string, string[]>][] = [
      [
        ofAccount?.path,
        totals,
        { per_minute: ['additionalProperties'], per_second: ['additionalProperties'] },
      ],
      [
        ofAccount?.path,
        { account: minute({ total_packets: 1, foo: 1 }), device: totals },
        { 'account.per_minute.foo': ['additionalProperties'] },
      ],
      [ofAccount?.path, { devices: totals, device: totals }, { devices: ['additionalProperties'] }],
      [ofAccount?.path, { account: { per_hour: {} } }, { 'account.per_hour': ['additionalProperties'] }],
      [ofAccount?.path, { device: { invites: 1 } }, { 'device.invites': ['additionalProperties'] }],
      [ofDevice?.path, { per_hour: { invites: 1 } }, { per_hour: ['additionalProperties'] }],
      [ofDevice?.path, { invites: 1 }, { invites: ['additionalProperties'] }],
      [ofDevice?.path, { device: totals }, { device: ['additionalProperties'] }],
      [ofDevice?.path, minute({ total_packets: -1 }), { 'per_minute.total_packets': ['minimum'] }],
      [ofDevice?.path, minute({ total_packets: 1.5 }), { 'per_minute.total_packets': ['type'] }],
      [ofDevice?.path, minute({ total_packets: 1, foo: 1 }), { 'per_minute.foo': ['additionalProperties'] }],
    ]
    const before = await world.snapshot()
    for (const [path, body, rules] of refused) {
      expect(await operator.post(String(path), body)).toBreak(rules)
    }
    expect(await world.snapshot()).toEqual(before)
  })

  it('need a device that is there', async () => {
    const { ada, acme } = world
    const cause = '0'.repeat(32)
    const path = `${acme.path}/devices/${cause}/rate_limits`
    for (const answer of [await ada.get(path), await ada.post(path, full), await ada.delete(path)]) {
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause })
    }
  })

  it('are no business of a rival', async () => {
    const { ada, rex, acme } = world
    const device = await world.device(acme)
    const paths = [`${acme.path}/rate_limits`, `${device.path}/rate_limits`]
    await ada.post(`${device.path}/rate_limits`, full)
    const before = await world.snapshot()
    for (const path of paths) {
      for (const answer of [await rex.get(path), await rex.post(path, full), await rex.delete(path)]) {
        expect(answer).toFailWith(403, 'forbidden')
      }
    }
    expect(await world.snapshot()).toEqual(before)
  })

  it('of two first ones at once, one follows the other', async () => {
    const { operator } = world
    const { path } = await world.device(await world.account())
    const answers = await Promise.all([1, 2, 3, 4].map(() => operator.post(`${path}/rate_limits`, full)))
    for (const answer of answers) expect(answer).toSucceedWith(full)
  })
})
