import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const unknownId = '0'.repeat(32)

describeAnyEngine('groups', (engine) => {
  const world = useWorld(engine)

  const made = async (endpoints: Json = {}, fields: Json = {}, account: TestAccount = world.acme) => {
    const answer = await world.operator.put(`${account.path}/groups`, { name: 'Group', endpoints, ...fields })
    expect(answer, answer.text).toSucceed()
    return { ...answer.data, path: `${account.path}/groups/${answer.data.id}` } as Json & {
      id: string
      path: string
    }
  }

  it('are created, read, changed, listed, and gone when deleted', async () => {
    const account = await world.account(world.reseller)
    const { ross } = world
    const user = await world.user(account)
    const phone = await world.device(account)
    const inner = await made({}, { name: 'inner' }, account)
    const endpoints = {
      [user.id]: { type: 'user' },
      [phone.id]: { type: 'device', delay: 5, timeout: 20, weight: 3 },
      [inner.id]: { type: 'group' },
    }
    const answer = await ross.put(`${account.path}/groups`, { name: 'Outer', endpoints, flags: ['x'] })
    const { id } = answer.data
    const record = { id, name: 'Outer', endpoints, flags: ['x'], music_on_hold: {} }
    expect(answer).toSucceedWith(record)
    const path = `${account.path}/groups/${id}`
    expect(answer.headers.location).toBe(path)
    expect(await ross.get(path)).toSucceedWith(record)
    const query = { paginate: false, ascending: true }
    expect(await ross.get(`${account.path}/groups`, { query })).toSucceedWith([
      { id: inner.id, name: 'inner', endpoints: 0, features: [], flags: [] },
      { id, name: 'Outer', endpoints: 3, features: [], flags: ['x'] },
    ])
    const held = await ross.patch(path, { music_on_hold: { media_id: 'm' }, custom: 1 })
    expect(held).toSucceedWith({ ...record, music_on_hold: { media_id: 'm' }, custom: 1 })
    const replaced = { id, name: 'Small', endpoints: {}, music_on_hold: {} }
    expect(await ross.post(path, { name: 'Small', endpoints: {} })).toSucceedWith(replaced)
    expect(await ross.delete(path)).toSucceedWith(replaced)
    expect(await ross.get(path)).toFailWith(404, 'bad_identifier')
  })

  it.each(['user', 'device', 'group'])(
    'are refused a %s that is not there, and nothing changes',
    async (type) => {
      const { ada, acme } = world
      const data = { name: 'x', endpoints: { [unknownId]: { type } } }
      expect(await world.unchanged(() => ada.put(`${acme.path}/groups`, data))).toFailWith(
        400,
        'validation error',
        {
          [`endpoints.${unknownId}`]: {
            not_found: { message: `The account has no such ${type}`, cause: unknownId },
          },
        },
      )
    },
  )

  it('refuse a member of another account or of another type', async () => {
    const { ada, acme, rival, uli } = world
    const stranger = await world.device(rival)
    for (const endpoints of [{ [stranger.id]: { type: 'device' } }, { [uli.id]: { type: 'device' } }]) {
      const [id] = Object.keys(endpoints)
      const refused = await world.unchanged(() => ada.put(`${acme.path}/groups`, { name: 'x', endpoints }))
      expect(refused).toBreak({ [`endpoints.${id}`]: ['not_found'] })
    }
  })

  it('keep who has left since, and are refused who leaves and is added', async () => {
    const { ada, acme } = world
    const phone = await world.device(acme)
    const group = await made({ [phone.id]: { type: 'device' } })
    await ada.delete(phone.path)
    expect(await ada.patch(group.path, { name: 'Renamed' })).toSucceed()
    const other = await made()
    expect(await ada.patch(other.path, { endpoints: { [phone.id]: { type: 'device' } } })).toBreak({
      [`endpoints.${phone.id}`]: ['not_found'],
    })
  })

  it('are never a part of themselves, at whatever depth', async () => {
    const { ada } = world
    const first = await made()
    const second = await made({ [first.id]: { type: 'group' } })
    const third = await made({ [second.id]: { type: 'group' } })
    for (const inside of [first, second, third]) {
      const endpoints = { [inside.id]: { type: 'group' } }
      expect(await world.unchanged(() => ada.patch(first.path, { endpoints }))).toBreak({
        [`endpoints.${inside.id}`]: ['circular'],
      })
    }
    expect(await ada.patch(third.path, { endpoints: { [first.id]: { type: 'group' } } })).toSucceed()
  })

  it.each([
    ['without a name', { name: undefined }, { name: ['required'] }],
    ['without endpoints', { endpoints: undefined }, { endpoints: ['required'] }],
    [
      'with an id that is none',
      { endpoints: { x: { type: 'user' } } },
      { 'endpoints.x': ['additionalProperties'] },
    ],
    [
      'with another type',
      { endpoints: { [unknownId]: { type: 'x' } } },
      { [`endpoints.${unknownId}.type`]: ['enum'] },
    ],
  ])('are refused %s', async (_title, fields, rules) => {
    const { ada, acme } = world
    const data = { name: 'x', endpoints: {}, ...fields }
    expect(await world.unchanged(() => ada.put(`${acme.path}/groups`, data))).toBreak(rules)
  })

  it('are for the account and those above it', async () => {
    const { rex, acme, rival } = world
    const { id, path } = await made()
    const foreign = await world.unchanged(async () => [
      await rex.get(path),
      await rex.get(`${acme.path}/groups`),
      await rex.put(`${acme.path}/groups`, { name: 'x', endpoints: {} }),
      await rex.patch(path, { name: 'x' }),
      await rex.post(path, { name: 'x', endpoints: {} }),
      await rex.delete(path),
    ])
    for (const answer of foreign) expect(answer).toFailWith(403, 'forbidden', notForCaller)
    expect(await rex.get(`${rival.path}/groups/${id}`)).toFailWith(404, 'bad_identifier')
  })
})
