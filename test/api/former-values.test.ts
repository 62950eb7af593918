// Records of older versions of Kazoo contain older names of some values: clients and dumps still send them.
import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const formats = [
  ['e.164', 'e164'],
  ['1npanxxxxxx', '1npan'],
  ['npanxxxxxx', 'npan'],
  ['e164_without_plus', 'strip_plus'],
] as const

const manners = [
  ['lenient', false],
  ['strict', true],
] as const

describeAnyEngine('older names of values', (engine) => {
  const world = useWorld(engine)
  const created = async (path: string, data: object) => {
    const { ada, acme } = world
    const made = await ada.put(`${acme.path}/${path}`, data)
    expect(made).toSucceed()
    return (await ada.get(`${acme.path}/${path}/${made.data.id}`)).data
  }

  it.each(manners)('are stored as the names of today, with %s validation', async (_, isStrict) => {
    await world.operator.patch('/v2/system_configs/crossbar/default', { schema_strict_validation: isStrict })
    for (const [older, today] of formats) {
      const phone = await created('devices', {
        name: older,
        sip: { invite_format: older },
        media: { fax_option: 'auto' },
      })
      expect([phone.sip.invite_format, phone.media.fax_option]).toEqual([today, true])
      const carrier = await created('resources', {
        name: older,
        gateways: [{ server: 'sip.carrier.example', invite_format: older }],
      })
      expect(carrier.gateways[0].invite_format).toBe(today)
      const trunks = await created('connectivity', {
        servers: [{ auth: { auth_user: `pbx-${older}-${isStrict}` }, options: { inbound_format: older } }],
      })
      expect(trunks.servers[0].options.inbound_format).toBe(today)
    }
  })

  it('are replaced by a PATCH as well, and other names stay invalid', async () => {
    const { path } = await world.device(world.acme, { name: 'Phone' })
    expect(await world.ada.patch(path, { sip: { invite_format: 'e.164' } })).toSucceed()
    const refused = await world.refused(() => world.ada.patch(path, { sip: { invite_format: 'E.164' } }))
    expect(refused).toFailWith(400, 'validation error')
    expect(Object.keys(refused.data)).toEqual(['sip.invite_format'])
    expect((await world.ada.get(path)).data.sip.invite_format).toBe('e164')
  })
})
