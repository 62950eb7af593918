// What a world that tests share keeps apart.
import { expect, it } from 'vitest'
import { describeEngines, useWorld } from './support/world/world.ts'

describeEngines('a world that tests share', (engine) => {
  const world = useWorld(engine)

  it('has the settings of before again, whether they were changed, made or removed', async () => {
    const contents = async () =>
      [...(await world.settings())].map(([name, { doc, hidden }]) => [name, doc, hidden]).toSorted()
    await world.configure('alerts', { enabled: false })
    const settings = await world.settings()
    const before = await contents()
    await world.configure('crossbar', { token_costs: 7 })
    await world.configure('tasks', { max_running: 0 })
    expect(await world.operator.delete('/v2/system_configs/alerts')).toSucceed()
    expect(await contents()).not.toEqual(before)
    await world.restoreSettings(settings)
    expect(await contents()).toEqual(before)
    const { data } = await world.operator.get('/v2/system_configs/crossbar')
    expect(data.default).toMatchObject({ token_costs: 0 })
  })

  it('notices each change of the store between two snapshots', async () => {
    const rename = (name: string) => world.operator.patch(world.acme.path, { name })
    const before = world.acme.name
    await world.unchanged(() => world.operator.get(world.acme.path))
    await expect(world.unchanged(() => rename('Renamed'))).rejects.toThrow(
      'to deeply equal { gone: [], new: [] }',
    )
    await expect(world.unchanged(() => rename(before))).rejects.toThrow(
      'to deeply equal { gone: [], new: [] }',
    )
    await world.unchanged(() => world.operator.get(world.acme.path))
  })

  it('has people whose tokens last, however far the clock moves', async () => {
    const { operator, ada, uli, acme } = world
    const added = await world.admin(acme)
    const usual = world.clientWithToken(await world.tokenOf(acme, ada.id))
    world.clock.advance({ hours: 24 * 365 })
    for (const person of [operator, ada, uli, added]) expect(await person.get(acme.path)).toSucceed()
    expect((await usual.get(acme.path)).status).toBe(401)
    expect((await world.acmeKey.get(acme.path)).status).toBe(401)
    await world.renewKey()
    expect(await world.acmeKey.get(acme.path)).toSucceed()
  })
})
