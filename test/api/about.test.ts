import { expect, it } from 'vitest'
import { version } from '../../src/version.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('about', (engine) => {
  const world = useWorld(engine)

  it('shows version, memory, uptime and runtime to any member of an account', async () => {
    const answer = await world.uli.get(`${world.acme.path}/about`)
    expect(answer).toSucceedWith({
      version,
      used_memory: expect.any(Number),
      uptime_seconds: expect.any(Number),
      runtime: `node ${process.version}`,
    })
  })

  it('answers at the path without an account only for superduper accounts', async () => {
    expect(await world.operator.get('/v2/about')).toSucceed()
    expect(await world.ross.get('/v2/about')).toFailWith(403, 'forbidden')
    expect(await world.anonymous.get('/v2/about')).toFailWith(401, 'invalid_credentials')
    expect(await world.rex.get(`${world.acme.path}/about`)).toFailWith(403, 'forbidden')
  })
})
