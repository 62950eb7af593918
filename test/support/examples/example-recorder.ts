// Executes requests one after the other, and records each as the example of its operation.
import { expect } from 'vitest'
import type { Example } from '../../../src/http/openapi/openapi.ts'
import type { Route } from '../../../src/http/route.ts'
import type { Client } from '../world/client.ts'
import { nameOf, type PathIds, pathWith, requestFor, type Sample } from '../world/route-samples.ts'
import type { World } from '../world/world.ts'
import { exampleOf } from './examples.ts'

export const onAccount = '/v2/accounts/{account_id}'

export type Recorder = ReturnType<typeof createRecorder>

export const createRecorder = (world: World, examples: Map<string, Example>) => {
  const routes = new Map<string, Route>(world.server.routes.map((route) => [nameOf(route), route]))

  const execute = async (by: Client, name: string, ids: PathIds, sample: Sample) => {
    const route = routes.get(name) as Route
    const asked = requestFor(route, { [name]: sample })
    const answer = await by.request(route.method, pathWith(route, ids), asked.data, asked.options)
    return { asked, answer }
  }

  return {
    /** Records a request that succeeds. */
    async record(by: Client, name: string, ids: PathIds, sample: Sample = {}) {
      const { asked, answer } = await execute(by, name, ids, sample)
      expect(answer.status, `${name}: ${answer.text}`).toBeLessThan(300)
      examples.set(name, exampleOf(asked, answer))
      return answer
    },

    /** Records the refusal of an operation that never succeeds. */
    async recordRefusal(by: Client, name: string, ids: PathIds) {
      const { asked, answer } = await execute(by, name, ids, {})
      expect(answer.status, `${name}: ${answer.text}`).toBeGreaterThanOrEqual(400)
      expect(examples.get(name), name).toBeUndefined()
      examples.set(name, exampleOf(asked, answer))
    },
  }
}
