// Options of a request in addition to the fields of a record.
import { expect, it } from 'vitest'
import { nameOf } from '../support/world/route-samples.ts'
import { callRoute, setStage } from '../support/world/route-stage.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('options of a request', (engine) => {
  const world = useWorld(engine)

  it('are true or false on every route that has some, and other values change nothing', async () => {
    const stage = await setStage(world)
    const wrong = [[], {}, ['true'], 'yes', 1]
    const routes = world.server.routes.filter(({ spec }) => spec.wishes)
    expect(routes.length).toBeGreaterThan(5)
    for (const route of routes)
      for (const name of Object.keys(route.spec.wishes ?? {}))
        for (const value of wrong) {
          const options = {
            ...stage,
            samples: { [nameOf(route)]: { data: {}, envelope: { [name]: value } } },
          }
          const refused = await world.refused(() => callRoute(world.operator, route, options, 'wish'))
          expect(refused, nameOf(route)).toBreak({ [name]: ['type'] })
        }
  })
})
