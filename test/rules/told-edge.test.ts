// How the server notices that an edge does not answer. Real edges: test/processes/edge-generations.test.ts.
import { expect, it } from 'vitest'
import { createToldEdge } from '../../src/areas/switch/told-edge.ts'
import type { Edge } from '../../src/switch/kamailio/edges.ts'
import { eventually } from '../support/eventually.ts'

it('an edge that stops answering is not reached, even if nothing has to be sent to it', async () => {
  const state = { isAway: false, heard: [] as string[] }
  const edge: Edge = {
    host: 'edge.test',
    url: 'http://edge.test/RPC',
    async ask() {
      if (state.isAway) throw new Error('the edge is away')
    },
  }
  const told = createToldEdge(edge, {
    reached: () => state.heard.push('reached'),
    failed: () => state.heard.push('failed'),
  })
  told.stale([], 1)
  await eventually(() => state.heard.length, Boolean)
  expect(told.isReached()).toBe(true)
  state.isAway = true
  await told.look()
  expect(told.isReached()).toBe(false)
  expect(state.heard).toEqual(['reached', 'failed'])
  await told.end()
})
