import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world.ts'

const totals = { per_minute: { total_packets: 600 }, per_second: { total_packets: 20 } }
const full = {
  per_minute: { registrations: 10, invites: 20, total_packets: 600 },
  per_second: { registrations: 1, invites: 2, total_packets: 20 },
}

describeEngines('rate limits', (engine) => {
  const world = useWorld(engine)

  /** The same holds for an account and a device, but for the shape of the document. */
  const places = async () => {
    const account = await world.account()
    const device = await world.device(account)
    return [
      {
        path: `${account.path}/rate_limits`,
        limits: { account: full, device: totals },
        other: { account: totals, device: full },
      },
      { path: `${device.path}/rate_limits`, limits: full, other: { ...totals, note: 'kept' } },
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

  it('are refused when a part is missing or unknown, and nothing is stored', async () => {
    const { operator } = world
    const [ofAccount, ofDevice] = await places()
    const minute = (counters: object) => ({ ...totals, per_minute: counters })
    const refused: [string | undefined, object, Record<string, string[]>][] = [
      [ofAccount?.path, { account: totals }, { device: ['required'] }],
      [ofAccount?.path, {}, { account: ['required'], device: ['required'] }],
      [ofAccount?.path, totals, { account: ['required'], device: ['required'] }],
      [
        ofAccount?.path,
        { account: minute({ total_packets: 1, foo: 1 }), device: totals },
        { 'account.per_minute.foo': ['additionalProperties'] },
      ],
      [ofDevice?.path, { per_minute: totals.per_minute }, { per_second: ['required'] }],
      [ofDevice?.path, minute({ invites: 1 }), { 'per_minute.total_packets': ['required'] }],
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
