import { afterEach, describe, expect, it } from 'vitest'
import { createWorkerLink } from '../../src/storage/worker-link.ts'
import { eventually } from '../support/run/eventually.ts'

const script = new URL('../support/run/naming-thread.ts', import.meta.url)

describe('calls into a thread', () => {
  const links: { close(): Promise<void> }[] = []

  const open = (options = {}) => {
    const link = createWorkerLink<string, number>(script, {}, options)
    links.push(link)
    return link
  }

  afterEach(async () => {
    for (const link of links.splice(0)) await link.close()
  })

  it('are answered by one, however many there are', async () => {
    const link = open({ idleMilliseconds: 60_000 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => link.call('who')))
    expect(new Set([...answers, await link.call('who')])).toHaveLength(1)
  })

  it('are answered by another when it has rested for long', async () => {
    const link = open({ idleMilliseconds: 5 })
    const first = await link.call('who')
    await eventually(
      () => link.call('who'),
      (answer) => answer !== first,
    )
  })

  it('are never left without an answer by a thread that ends', async () => {
    const link = open({ idleMilliseconds: 1 })
    for (let round = 0; round < 30; round += 1) {
      const answers = await Promise.all([link.call('who'), link.call('who')])
      expect(answers[0]).toBe(answers[1])
      await new Promise((resolve) => setTimeout(resolve, round % 3))
    }
  })
})
