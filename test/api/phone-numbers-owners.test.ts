// What happens to numbers when something else changes.
import { expect, it } from 'vitest'
import { NumberRecord } from '../../src/areas/numbers/phone-numbers/store.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const days = (count: number) => ({ hours: 24 * count })

describeAnyEngine('numbers of accounts that move or go', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()
  const listOf = (path: string) => world.operator.get(`${path}/phone_numbers`)

  it('stay with an account that moves, and obey the accounts that are above it now', async () => {
    const number = next()
    const [here, there] = [await world.account(world.reseller), await world.account()]
    const path = await makeNumber(world, here, number)
    expect(await world.ross.patch(path, { my: 1 })).toSucceed()
    expect(await world.operator.post(`${here.path}/move`, { to: there.id })).toSucceed()
    expect((await listOf(here.path)).data.numbers[number].assigned_to).toBe(here.id)
    expect(await world.ross.put(`${pathOf(world.acme, number)}/activate`)).toFailWith(403, 'forbidden')
    const admin = await world.admin(there)
    expect(await admin.put(`${pathOf(there, number)}/activate`)).toSucceed()
  })

  it('are released with an account that is deleted: back, or into the pool', async () => {
    const account = await world.account(world.reseller)
    const [local, remote, back] = [next(), next(), next()]
    await makeNumber(world, account, local, { my: 'own' })
    await makeNumber(world, account, remote, { carrier_name: 'inventory' })
    await makeNumber(world, world.reseller, back, { create_with_state: 'reserved' })
    await world.operator.put(`${pathOf(account, back)}/reserve`)
    expect(await world.operator.delete(account.path)).toSucceed()
    const { numbers } = world.server.areas.phoneNumbers
    expect(await numbers.findAnywhere(local)).toMatchObject({ accountId: '', state: 'available', doc: {} })
    expect(await numbers.findAnywhere(remote)).toMatchObject({ accountId: '', state: 'available' })
    expect(await numbers.findAnywhere(back)).toMatchObject({
      accountId: world.reseller.id,
      state: 'reserved',
    })
  })

  it('skip an account that is gone on their way back', async () => {
    const [above, below] = await world.chain(2, world.reseller)
    if (!below) throw new Error('no account below')
    const number = next()
    await makeNumber(world, world.reseller, number, { create_with_state: 'reserved' })
    await world.operator.put(`${pathOf(above, number)}/reserve`)
    await world.operator.put(`${pathOf(below, number)}/reserve`)
    await world.operator.post(`${below.path}/move`, { to: world.reseller.id })
    expect(await world.operator.delete(above.path)).toSucceed()
    expect(await world.operator.delete(pathOf(below, number))).toSucceed()
    const { numbers } = world.server.areas.phoneNumbers
    expect(await numbers.findAnywhere(number)).toMatchObject({
      accountId: world.reseller.id,
      state: 'reserved',
    })
  })

  it('are released by the thousand as well', async () => {
    const account = await world.account(world.reseller)
    const numbers = Array.from({ length: 2300 }, (_, index) => `+1628666${String(index).padStart(4, '0')}`)
    await world.operator.put(`${account.path}/phone_numbers/collection`, {
      numbers,
      carrier_name: 'inventory',
    })
    expect((await listOf(world.reseller.path)).data.cascade_quantity).toBe(2300)
    expect(await world.operator.delete(account.path)).toSucceed()
    expect((await listOf(world.reseller.path)).data.cascade_quantity).toBe(0)
    const rows = await world.server.store.all(
      "SELECT count(*) AS count FROM numbers WHERE state = 'available' AND number LIKE '+1628666%' AND account_id = ''",
    )
    expect(Number(rows[0]?.count)).toBe(2300)
  })
})

describeAnyEngine('states that end automatically', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()
  const stored = (number: string) => world.server.areas.phoneNumbers.numbers.findAnywhere(number)
  const day = () => world.server.scheduler.runNow('phone-numbers')

  it('an aged number is available after 90 days', async () => {
    await world.configure('number_manager', { should_age: true })
    const number = next()
    await world.operator.delete(await makeNumber(world, world.acme, number, { carrier_name: 'inventory' }))
    expect(await stored(number)).toMatchObject({ state: 'aging' })
    world.clock.advance(days(89))
    await day()
    expect(await stored(number)).toMatchObject({ state: 'aging' })
    world.clock.advance(days(2))
    await day()
    expect(await stored(number)).toMatchObject({ state: 'available', accountId: '' })
  })
})

