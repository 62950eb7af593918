import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world.ts'

const message = 'Nothing in this server reads this key'

describeAnyEngine('keys that nothing reads', (engine) => {
  const world = useWorld(engine)

  it('are stored and reported with their path by PUT, POST and PATCH, and not by reads', async () => {
    const users = `${world.acme.path}/users`
    const fields = {
      first_name: 'A',
      last_name: 'B',
      shoe: 1,
      hotdesk: { ID: '7' },
      ui_metadata: { ui: 'x' },
    }
    const warnings = [
      { path: 'shoe', message },
      { path: 'hotdesk.ID', message },
    ]
    const made = await world.ada.put(users, fields)
    expect(made.body.metadata.warnings).toEqual(warnings)
    const path = `${users}/${made.data.id}`
    const read = await world.ada.get(path)
    expect(read.data).toMatchObject(fields)
    expect(read.body.metadata.warnings).toBeUndefined()
    expect((await world.ada.post(path, fields)).body.metadata.warnings).toEqual(warnings)
    const patched = await world.ada.patch(path, { first_name: 'C', shoe: null, 'a.b': 1 })
    expect(patched.body.metadata.warnings).toEqual([{ path: 'a%2Eb', message }])
    expect(patched.data.shoe).toBeUndefined()
  })

  it('of plans are reported, wherever they are misspelt', async () => {
    const item = {
      rate: 5,
      activation_charges: 1,
      prorate: { addition: true },
      discounts: { single: { rat: 1 } },
    }
    const answer = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Misspelt',
      plan: { devices: { sip_device: item } },
    })
    const place = 'plan.devices.sip_device'
    expect(answer.body.metadata.warnings).toEqual([
      { path: `${place}.activation_charges`, message },
      { path: `${place}.prorate.addition`, message },
      { path: `${place}.discounts.single.rat`, message },
    ])
  })

  it('are none in a record that comes back as it was read', async () => {
    const { acme, reseller, operator } = world
    const made = async (list: string, fields: object) =>
      `${list}/${(await operator.put(list, { ...fields })).data.id}`
    const records = [
      acme.path,
      (await world.user(acme)).path,
      (await world.device(acme)).path,
      await made(`${acme.path}/callflows`, { numbers: ['1001'], flow: { module: 'hangup' } }),
      await made(`${acme.path}/groups`, { name: 'Sales', endpoints: {} }),
      await made(`${acme.path}/connectivity`, { name: 'Office', servers: [{ auth: { auth_user: 'pbx' } }] }),
      await made(`${reseller.path}/service_plans`, { name: 'Basic', plan: {} }),
      await made(`${acme.path}/webhooks`, { name: 'Hook', uri: 'https://receiver.invalid/', hook: 'sms' }),
    ]
    for (const path of records) {
      const { data } = await operator.get(path)
      const answer = await operator.post(path, data)
      expect(answer).toSucceed()
      expect([path, answer.body.metadata.warnings]).toEqual([path, undefined])
    }
  })
})
