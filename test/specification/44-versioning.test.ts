// Versioning.
import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('Versioning', (engine) => {
  const world = useWorld(engine)

  it('the version is a path prefix: /v2; the paths of all endpoints start with it', async () => {
    expect(world.server.routes.filter(({ path }) => !path.startsWith('/v2/'))).toEqual([])
    expect(await world.ada.get(world.acme.path)).toSucceed()
    const bare = await world.ada.get(world.acme.path.replace('/v2', ''))
    expect(bare.status).toBe(404)
  })

  it('responses carry `version` and `revision` strings', async () => {
    const { ada, acme, uli } = world
    for (const path of [acme.path, uli.path, `${acme.path}/users`])
      expect((await ada.get(path)).body).toMatchObject({
        version: expect.any(String),
        revision: expect.any(String),
      })
  })
})
