import { expect, it } from 'vitest'
import { createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const creationStates = ['aging', 'available', 'in_service', 'port_in', 'reserved']
const otherStates = ['deleted', 'discovery', 'port_out', 'released']

describeAnyEngine('The state of a phone number', (engine) => {
  const world = useWorld(engine)
  const next = createNumberSource()

  it.each(creationStates)('PUT with create_with_state `%s`: that state', async (create_with_state) => {
    const number = next()
    const path = pathOf(world.acme, number)
    const made = await world.operator.put(path, { create_with_state })
    expect(made).toSucceedWith({ id: number, state: create_with_state, features: ['local'] })
    const stored = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
    expect(stored?.state).toBe(create_with_state)
  })

  it('PUT: the allowed creation states are reported by carriers_info', async () => {
    const { data } = await world.operator.get(`${world.acme.path}/phone_numbers/carriers_info`)
    expect(data.usable_creation_states.toSorted()).toEqual(creationStates)
  })

  it.each(otherStates)('PUT with create_with_state `%s`: unchanged, 403', async (create_with_state) => {
    const path = pathOf(world.acme, next())
    const answer = await world.unchanged(() => world.operator.put(path, { create_with_state }))
    expect(answer).toFailWith(403, 'forbidden')
  })

  it('PUT without create_with_state: `in_service`', async () => {
    expect((await world.operator.put(pathOf(world.acme, next()))).data.state).toBe('in_service')
  })

  it('PUT by a caller who may not create in the state: unchanged, 403 forbidden', async () => {
    for (const fields of [{}, { create_with_state: 'available' }]) {
      const answer = await world.unchanged(() => world.ada.put(pathOf(world.acme, next()), fields))
      expect(answer).toFailWith(403, 'forbidden', {
        code: 403,
        error: 'forbidden',
        message: 'requestor is unauthorized to perform operation',
        cause: expect.any(String),
      })
    }
  })

  it.each(['in_service', 'port_in', 'reserved'])(
    'DELETE of one that is owned, `%s`: `available`, metadata.deleted is true',
    async (create_with_state) => {
      const number = next()
      const path = await makeNumber(world, world.acme, number, { create_with_state })
      const answer = await world.ada.delete(path)
      expect(answer.data).toMatchObject({ id: number, state: 'available' })
      expect(answer.body.metadata.deleted).toBe(true)
      expect(await world.ada.get(path)).toFailWith(404, 'bad_identifier')
    },
  )

  it.each(['in_service', 'port_in', 'reserved'])(
    'DELETE with hard=true of one that is owned, `%s`, by an administrator: `deleted`, metadata.deleted is true',
    async (create_with_state) => {
      const number = next()
      const path = await makeNumber(world, world.acme, number, { create_with_state })
      const answer = await world.operator.delete(path, undefined, { query: { hard: true } })
      expect(answer.data).toMatchObject({ id: number, state: 'deleted' })
      expect(answer.body.metadata.deleted).toBe(true)
      expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
    },
  )

  it('DELETE with hard=true by others than administrators of the system: as without hard', async () => {
    const path = await makeNumber(world, world.acme, next())
    const answer = await world.ada.delete(path, undefined, { query: { hard: true } })
    expect(answer.data.state).toBe('available')
  })
})