describeAnyEngine('numbers that age in an account', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()

  it('lose their owner when their time is over, however many there are', async () => {
    const texts = Array.from({ length: 250 }, next)
    const fields = { create_with_state: 'aging', carrier_name: 'inventory' }
    await world.operator.put(`${world.acme.path}/phone_numbers/collection`, { numbers: texts, ...fields })
    await world.configure('number_manager', { aging_expiry_d: 1 })
    const { phoneNumbers, services } = world.server.areas
    expect(await services.quantities.cascade(world.reseller.id, 'phone_numbers')).toBe(250)
    world.clock.advance(days(2))
    await world.server.scheduler.runNow('phone-numbers')
    const found = await phoneNumbers.numbers.store.findSeveral(texts)
    expect([...found.values()].map(({ accountId, state }) => ({ accountId, state }))).toEqual(
      texts.map(() => ({ accountId: '', state: 'available' })),
    )
    expect(await phoneNumbers.numbers.store.countOf(world.acme.id, 10)).toBe(0)
    expect(await services.quantities.cascade(world.reseller.id, 'phone_numbers')).toBe(0)
  })
})

describeAnyEngine('unassigned and deleted numbers', (engine) => {
  const world = useWorld(engine)
  const next = createNumberSource()

  it('leave the inventory: the one kind after a day, the other at once', async () => {
    const { numbers } = world.server.areas.phoneNumbers
    const kept = async (number: string) => (await numbers.findAnywhere(number))?.state
    const [discovered, deleted] = [next(), next()]
    for (const [number, state] of [
      [discovered, 'discovery'],
      [deleted, 'deleted'],
    ] as const) {
      await makeNumber(world, world.master, number, { create_with_state: 'available' })
      const made = await numbers.findAnywhere(number)
      if (!made) throw new Error('it is not there')
      const set = new ChangeSet({ requestId: 'test' })
      numbers.store.replace(set, made, new NumberRecord({ ...made, state, revision: 'another' }))
      await world.server.store.commit(set)
    }
    const day = () => world.server.scheduler.runNow('phone-numbers')
    world.clock.advance({ hours: 23 })
    await day()
    expect([await kept(discovered), await kept(deleted)]).toEqual(['discovery', undefined])
    world.clock.advance({ hours: 2 })
    await day()
    expect(await kept(discovered)).toBeUndefined()
  })
})

