// The life of one number.
import { expect, it } from 'vitest'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld, type World } from '../support/world/world.ts'

const ready = (world: World) => allowAdditions(world)

const forbidden = (cause?: string) => ({
  code: 403,
  error: 'forbidden',
  message: 'requestor is unauthorized to perform operation',
  ...(cause ? { cause } : {}),
})
const transition = (cause: string) => ({
  code: 400,
  error: 'invalid_state_transition',
  message: 'invalid state transition',
  cause,
})
const missing = (number: string) => ({
  message: 'bad identifier',
  not_found: 'The number could not be found',
  cause: number,
})

describeAnyEngine('creating a number', (engine) => {
  const world = useWorld(engine, ready)
  const next = createNumberSource()

  it('puts it into service for the account, when that may add numbers', async () => {
    const number = next()
    const answer = await world.ross.put(pathOf(world.reseller, number))
    expect(answer).toSucceedWith({ id: number, state: 'in_service', features: ['local'] })
    expect(answer.body.metadata).toEqual({
      id: number,
      created: expect.any(Number),
      modified: expect.any(Number),
      carrier_module: 'local',
      features: {
        available: ['force_outbound', 'prepend', 'ringback'],
        settings: {},
      },
    })
    expect(await world.ross.get(pathOf(world.reseller, number))).toSucceedWith(answer.data)
  })

  it('is refused to an account that may not', async () => {
    const number = next()
    const answer = await world.unchanged(() => world.ada.put(pathOf(world.acme, number)))
    const cause = `account ${world.acme.id} is not allowed to create numbers`
    expect(answer).toFailWith(403, 'forbidden', forbidden(cause))
  })

  it('over one that is free is refused to it as well; activating that is not adding', async () => {
    const number = next()
    const path = pathOf(world.acme, number)
    await makeNumber(world, world.master, number, { create_with_state: 'available' })
    const cause = `account ${world.acme.id} is not allowed to create numbers`
    const answer = await world.unchanged(() => world.ada.put(path))
    expect(answer).toFailWith(403, 'forbidden', forbidden(cause))
    expect(await world.ada.put(`${path}/activate`)).toSucceed()
  })

  it('and every change of one is refused to an account that may not add any', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number, { my: 1 })
    const cause = `account ${world.acme.id} is not allowed to change numbers`
    const collection = `${world.acme.path}/phone_numbers/collection`
    for (const change of [() => world.ada.post(path, { my: 2 }), () => world.ada.patch(path, { my: 2 })]) {
      expect(await world.unchanged(change)).toFailWith(403, 'forbidden', forbidden(cause))
    }
    for (const method of ['POST', 'PATCH']) {
      const many = () => world.ada.request(method, collection, { numbers: [number], my: 2 })
      expect((await world.unchanged(many)).data.error[number]).toEqual(forbidden(cause))
    }
    expect((await world.ross.patch(path, { my: 2 })).data.my).toBe(2)
    expect((await world.operator.patch(path, { my: 3 })).data.my).toBe(3)
  })

  it('as a port is allowed to every account', async () => {
    const number = next()
    const answer = await world.ada.put(`${pathOf(world.acme, number)}/port`)
    expect(answer).toSucceedWith({ id: number, state: 'port_in', features: ['local'] })
    const other = next()
    expect(await world.ada.put(pathOf(world.acme, other), { create_with_state: 'port_in' })).toSucceedWith({
      id: other,
      state: 'port_in',
      features: ['local'],
    })
  })

  it('takes the carriers that the settings name, for ports another', async () => {
    await world.configure('number_manager', {
      available_module_name: 'knm_inventory',
      port_in_module_name: 'knm_other',
    })
    const carrierOf = async (path: string) => (await world.operator.put(path)).body.metadata.carrier_module
    expect(await carrierOf(pathOf(world.acme, next()))).toBe('inventory')
    expect(await carrierOf(`${pathOf(world.acme, next())}/port`)).toBe('other')
    await world.configure('number_manager', {
      available_module_name: 'knm_local',
      port_in_module_name: 'knm_local',
    })
  })

  it('in state available gives it no owner', async () => {
    const number = next()
    const path = pathOf(world.acme, number)
    expect(await world.operator.put(path, { create_with_state: 'available' })).toSucceedWith({
      id: number,
      state: 'available',
      features: ['local'],
    })
    expect(await world.ada.get(`${world.acme.path}/phone_numbers`)).toSucceed()
    expect((await world.ada.get(`${world.acme.path}/phone_numbers`)).data.numbers[number]).toBeUndefined()
    for (const who of [world.ada, world.operator])
      expect(await who.get(path)).toFailWith(404, 'bad_identifier', missing(number))
  })

  it.each([
    ['available', 'the reseller'],
    ['released', 'the reseller'],
    ['deleted', 'the reseller'],
    ['aging', 'the reseller'],
  ])('in state %s is refused to %s', async (state) => {
    const path = pathOf(world.reseller, next())
    const answer = await world.unchanged(() => world.ross.put(path, { create_with_state: state }))
    expect(answer).toFailWith(
      403,
      'forbidden',
      forbidden(`creating number in state '${state}' is not allowed`),
    )
  })

  it.each(['deleted', 'discovery', 'port_out', 'released'])(
    'in state %s is refused to every caller',
    async (state) => {
      const answer = await world.operator.put(pathOf(world.reseller, next()), { create_with_state: state })
      expect(answer).toFailWith(
        403,
        'forbidden',
        forbidden(`creating number in state '${state}' is not allowed`),
      )
    },
  )

  it.each(['aging', 'available', 'in_service', 'port_in', 'reserved'])(
    'in state %s the operator may',
    async (state) => {
      const number = next()
      const answer = await world.operator.put(pathOf(world.reseller, number), { create_with_state: state })
      expect(answer).toSucceedWith({ id: number, state, features: ['local'] })
    },
  )

  it('of a number that is there is refused', async () => {
    for (const state of ['in_service', 'reserved']) {
      const number = next()
      const path = await makeNumber(world, world.reseller, number, { create_with_state: state })
      const told = {
        code: 409,
        error: 'number_exists',
        message: `number ${number} already exists`,
        cause: number,
      }
      for (const who of [world.operator, world.ross])
        expect(await world.unchanged(() => who.put(path))).toFailWith(409, 'number_exists', told)
    }
  })

  it('of an available number takes that', async () => {
    const number = next()
    await makeNumber(world, world.master, number, { create_with_state: 'available' })
    expect(await world.ross.put(pathOf(world.reseller, number))).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
    })
    expect(await world.ross.get(pathOf(world.reseller, number))).toSucceed()
  })

  it('of an aging number as a port is no transition', async () => {
    const number = next()
    const path = await makeNumber(world, world.reseller, number, { create_with_state: 'aging' })
    const answer = await world.unchanged(() => world.ross.put(path, { create_with_state: 'port_in' }))
    expect(answer).toFailWith(400, 'invalid_state_transition', transition('from aging to port_in'))
  })

  it('of what is no number is refused with the text as it was sent', async () => {
    const told = (text: string) => ({
      code: 400,
      error: 'not_reconcilable',
      message: `number ${text} is not reconcilable`,
      cause: text,
    })
    for (const text of ['123_&', '1234', '+1415555', '+0123456789', 'abc'])
      expect(await world.ross.put(pathOf(world.reseller, text))).toFailWith(
        404,
        'not_reconcilable',
        told(text),
      )
    const text = '+190932147671234_&'
    const answer = await world.ross.put(`${pathOf(world.reseller, text)}/activate`)
    expect(answer).toFailWith(404, 'not_reconcilable', told(text))
  })

  it('takes national and international forms for one number', async () => {
    const made = await world.ross.put(pathOf(world.reseller, '2234567890'))
    expect(made.data.id).toBe('+12234567890')
    for (const text of ['2234567890', '12234567890', '+12234567890', '01112234567890'])
      expect((await world.ross.get(pathOf(world.reseller, text))).data.id).toBe('+12234567890')
  })

  it('keeps fields of the customer’s own, but none of the server’s', async () => {
    const number = next()
    const fields = {
      id: '+14155559999',
      state: 'available',
      used_by: 'callflow',
      features: ['cnam'],
      create_with_state: 'in_service',
      pvt_state: 'deleted',
      _id: 'x',
      my: { own: [1, 2] },
      porting: { comments: ['soon'] },
    }
    const expected = {
      id: number,
      state: 'in_service',
      features: ['local'],
      my: { own: [1, 2] },
      porting: { comments: ['soon'] },
    }
    expect(await world.ross.put(pathOf(world.reseller, number), fields)).toSucceedWith(expected)
  })
})

