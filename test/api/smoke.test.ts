import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world.ts'

describeEngines('the world', (engine) => {
  const world = useWorld(engine)

  it('has people in it', async () => {
    const answer = await world.ada.get(`${world.acme.path}/users`)
    expect(answer).toSucceed()
    expect(answer.data.map(({ username }: { username: string }) => username)).toEqual(['uli', 'ada'])
  })
  it('refuses a rival and changes nothing', async () => {
    const before = await world.snapshot()
    expect(await world.rex.delete(world.uli.path)).toFailWith(403, 'forbidden')
    expect(await world.snapshot()).toEqual(before)
  })
})
