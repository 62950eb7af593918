// What is known of an edge between two things that it is told. Real edges: test/processes/edge-generations.test.ts.
import { expect, it } from 'vitest'
import { createToldEdge } from '../../src/areas/switch/told-edge.ts'
import type { Edge } from '../../src/switch/kamailio/edges.ts'
import { eventually } from '../support/eventually.ts'

it('is not reached when it does not answer, although there is nothing to tell', async () => {
  const state = { isAway: false, heard: [] as string[] }
  const edge = {
    ask: async () => {
      if (state.isAway) throw new Error('the edge is away')
    },
  } as unknown as Edge
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