describeAnyEngine('reserving a number', (engine) => {
  const world = useWorld(engine, ready)
  const next = createNumberSource()

  it('that is not there: 404', async () => {
    const number = next()
    const answer = await world.ross.put(`${pathOf(world.reseller, number)}/reserve`)
    expect(answer).toFailWith(404, 'bad_identifier', missing(number))
  })

  it('that the account has reserved already: nothing to do', async () => {
    const path = await makeNumber(world, world.reseller, next(), { create_with_state: 'reserved' })
    const answer = await world.unchanged(() => world.ross.put(`${path}/reserve`))
    expect(answer).toFailWith(400, 'no_change_required', {
      code: 400,
      error: 'no_change_required',
      message: 'no change required',
    })
  })

  it('that is aging or coming in: no transition', async () => {
    for (const state of ['aging', 'port_in']) {
      const path = await makeNumber(world, world.reseller, next(), { create_with_state: state })
      const answer = await world.unchanged(() => world.ross.put(`${path}/reserve`))
      expect(answer).toFailWith(400, 'invalid_state_transition', transition(`from ${state} to reserved`))
    }
  })

  it('for a child after its parent: given back step by step', async () => {
    await world.configure('number_manager', { available_module_name: 'knm_inventory' })
    const number = next()
    await makeNumber(world, world.master, number, { create_with_state: 'available' })
    await world.configure('number_manager', { available_module_name: 'knm_local' })
    expect(await world.ross.put(`${pathOf(world.reseller, number)}/reserve`)).toSucceedWith({
      id: number,
      state: 'reserved',
    })
    expect(await world.ross.put(`${pathOf(world.acme, number)}/reserve`)).toSucceedWith({
      id: number,
      state: 'reserved',
    })
    expect(await world.ross.get(pathOf(world.reseller, number))).toFailWith(404, 'bad_identifier')
    const first = await world.ada.delete(pathOf(world.acme, number))
    expect(first).toSucceedWith({ id: number, state: 'reserved' })
    expect(first.body.metadata.deleted).toBe(true)
    expect(await world.ross.get(pathOf(world.reseller, number))).toSucceedWith({
      id: number,
      state: 'reserved',
    })
    expect(await world.ross.delete(pathOf(world.reseller, number))).toSucceedWith({
      id: number,
      state: 'available',
    })
    const stored = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
    expect(stored?.hidden).toEqual({ features: {}, previouslyAssignedTo: world.reseller.id })
  })

  it('a number without earlier reservations becomes available again', async () => {
    const number = next()
    const path = await makeNumber(world, world.reseller, number, { create_with_state: 'reserved' })
    expect((await world.ross.delete(path)).data.state).toBe('available')
    const stored = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
    expect(stored).toMatchObject({ state: 'available', accountId: '' })
  })

  it('ignores public fields in the body, though it validates them', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { my: 'own' })
    const path = `${pathOf(world.reseller, number)}/reserve`
    expect(await world.ross.put(path, { cnam: { display_name: 'x'.repeat(16) } })).toBreak({
      'cnam.display_name': ['maxLength'],
    })
    expect(await world.ross.put(path, { my: 'other', more: 1 })).toSucceedWith({
      id: number,
      state: 'reserved',
      features: ['local'],
      my: 'own',
    })
  })
})