describeAnyEngine('the number of a mobile device', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()
  const stored = (number: string) => world.server.areas.phoneNumbers.numbers.findAnywhere(number)

  it('comes with the device and goes with it', async () => {
    const number = next()
    const phone = await world.device(world.acme, { device_type: 'mobile', mobile: { mdn: number } })
    const read = await world.ada.get(pathOf(world.acme, number))
    expect(read).toSucceedWith({
      id: number,
      state: 'in_service',
      used_by: 'mobile',
      features: ['local'],
      mobile: { provider: 'local', authorizing: { 'account-id': world.acme.id }, 'device-id': phone.id },
    })
    expect(read.body.metadata).toMatchObject({ carrier_module: 'mdn' })
    expect(await world.ada.delete(phone.path)).toSucceed()
    expect(await stored(number)).toBeUndefined()
  })

  it('may be one that the account has in service, which stays when the device goes', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { my: 1 })
    const phone = await world.device(world.acme, { device_type: 'mobile', mobile: { mdn: number } })
    expect((await world.ada.get(pathOf(world.acme, number))).data).toMatchObject({ used_by: 'mobile', my: 1 })
    expect(await world.operator.patch(phone.path, { mobile: { mdn: next() } })).toSucceed()
    expect(await world.ada.get(pathOf(world.acme, number))).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
      my: 1,
    })
    expect(await world.ada.delete(phone.path)).toSucceed()
  })

  it('is added only by a caller who may add it with PUT, through every request that creates or changes a device', async () => {
    const home = await world.account(world.reseller)
    const [admin, user] = [await world.admin(home), await world.user(home)]
    const number = next()
    const fields = { name: 'Mobile', device_type: 'mobile', mobile: { mdn: number } }
    const cause = `account ${home.id} is not allowed to create numbers`
    expect(await world.refused(() => admin.put(pathOf(home, number)))).toFailWith(403, 'forbidden')
    for (const path of [`${home.path}/devices`, `${user.path}/devices`])
      expect(await world.refused(() => admin.put(path, fields))).toFailWith(400, 'validation error', {
        'mobile.mdn': {
          forbidden: {
            message:
              'The account does not have this number, and the caller may not add it. Use a number of the account that is in service',
            cause,
          },
        },
      })
    const desk = await world.device(home, { owner_id: user.id })
    for (const caller of [admin, user])
      for (const method of ['post', 'patch'] as const) {
        const data = method === 'post' ? { ...desk, mobile: fields.mobile } : { mobile: fields.mobile }
        const answer = await world.refused(() => caller[method](desk.path, data))
        expect(answer).toBreak({ 'mobile.mdn': ['forbidden', 'invalid'] })
      }
    expect(await stored(number)).toBeUndefined()

    const own = next()
    await makeNumber(world, home, own)
    expect(await admin.put(`${home.path}/devices`, { ...fields, mobile: { mdn: own } })).toSucceed(201)
    expect(await world.ross.put(`${home.path}/devices`, fields)).toSucceed(201)
    await allowAdditions(world, home)
    const allowed = { ...fields, mobile: { mdn: next() } }
    expect(await admin.put(`${home.path}/devices`, allowed)).toSucceed(201)
  })

  it('belongs to devices of type `mobile` only, also if the account has it', async () => {
    const number = next()
    await makeNumber(world, world.acme, number)
    const desk = await world.device(world.acme)
    const mobile = { mdn: number }
    for (const caller of [world.ada, world.operator])
      for (const act of [
        () => caller.put(`${world.acme.path}/devices`, { name: 'Desk', mobile }),
        () => caller.patch(desk.path, { mobile }),
      ])
        expect(await world.refused(act)).toBreak({ 'mobile.mdn': ['invalid'] })
  })

  it('is never another account’s, and no other device’s', async () => {
    const [foreign, reserved, used] = [next(), next(), next()]
    await makeNumber(world, world.rival, foreign)
    await makeNumber(world, world.acme, reserved, { create_with_state: 'reserved' })
    await world.device(world.acme, { device_type: 'mobile', mobile: { mdn: used } })
    for (const mdn of [foreign, reserved, used]) {
      const answer = await world.unchanged(() =>
        world.ada.put(`${world.acme.path}/devices`, { name: 'x', device_type: 'mobile', mobile: { mdn } }),
      )
      expect(answer).toBreak({ 'mobile.mdn': ['unique'] })
    }
    const nothing = await world.ada.put(`${world.acme.path}/devices`, {
      name: 'x',
      device_type: 'mobile',
      mobile: { mdn: '12' },
    })
    expect(nothing).toBreak({ 'mobile.mdn': ['invalid'] })
  })

  it('stays where the device is', async () => {
    const number = next()
    const phone = await world.device(world.acme, { device_type: 'mobile', mobile: { mdn: number } })
    const path = pathOf(world.acme, number)
    const told = {
      code: 400,
      error: 'invalid',
      message: 'invalid',
      cause: `the number belongs to the mobile device ${phone.id}`,
    }
    expect(await world.unchanged(() => world.ada.delete(path))).toFailWith(400, 'invalid', told)
    const hard = await world.unchanged(() =>
      world.operator.delete(path, undefined, { query: { hard: true } }),
    )
    expect(hard).toFailWith(400, 'invalid', told)
    const away = `${pathOf(world.rival, number)}/activate`
    expect(await world.unchanged(() => world.ross.put(away))).toFailWith(400, 'invalid', told)
    expect(await world.unchanged(() => world.ada.put(`${path}/reserve`))).toFailWith(
      400,
      'invalid_state_transition',
    )
    // Its tie is not for clients to cut.
    expect((await world.operator.post(path, { my: 1 })).data).toMatchObject({
      my: 1,
      mobile: { 'device-id': phone.id },
    })
  })
})

describeAnyEngine('a number without owner', (engine) => {
  const world = useWorld(engine)
  const next = createNumberSource()

  it('is not found below any account when the operator reads or changes it, also in collections', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { create_with_state: 'available' })
    const cause = { error: 'not_found', code: 404, message: `number ${number} not found`, cause: number }
    for (const account of [world.master, world.reseller, world.acme]) {
      const path = pathOf(account, number)
      const collection = `${account.path}/phone_numbers/collection`
      const act = async () => ({
        single: [
          await world.operator.get(path),
          await world.operator.post(path, { my: 1 }),
          await world.operator.patch(path, { my: 1 }),
        ],
        several: [
          await world.operator.post(collection, { numbers: [number], my: 1 }),
          await world.operator.patch(collection, { numbers: [number], my: 1 }),
        ],
      })
      const { single, several } = await world.refused(act)
      for (const answer of single) expect(answer).toFailWith(404, 'bad_identifier')
      for (const answer of several) expect(answer).toSucceedWith({ success: {}, error: { [number]: cause } })
    }
  })

  it('is removed from the inventory by the operator with `hard`', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number, { create_with_state: 'available' })
    const answer = await world.operator.delete(path, undefined, { query: { hard: true } })
    expect(answer).toSucceedWith({ id: number, state: 'deleted' })
    expect(await world.server.areas.phoneNumbers.numbers.findAnywhere(number)).toBeUndefined()
  })
})
