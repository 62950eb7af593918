// How the server notices that an edge does not answer. Real edges: test/processes/edge-generations.test.ts.
import { expect, it } from 'vitest'
import { createEdgeNotifier } from '../../src/areas/voice/switch/told-edge.ts'
import type { Edge } from '../../src/switch/kamailio/edges.ts'
import { eventually } from '../support/run/eventually.ts'

/** An edge that records the notifications that it receives. */
const openEdge = () => {
  const state = { isAway: false, heard: [] as string[], words: [] as unknown[][], meanwhile: () => {} }
  const edge: Edge = {
    host: 'edge.test',
    url: 'http://edge.test/RPC',
    async ask(method, params) {
      await Promise.resolve()
      if (state.isAway) throw new Error('the edge is away')
      if (method !== 'htable.seti') return
      state.words.push(params.slice(1))
      state.meanwhile()
    },
  }
  const told = createEdgeNotifier(edge, {
    reached: () => state.heard.push('reached'),
    failed: () => state.heard.push('failed'),
  })
  return { state, told }
}

const changed = (count: number, generation: number) =>
  Array.from({ length: count }, (_, at): [string, number] => [`record/${generation}-${at}`, generation])

it('an edge that stops answering is not reached, even if nothing has to be sent to it', async () => {
  const { state, told } = openEdge()
  told.stale([], 1)
  await eventually(() => state.heard.length, Boolean)
  expect(told.isReached()).toBe(true)
  state.isAway = true
  await told.look()
  expect(told.isReached()).toBe(false)
  expect(state.heard).toEqual(['reached', 'failed'])
  await told.end()
})

it('an edge that is away while many records change receives only the last ones', async () => {
  const { state, told } = openEdge()
  state.isAway = true
  for (const generation of [1, 2, 3]) told.stale(['a.test'], generation, changed(2000, generation))
  told.stale(['a.test'], 4, changed(1, 4))
  await eventually(() => state.heard.length, Boolean)
  state.isAway = false
  await told.look()
  await eventually(() => state.heard.includes('reached'), Boolean)
  expect(state.words).toEqual([
    ['*', 4],
    ['record/*', 3],
    ['record/4-0', 4],
  ])
  await told.end()
})

it('every realm is stale before all records are, also if they change while the edge is notified of others', async () => {
  const { state, told } = openEdge()
  state.meanwhile = () => {
    state.meanwhile = () => {}
    told.stale(['a.test'], 2, changed(6000, 2))
  }
  told.stale(['a.test'], 1, changed(1, 1))
  await eventually(
    () => state.words,
    (words) => words.some(([name]) => name === 'record/*'),
  )
  expect(state.words).toEqual([
    ['*', 1],
    ['record/1-0', 1],
    ['*', 2],
    ['record/*', 2],
  ])
  await told.end()
})