describeAnyEngine('activating a number', (engine) => {
  const world = useWorld(engine, ready)
  const next = createNumberSource()

  it('that the parent has reserved is a child’s right', async () => {
    const number = next()
    await makeNumber(world, world.reseller, number, { create_with_state: 'reserved' })
    expect(await world.ada.put(`${pathOf(world.acme, number)}/activate`)).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
    })
    expect(await world.ada.get(pathOf(world.acme, number))).toSucceed()
    expect(await world.ross.get(pathOf(world.reseller, number))).toFailWith(404, 'bad_identifier')
    // A number from a reserve returns to the reserve.
    expect(await world.ada.delete(pathOf(world.acme, number))).toSucceedWith({
      id: number,
      state: 'reserved',
      features: ['local'],
    })
    expect(await world.ross.get(pathOf(world.reseller, number))).toSucceed()
  })

  it('that another account has reserved is refused', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { create_with_state: 'reserved' })
    const path = `${pathOf(world.rival, number)}/activate`
    expect(await world.unchanged(() => world.rex.put(path))).toFailWith(403, 'forbidden', forbidden())
  })

  it('that is available is allowed to every account, whatever its carrier', async () => {
    for (const carrier_name of ['local', 'inventory']) {
      const number = next()
      await makeNumber(world, world.master, number, { create_with_state: 'available', carrier_name })
      const answer = await world.rex.put(`${pathOf(world.rival, number)}/activate`)
      const features = carrier_name === 'local' ? { features: ['local'] } : {}
      expect(answer).toSucceedWith({ id: number, state: 'in_service', ...features })
      const stored = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
      expect(stored?.hidden.reserveHistory).toBeUndefined()
    }
  })

  it('that ages is allowed to every account once it has no owner', async () => {
    await world.configure('number_manager', { should_age: true })
    const number = next()
    const path = await makeNumber(world, world.acme, number, { carrier_name: 'inventory' })
    expect(await world.ada.delete(path)).toSucceedWith({ id: number, state: 'aging' })
    await world.configure('number_manager', { should_age: false })
    expect(await world.rex.put(`${pathOf(world.rival, number)}/activate`)).toSucceed()
  })

  it('that is unknown: 404', async () => {
    const number = next()
    const answer = await world.ross.put(`${pathOf(world.reseller, number)}/activate`)
    expect(answer).toFailWith(404, 'bad_identifier', missing(number))
  })

  it('in service: the own keeps its state and gets other fields, one below moves, a foreign one stays', async () => {
    const number = next()
    await makeNumber(world, world.acme, number, { my: 'own', other: 1 })
    expect(await world.ada.put(`${pathOf(world.acme, number)}/activate`, { my: 'new' })).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
      my: 'new',
    })
    expect(await world.ross.put(`${pathOf(world.rival, number)}/activate`)).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
    })
    expect(await world.rex.get(pathOf(world.rival, number))).toSucceed()
    const path = `${pathOf(world.acme, number)}/activate`
    expect(await world.unchanged(() => world.ada.put(path))).toFailWith(403, 'forbidden', forbidden())
  })

  it('costs a token of the account’s own bucket', async () => {
    const number = next()
    await makeNumber(world, world.acme, number)
    await world.configure('crossbar', { token_costs: 1 })
    await world.configure('token_buckets', {
      'crossbar.phone_numbers': { max_bucket_tokens: 3, tokens_fill_rate: 1, tokens_fill_time: 'day' },
    })
    const path = `${pathOf(world.acme, number)}/activate`
    const answers = [await world.ada.put(path), await world.ada.put(path), await world.ada.put(path)]
    expect(answers.map(({ body }) => body.tokens)).toEqual([
      { consumed: 1, remaining: 2 },
      { consumed: 1, remaining: 1 },
      { consumed: 1, remaining: 0 },
    ])
    expect(await world.ada.put(path)).toFailWith(429, 'too_many_requests')
    // Another account has another bucket, and other requests are paid from the ordinary one.
    expect(await world.rex.put(`${pathOf(world.rival, next())}/activate`)).toFailWith(404, 'bad_identifier')
    expect(await world.ada.get(pathOf(world.acme, number))).toSucceed()
    await world.configure('crossbar', { token_costs: 0 })
  })
})

