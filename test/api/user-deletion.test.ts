import { expect, it } from 'vitest'
import { differenceOf } from '../support/matchers/snapshot.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('deleting a user', (engine) => {
  const world = useWorld(engine)

  let numbers = 0
  const nextNumber = () => {
    numbers += 1
    return `+1415555${String(numbers).padStart(4, '0')}`
  }

  /** A user with two phones, next to another user's. */
  const household = async () => {
    const { acme, uli } = world
    const user = await world.user(acme)
    const phones = [
      await world.device(acme, {
        name: 'a',
        owner_id: user.id,
        device_type: 'mobile',
        mobile: { mdn: nextNumber() },
      }),
      await world.device(acme, { name: 'b', owner_id: user.id }),
    ]
    const other = await world.device(acme, { owner_id: uli.id })
    const { data } = await world.ada.get(user.path)
    return { user, phones, other, record: data }
  }

  const isThere = async (path: string) => (await world.ada.get(path)).status === 200

  const remaining = async (phones: { path: string }[]) => {
    const found = await Promise.all(phones.map(({ path }) => isThere(path)))
    return found.filter(Boolean).length
  }

  it('leaves what they own, and who owned it', async () => {
    const { user, phones, record } = await household()
    const gone = await world.ada.delete(user.path)
    expect(gone).toSucceedWith(record)
    expect(gone.body.metadata).toMatchObject({ id: user.id, deleted: true })
    expect(await isThere(user.path)).toBe(false)
    for (const { path } of phones) expect((await world.ada.get(path)).data.owner_id).toBe(user.id)
  })

  it.each([
    ['an empty list', [], 0],
    ['a type without an owner', ['callflow'], 0],
    ['another such type', ['phone_numbers', 'media'], 0],
    ['devices', ['device'], 2],
    ['devices named twice', ['device', 'device', 'vmbox'], 2],
    ['everything', 'all', 2],
  ])('takes with it %s', async (_title, objectTypes, taken) => {
    const { user, phones, other, record } = await household()
    const gone = await world.ada.delete(user.path, { object_types: objectTypes })
    const objects = phones.slice(0, taken).map(({ id }) => ({ type: 'device', id, status: 'success' }))
    expect(gone).toSucceedWith({ ...record, object_types: objects })
    expect(await isThere(user.path)).toBe(false)
    expect(await remaining(phones)).toBe(2 - taken)
    expect(await isThere(other.path)).toBe(true)
  })

  it('takes the types in the query, with all that belongs to a device', async () => {
    const { ada } = world
    const { user, phones } = await household()
    const path = phones[0]?.path as string
    await ada.post(`${path}/access_lists`, { order: 'allow,deny', cidrs: [] })
    expect(await ada.delete(user.path, undefined, { query: { object_types: '["device"]' } })).toSucceed()
    const snapshot = JSON.stringify(await world.snapshot())
    for (const { id } of [user, ...phones]) expect(snapshot).not.toContain(id)
  })

  it('records each thing that went', async () => {
    const { user, phones } = await household()
    await world.ada.delete(user.path, undefined, { query: { object_types: 'all' } })
    for (const { id } of [user, ...phones]) {
      const rows = await world.server.store.all(
        "SELECT id FROM audit_log WHERE record_id = $1 AND action = 'deleted'",
        [id],
      )
      expect(rows).toHaveLength(1)
    }
  })

  it.each([
    ['none', { object_types: ['type'] }],
    ['', { object_types: ['type'] }],
    [7, { object_types: ['type'] }],
    [['device', 'sofa'], { 'object_types.1': ['enum'] }],
    [[['device']], { 'object_types.0': ['enum'] }],
  ])('is refused for %j, and nothing goes', async (objectTypes, rules) => {
    const { user } = await household()
    const before = await world.snapshot()
    expect(await world.ada.delete(user.path, { object_types: objectTypes })).toBreak(rules)
    expect(await world.snapshot()).toEqual(before)
  })

  it('is not for an ordinary user when the user is an admin, whatever is owned', async () => {
    const { uli, acme } = world
    const boss = await world.admin(acme)
    await world.device(acme, { owner_id: boss.id })
    const before = await world.snapshot()
    expect(await uli.delete(boss.path, { object_types: 'all' })).toBreak({
      priv_level: ['forbidden'],
    })
    expect(differenceOf(before, await world.snapshot())).toEqual({ gone: [], new: [] })
  })
})
