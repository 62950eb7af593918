import { expect, it } from 'vitest'
import { type FieldRow, itHoldsRows } from '../support/matchers/field-rows.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const object = { takes: [{}], refuses: { type: ['many'] } }
const counters = (within: string): FieldRow => ({
  says: 'registrations, invites, total_packets: integer',
  within,
  takes: [0, 2000],
  refuses: { type: ['many', 1.5], minimum: [-1] },
})

const accountRows: FieldRow[] = [
  { says: 'account, device: object, a section', ...object },
  { says: 'account.per_minute, account.per_second, device.per_minute, device.per_second: object', ...object },
  counters('account.per_minute'),
  counters('account.per_second'),
  counters('device.per_minute'),
  counters('device.per_second'),
  {
    says: 'per_minute, per_second: not outside of the sections',
    takes: [],
    refuses: { additionalProperties: [{ invites: 1 }] },
  },
]

const deviceRows: FieldRow[] = [
  { says: 'per_minute, per_second: object', ...object },
  counters('per_minute'),
  counters('per_second'),
  {
    says: 'account, device: no sections',
    takes: [],
    refuses: { additionalProperties: [{ per_minute: { invites: 1 } }] },
  },
]

describeAnyEngine('Rate limits of an account', (engine) => {
  const world = useWorld(engine)
  const path = () => `${world.acme.path}/rate_limits`
  itHoldsRows(world, accountRows, {
    write: (fields) => world.ada.post(path(), fields),
    read: () => world.ada.get(path()),
    shows: (fields) => fields,
  })
})

describeAnyEngine('Rate limits of a device', (engine) => {
  let path = ''
  const world = useWorld(engine, async (built) => {
    path = `${(await built.device(built.acme)).path}/rate_limits`
  })
  itHoldsRows(world, deviceRows, {
    write: (fields) => world.ada.post(path, fields),
    read: () => world.ada.get(path),
    shows: (fields) => fields,
  })
})

describeAnyEngine('Rate limits', (engine) => {
  const world = useWorld(engine)

  /** What an edge lets through in a minute: INVITE packets of the account and of its device. */
  const invites = async (realm: string) => {
    const { data } = await world.operator.get('/v2/edge', { query: { realm, username: 'desk' } })
    return [data.rate_limits.account.per_minute.invites, data.rate_limits.device.per_minute.invites]
  }
  const perMinute = (number: number) => ({ per_minute: { invites: number } })

  it('of the `device` section apply to devices of the account without separate limits', async () => {
    const account = await world.account()
    const device = await world.device(account, { sip: { username: 'desk' } })
    await world.operator.post(`${account.path}/rate_limits`, { account: perMinute(50), device: perMinute(5) })
    expect(await invites(account.realm)).toEqual([50, 5])
    await world.operator.post(`${device.path}/rate_limits`, perMinute(7))
    expect(await invites(account.realm)).toEqual([50, 7])
  })

  it('have a system-wide default in the same syntax, in the configuration document `frontier`', async () => {
    const account = await world.account()
    await world.device(account, { sip: { username: 'desk' } })
    const settings = '/v2/system_configs/frontier'
    const rate_limits = { account: perMinute(60), device: perMinute(6) }
    expect(await world.operator.patch(settings, { default: { rate_limits } })).toSucceed()
    expect(await invites(account.realm)).toEqual([60, 6])
    expect(await world.operator.delete(settings)).toSucceed()
  })

  it('are read and written only by the account and those above it', async () => {
    const path = `${world.acme.path}/rate_limits`
    expect(await world.ross.get(path)).toSucceed()
    await world.unchanged(async () => {
      expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
      expect(await world.rex.post(path, { account: perMinute(1) })).toFailWith(403, 'forbidden')
    })
  })
})