describeAnyEngine('deleting a number', (engine) => {
  const world = useWorld(engine, ready)
  const next = createNumberSource()

  it('local and without history: every account may take it again', async () => {
    const number = next()
    const path = pathOf(world.reseller, number)
    await world.ross.put(path, { my: 'own' })
    const answer = await world.ross.delete(path)
    expect(answer).toSucceedWith({ id: number, state: 'available', features: ['local'] })
    expect(answer.body.metadata).toMatchObject({
      id: number,
      created: expect.any(Number),
      modified: expect.any(Number),
      deleted: true,
    })
    for (const who of [world.ross, world.operator])
      expect(await who.get(path)).toFailWith(404, 'bad_identifier', missing(number))
    expect(await world.rex.put(`${pathOf(world.rival, number)}/activate`)).toSucceedWith({
      id: number,
      state: 'in_service',
      features: ['local'],
    })
  })

  it.each([
    ['available', {}],
    ['released', { released_state: 'released' }],
    ['aging', { should_age: true }],
  ])('of another carrier: it is %s', async (state, settings) => {
    await world.configure('number_manager', settings)
    const number = next()
    const path = await makeNumber(world, world.acme, number, { carrier_name: 'inventory', my: 'own' })
    const answer = await world.ada.delete(path)
    expect(answer).toSucceedWith({ id: number, state })
    expect(answer.body.metadata.deleted).toBe(true)
    const stored = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
    expect(stored).toMatchObject({ state, accountId: '' })
    expect(await world.ada.get(path)).toFailWith(404, 'bad_identifier')
    await world.configure('number_manager', { released_state: 'available', should_age: false })
  })

  it('of another carrier is for good where the settings say so', async () => {
    await world.configure('number_manager', { should_permanently_delete: true })
    const number = next()
    const path = await makeNumber(world, world.acme, number, { carrier_name: 'inventory' })
    expect(await world.ada.delete(path)).toSucceedWith({ id: number, state: 'deleted' })
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
    await world.configure('number_manager', { should_permanently_delete: false })
  })

  it('without an owner: no transition for the operator, not found for others', async () => {
    const number = next()
    const state = { create_with_state: 'available', carrier_name: 'inventory' }
    const path = await makeNumber(world, world.acme, number, state)
    expect(await world.unchanged(() => world.operator.delete(path))).toFailWith(
      400,
      'invalid_state_transition',
      transition('from available to available'),
    )
    expect(await world.ada.delete(path)).toFailWith(404, 'bad_identifier', missing(number))
  })

  it('with `hard` is a release unless the operator asks', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number, { carrier_name: 'inventory' })
    expect(await world.ada.delete(path, undefined, { query: { hard: true } })).toSucceedWith({
      id: number,
      state: 'available',
    })
    expect(await world.operator.delete(path, undefined, { query: { hard: true } })).toSucceedWith({
      id: number,
      state: 'deleted',
    })
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('of another account finds nothing, and an account above must use the path of the account below', async () => {
    const number = next()
    const path = await makeNumber(world, world.acme, number)
    expect(await world.unchanged(() => world.rex.delete(pathOf(world.rival, number)))).toFailWith(
      404,
      'bad_identifier',
    )
    const above = pathOf(world.reseller, number)
    expect(await world.unchanged(() => world.ross.delete(above))).toFailWith(404, 'bad_identifier')
    expect(await world.ross.delete(path)).toSucceed()
  })
})
