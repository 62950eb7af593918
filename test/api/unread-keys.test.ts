import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const message = 'The server does not use this key'

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

  it('of plans: categories that nothing counts and empty objects are reported, crossed bounds are rejected', async () => {
    const plans = `${world.reseller.path}/service_plans`
    const counted = { rate: 1, quantity: { category: 'devices', name: 'sip_device' } }
    const plan = {
      phones: { desk: { rate: 5 } },
      extras: { licence: counted },
      users: {},
      devices: { _all: {}, ata: { rate: 1 } },
    }
    const empty = 'This object is empty and has no effect'
    const warnings = [
      { path: 'plan.phones', message: 'Only manual quantities count items of this category' },
      { path: 'plan.users', message: empty },
      { path: 'plan.devices._all', message: empty },
    ]
    const made = await world.ross.put(plans, { name: 'Idle', plan })
    expect(made.body.metadata.warnings).toEqual(warnings)
    const overrides = await world.ross.post(`${world.acme.path}/services/overrides`, { plan })
    expect(overrides.body.metadata.warnings).toEqual(warnings)
    expect(await world.ross.post(`${world.acme.path}/services/overrides`, {})).toSucceed()
    const crossed = { devices: { ata: { rate: 1, minimum: 3, maximum: 2 } } }
    expect(await world.refused(() => world.ross.put(plans, { name: 'Crossed', plan: crossed }))).toBreak({
      'plan.devices.ata.minimum': ['maximum'],
    })
  })

  it('of alerts: recipients that do not exist are reported, a past expiration is rejected', async () => {
    const { operator, acme, ada, uli } = world
    const nobody = '0'.repeat(32)
    const alert = { title: 'T', message: 'M', from: [{ type: 'account', value: acme.id }] }
    const known = [
      { type: 'admins', value: acme.id },
      { type: 'user', value: uli.id },
      { type: acme.id, value: ada.id },
      { type: 'descendants', value: [acme.id, 'users'] },
      { type: 'all', value: 'all' },
    ]
    const unknown = [
      { type: 'admins', value: nobody },
      { type: 'user', value: nobody },
      { type: acme.id, value: nobody },
      { type: 'descendants', value: [nobody, 'users'] },
    ]
    const made = await operator.put(`${acme.path}/alerts`, { ...alert, to: [...known, ...unknown] })
    const reported = made.body.metadata.warnings as { path: string }[]
    expect(reported.map(({ path }) => path)).toEqual(unknown.map((_, index) => `to.${known.length + index}`))
    const past = { ...alert, to: known, expiration_date: gregorianNow(world.clock) }
    expect(await world.refused(() => operator.put(`${acme.path}/alerts`, past))).toBreak({
      expiration_date: ['minimum'],
    })
  })

  it('of brands: a port authority outside the tree of the account is reported', async () => {
    const brand = `${world.acme.path}/whitelabel`
    const warningsFor = async (authority: string) => {
      const { body } = await world.ada.put(brand, { port: { authority } })
      await world.ada.delete(brand)
      return body.metadata.warnings
    }
    const message = 'Must be the ID of this account, a parent account or a sub-account'
    for (const id of ['0'.repeat(32), 'support', world.rival.id])
      expect(await warningsFor(id)).toEqual([{ path: 'port.authority', message }])
    for (const id of [world.acme.id, world.reseller.id]) expect(await warningsFor(id)).toBeUndefined()
  })

  it('of accounts: a negative top-up is rejected', async () => {
    for (const key of ['amount', 'threshold'])
      expect(await world.refused(() => world.ada.patch(world.acme.path, { topup: { [key]: -5 } }))).toBreak({
        [`topup.${key}`]: ['minimum'],
      })
  })
})
